//! What became of a call: a value, or an error that is a value too.

use contextwire_engine::{
    Compacted, HostCallError, HostReply, LlmCompleted, LlmUsage, Rewritten, TranscriptPage,
    TranscriptState,
};

use super::super::transcript::or_absent;
use super::super::{At, ConvertError, each, optional, within};
use crate::frame::HostCallResult;
use crate::v1;
use crate::v1::host_call_result::Outcome;

impl From<HostCallResult> for v1::HostCallResult {
    fn from(HostCallResult { call_id, outcome }: HostCallResult) -> Self {
        let outcome = match outcome {
            Err(error) => Outcome::Error(error.into()),
            Ok(HostReply::Rewritten(done)) => Outcome::RewriteTranscriptEntries(done.into()),
            Ok(HostReply::Completed(done)) => Outcome::LlmComplete(done.into()),
            Ok(HostReply::Page(page)) => Outcome::ReadTranscript(page.into()),
            Ok(HostReply::Compacted(compacted, head)) => {
                Outcome::DelegateCompaction(delegated_to_wire(compacted, head))
            }
        };
        Self {
            call_id,
            outcome: Some(outcome),
        }
    }
}

impl TryFrom<v1::HostCallResult> for HostCallResult {
    type Error = ConvertError;

    fn try_from(
        v1::HostCallResult { call_id, outcome }: v1::HostCallResult,
    ) -> Result<Self, ConvertError> {
        let outcome = match outcome {
            Some(Outcome::Error(error)) => Err(error.into()),
            Some(Outcome::RewriteTranscriptEntries(done)) => Ok(HostReply::Rewritten(within(
                done,
                "rewrite_transcript_entries",
            )?)),
            Some(Outcome::LlmComplete(done)) => Ok(HostReply::Completed(done.into())),
            Some(Outcome::ReadTranscript(page)) => {
                Ok(HostReply::Page(within(page, "read_transcript")?))
            }
            Some(Outcome::DelegateCompaction(done)) => {
                let (compacted, head) = delegated(done).at("delegate_compaction")?;
                Ok(HostReply::Compacted(compacted, head))
            }
            None => Err(HostCallError::new(
                "FAILED",
                "the outcome is of a kind that this engine does not know",
            )),
        };
        Ok(Self { call_id, outcome })
    }
}

impl From<HostCallError> for v1::HostCallError {
    fn from(
        HostCallError {
            reason,
            message,
            retryable,
        }: HostCallError,
    ) -> Self {
        Self {
            reason,
            message,
            retryable,
        }
    }
}

impl From<v1::HostCallError> for HostCallError {
    fn from(
        v1::HostCallError {
            reason,
            message,
            retryable,
        }: v1::HostCallError,
    ) -> Self {
        Self {
            reason,
            message,
            retryable,
        }
    }
}

impl From<Rewritten> for v1::RewriteTranscriptEntriesResult {
    fn from(done: Rewritten) -> Self {
        let Rewritten {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
            head,
        } = done;
        Self {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
            head: or_absent(head),
        }
    }
}

impl TryFrom<v1::RewriteTranscriptEntriesResult> for Rewritten {
    type Error = ConvertError;

    fn try_from(wire: v1::RewriteTranscriptEntriesResult) -> Result<Self, ConvertError> {
        let v1::RewriteTranscriptEntriesResult {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
            head,
        } = wire;
        Ok(Self {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
            head: optional(head, "head")?.unwrap_or_default(),
        })
    }
}

impl From<LlmCompleted> for v1::LlmCompleteResult {
    fn from(done: LlmCompleted) -> Self {
        let LlmCompleted {
            text,
            provider,
            model,
            usage,
            stop_reason,
        } = done;
        Self {
            text,
            provider,
            model,
            usage: Some(usage.into()),
            stop_reason,
        }
    }
}

impl From<v1::LlmCompleteResult> for LlmCompleted {
    fn from(wire: v1::LlmCompleteResult) -> Self {
        let v1::LlmCompleteResult {
            text,
            provider,
            model,
            usage,
            stop_reason,
        } = wire;
        Self {
            text,
            provider,
            model,
            usage: usage.map(Into::into).unwrap_or_default(),
            stop_reason,
        }
    }
}

impl From<LlmUsage> for v1::LlmUsage {
    fn from(usage: LlmUsage) -> Self {
        let LlmUsage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            total_tokens,
            cost_usd,
        } = usage;
        Self {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            total_tokens,
            cost_usd,
        }
    }
}

impl From<v1::LlmUsage> for LlmUsage {
    fn from(wire: v1::LlmUsage) -> Self {
        let v1::LlmUsage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            total_tokens,
            cost_usd,
        } = wire;
        Self {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            total_tokens,
            cost_usd,
        }
    }
}

impl From<TranscriptPage> for v1::ReadTranscriptResult {
    fn from(page: TranscriptPage) -> Self {
        let TranscriptPage {
            messages,
            next_cursor,
            head,
        } = page;
        Self {
            messages: messages.into_iter().map(Into::into).collect(),
            next_cursor,
            head: or_absent(head),
        }
    }
}

impl TryFrom<v1::ReadTranscriptResult> for TranscriptPage {
    type Error = ConvertError;

    fn try_from(wire: v1::ReadTranscriptResult) -> Result<Self, ConvertError> {
        let v1::ReadTranscriptResult {
            messages,
            next_cursor,
            head,
        } = wire;
        Ok(Self {
            messages: each(messages, "messages")?,
            next_cursor,
            head: optional(head, "head")?.unwrap_or_default(),
        })
    }
}

fn delegated_to_wire(compacted: Compacted, head: TranscriptState) -> v1::DelegateCompactionResult {
    let Compacted {
        ok,
        compacted,
        reason,
        result,
    } = compacted;
    v1::DelegateCompactionResult {
        ok,
        compacted,
        reason,
        result: result.map(Into::into),
        head: or_absent(head),
    }
}

fn delegated(
    wire: v1::DelegateCompactionResult,
) -> Result<(Compacted, TranscriptState), ConvertError> {
    let v1::DelegateCompactionResult {
        ok,
        compacted,
        reason,
        result,
        head,
    } = wire;
    let compacted = Compacted {
        ok,
        compacted,
        reason,
        result: optional(result, "result")?,
    };
    Ok((compacted, optional(head, "head")?.unwrap_or_default()))
}
