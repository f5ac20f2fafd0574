//! The four calls.

use std::time::Duration;

use contextwire_engine::{
    Compact, EntryId, HostCall, LlmComplete, Message, ReadTranscript, RewriteEntries, TokenBudget,
};

use super::super::compact::{target, target_to_wire};
use super::super::{At, ConvertError, millis, optional, required, within};
use crate::frame::HostCallRequest;
use crate::v1;
use crate::v1::host_call::Call;

impl From<HostCallRequest> for v1::HostCall {
    fn from(
        HostCallRequest {
            call_id,
            timeout,
            call,
        }: HostCallRequest,
    ) -> Self {
        let call = call.map(|call| match call {
            HostCall::Rewrite(rewrite) => Call::RewriteTranscriptEntries(rewrite.into()),
            HostCall::Complete(complete) => Call::LlmComplete(complete.into()),
            HostCall::ReadTranscript(read) => Call::ReadTranscript(read.into()),
            HostCall::DelegateCompaction(compact) => Call::DelegateCompaction(delegate(compact)),
        });
        Self {
            call_id,
            timeout_ms: millis(timeout),
            call,
        }
    }
}

impl TryFrom<v1::HostCall> for HostCallRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::HostCall) -> Result<Self, ConvertError> {
        let v1::HostCall {
            call_id,
            timeout_ms,
            call,
        } = wire;
        let call = match call {
            Some(Call::RewriteTranscriptEntries(rewrite)) => Some(HostCall::Rewrite(within(
                rewrite,
                "rewrite_transcript_entries",
            )?)),
            Some(Call::LlmComplete(complete)) => Some(HostCall::Complete(complete.into())),
            Some(Call::ReadTranscript(read)) => Some(HostCall::ReadTranscript(read.into())),
            Some(Call::DelegateCompaction(wire)) => {
                Some(HostCall::DelegateCompaction(delegated(wire)))
            }
            None => None,
        };
        Ok(Self {
            call_id,
            timeout: Duration::from_millis(timeout_ms),
            call,
        })
    }
}

impl From<RewriteEntries> for v1::RewriteTranscriptEntries {
    fn from(rewrite: RewriteEntries) -> Self {
        let RewriteEntries {
            replacements,
            expected,
            allowed_suffix,
        } = rewrite;
        let text = |id: EntryId| id.as_str().to_owned();
        let replacements = replacements.into_iter();
        Self {
            replacements: replacements
                .map(|(entry_id, message)| v1::EntryReplacement {
                    entry_id: text(entry_id),
                    message: Some(message.into()),
                })
                .collect(),
            expected: expected.map(Into::into),
            allowed_suffix: allowed_suffix.map(|ids| v1::EntryIds {
                entry_ids: ids.into_iter().map(text).collect(),
            }),
        }
    }
}

impl TryFrom<v1::RewriteTranscriptEntries> for RewriteEntries {
    type Error = ConvertError;

    fn try_from(wire: v1::RewriteTranscriptEntries) -> Result<Self, ConvertError> {
        let v1::RewriteTranscriptEntries {
            replacements,
            expected,
            allowed_suffix,
        } = wire;
        let replacements = replacements.into_iter().enumerate();
        Ok(Self {
            replacements: replacements
                .map(|(index, wire)| replacement(wire).at(&format!("replacements[{index}]")))
                .collect::<Result<_, _>>()?,
            expected: optional(expected, "expected")?,
            allowed_suffix: allowed_suffix.map(|v1::EntryIds { entry_ids }| {
                entry_ids.into_iter().map(EntryId::from).collect()
            }),
        })
    }
}

fn replacement(
    v1::EntryReplacement { entry_id, message }: v1::EntryReplacement,
) -> Result<(EntryId, Message), ConvertError> {
    Ok((EntryId::from(entry_id), required(message, "message")?))
}

impl From<LlmComplete> for v1::LlmComplete {
    fn from(complete: LlmComplete) -> Self {
        let LlmComplete {
            messages,
            system_prompt,
            model,
            max_tokens,
            temperature,
            purpose,
        } = complete;
        let messages = messages.into_iter();
        Self {
            messages: messages
                .map(|(role, content)| v1::LlmMessage { role, content })
                .collect(),
            system_prompt,
            model,
            max_tokens,
            temperature,
            purpose,
        }
    }
}

impl From<v1::LlmComplete> for LlmComplete {
    fn from(wire: v1::LlmComplete) -> Self {
        let v1::LlmComplete {
            messages,
            system_prompt,
            model,
            max_tokens,
            temperature,
            purpose,
        } = wire;
        let messages = messages.into_iter();
        Self {
            messages: messages
                .map(|v1::LlmMessage { role, content }| (role, content))
                .collect(),
            system_prompt,
            model,
            max_tokens,
            temperature,
            purpose,
        }
    }
}

impl From<ReadTranscript> for v1::ReadTranscript {
    fn from(ReadTranscript { cursor, max_bytes }: ReadTranscript) -> Self {
        Self { cursor, max_bytes }
    }
}

impl From<v1::ReadTranscript> for ReadTranscript {
    fn from(v1::ReadTranscript { cursor, max_bytes }: v1::ReadTranscript) -> Self {
        Self { cursor, max_bytes }
    }
}

/// Settings and context stay behind: the host's own compaction knows them better.
fn delegate(compact: Compact) -> v1::DelegateCompaction {
    let Compact {
        runtime_settings: _,
        runtime_context: _,
        token_budget,
        force,
        current_token_count,
        target,
        custom_instructions,
    } = compact;
    v1::DelegateCompaction {
        token_budget: token_budget.map(TokenBudget::get),
        force,
        current_token_count,
        compaction_target: target_to_wire(target).into(),
        custom_instructions,
    }
}

fn delegated(wire: v1::DelegateCompaction) -> Compact {
    let v1::DelegateCompaction {
        token_budget,
        force,
        current_token_count,
        compaction_target,
        custom_instructions,
    } = wire;
    Compact {
        runtime_settings: None,
        runtime_context: None,
        token_budget: token_budget.and_then(TokenBudget::new),
        force,
        current_token_count,
        target: target(compaction_target),
        custom_instructions,
    }
}
