//! Calls back to the host, on the stream of the hook that makes them (R1.6 to R1.8).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::compact::{Compact, Compacted};
use crate::digest::TranscriptState;
use crate::ids::EntryId;
use crate::message::Message;

/// Replaces stored entries of the session; lineage ids stay (HOST-SEMANTICS 8.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteEntries {
    /// What takes the place of which entry; blank ids are ignored.
    pub replacements: Vec<(EntryId, Message)>,
    /// The log that the engine saw; another one fails with `STALE` and changes nothing.
    pub expected: Option<TranscriptState>,
    /// Entries that may follow the first replaced one. Absent: no guard. Empty: none.
    pub allowed_suffix: Option<Vec<EntryId>>,
}

/// What a rewrite did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Whether anything changed.
    pub changed: bool,
    /// Bytes that shorter entries freed.
    pub bytes_freed: u64,
    /// Entries that were replaced.
    pub rewritten_entries: u64,
    /// Why nothing changed.
    pub reason: Option<String>,
    /// The log afterwards.
    pub head: TranscriptState,
}

/// Asks the host's model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmComplete {
    /// Pairs of role (`system`, `user`, `assistant`) and text.
    pub messages: Vec<(String, String)>,
    /// A system prompt.
    pub system_prompt: Option<String>,
    /// Another model than the run's; hosts refuse it without a policy.
    pub model: Option<String>,
    /// Ceiling of the answer in tokens.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// What it is for, for the host's audit.
    pub purpose: Option<String>,
}

/// Tokens that a model call cost; absent is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LlmUsage {
    /// Prompt.
    pub input_tokens: Option<u64>,
    /// Answer.
    pub output_tokens: Option<u64>,
    /// Read from the provider's cache.
    pub cache_read_tokens: Option<u64>,
    /// Written to it.
    pub cache_write_tokens: Option<u64>,
    /// Everything.
    pub total_tokens: Option<u64>,
    /// In US dollars.
    pub cost_usd: Option<f64>,
}

/// What the model said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmCompleted {
    /// The text.
    pub text: String,
    /// Who answered.
    pub provider: String,
    /// With which model.
    pub model: String,
    /// What it cost.
    pub usage: LlmUsage,
    /// Why it stopped.
    pub stop_reason: Option<String>,
}

/// Reads a page of the log, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadTranscript {
    /// Where the page before ended; absent for the first.
    pub cursor: Option<String>,
    /// Most payload bytes of the page; one message is always given.
    pub max_bytes: u64,
}

/// A page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptPage {
    /// The messages.
    pub messages: Vec<Message>,
    /// Where it goes on; absent after the last page.
    pub next_cursor: Option<String>,
    /// The log that the page is of; what [`RewriteEntries::expected`] asks for.
    pub head: TranscriptState,
}

/// A call back, one variant a kind.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "call backs are rare, and each is moved a few times"
)]
pub enum HostCall {
    /// Replaces entries.
    Rewrite(RewriteEntries),
    /// Asks the model.
    Complete(LlmComplete),
    /// Reads the log.
    ReadTranscript(ReadTranscript),
    /// Runs the host's own compaction (HOST-SEMANTICS 10.4).
    DelegateCompaction(Compact),
}

/// Its outcome, one variant a kind.
#[derive(Clone, Debug, PartialEq)]
pub enum HostReply {
    /// To [`HostCall::Rewrite`].
    Rewritten(Rewritten),
    /// To [`HostCall::Complete`].
    Completed(LlmCompleted),
    /// To [`HostCall::ReadTranscript`].
    Page(TranscriptPage),
    /// To [`HostCall::DelegateCompaction`], with the log afterwards.
    Compacted(Compacted, TranscriptState),
}

/// A call back that failed: a value, never the end of the hook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host call failed, {reason}: {message}")]
pub struct HostCallError {
    /// `UPPER_SNAKE`: `HOST_CALL_UNAVAILABLE`, `STALE`, `CURSOR_LOST`, `HOOK_CLOSED`, `TIMEOUT`,
    /// `FAILED`, `DENIED`, or another.
    pub reason: String,
    /// For people; never transcript content.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl HostCallError {
    /// A failure that stays one.
    pub fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            message: message.into(),
            retryable: false,
        }
    }

    /// Whether this host does not serve such calls at all, rather than having failed at one: it
    /// serves none, or none of this kind.
    pub fn is_unserved(&self) -> bool {
        matches!(
            self.reason.as_str(),
            "HOST_CALL_UNAVAILABLE" | "UNSUPPORTED"
        )
    }

    /// There is nobody to call.
    pub fn unavailable() -> Self {
        Self::new("HOST_CALL_UNAVAILABLE", "this host serves no calls back")
    }
}

/// The outcome of a call back, in time.
pub type HostAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<HostReply, HostCallError>> + Send + 'a>>;

/// Who serves calls back: a host in this process, or the stream of a hook.
pub trait HostCalls: Send + Sync {
    /// Serves one call. It never triggers a hook of the same session (R1.7).
    fn serve(&self, call: HostCall) -> HostAnswer<'_>;
}

/// The host of a hook, as an engine sees it. Calls are valid only while the hook runs.
#[derive(Clone, Default)]
pub struct Host(Option<Arc<dyn HostCalls>>);

impl Host {
    /// A host that serves calls.
    pub fn new(calls: Arc<dyn HostCalls>) -> Self {
        Self(Some(calls))
    }

    /// Whether anybody serves calls.
    pub fn is_available(&self) -> bool {
        self.0.is_some()
    }

    /// Replaces stored entries.
    ///
    /// # Errors
    /// The host's refusal, or that nobody serves calls.
    pub async fn rewrite(&self, request: RewriteEntries) -> Result<Rewritten, HostCallError> {
        match self.serve(HostCall::Rewrite(request)).await? {
            HostReply::Rewritten(done) => Ok(done),
            HostReply::Completed(_) | HostReply::Page(_) | HostReply::Compacted(..) => Err(other()),
        }
    }

    /// Asks the host's model.
    ///
    /// # Errors
    /// As [`Host::rewrite`].
    pub async fn complete(&self, request: LlmComplete) -> Result<LlmCompleted, HostCallError> {
        match self.serve(HostCall::Complete(request)).await? {
            HostReply::Completed(done) => Ok(done),
            HostReply::Rewritten(_) | HostReply::Page(_) | HostReply::Compacted(..) => Err(other()),
        }
    }

    /// Reads a page of the log.
    ///
    /// # Errors
    /// As [`Host::rewrite`]; `CURSOR_LOST` after a rewrite.
    pub async fn read_transcript(
        &self,
        request: ReadTranscript,
    ) -> Result<TranscriptPage, HostCallError> {
        match self.serve(HostCall::ReadTranscript(request)).await? {
            HostReply::Page(page) => Ok(page),
            HostReply::Rewritten(_) | HostReply::Completed(_) | HostReply::Compacted(..) => {
                Err(other())
            }
        }
    }

    /// Runs the host's own compaction; the state is the log afterwards.
    ///
    /// # Errors
    /// As [`Host::rewrite`].
    pub async fn delegate_compaction(
        &self,
        request: Compact,
    ) -> Result<(Compacted, TranscriptState), HostCallError> {
        match self.serve(HostCall::DelegateCompaction(request)).await? {
            HostReply::Compacted(compacted, head) => Ok((compacted, head)),
            HostReply::Rewritten(_) | HostReply::Completed(_) | HostReply::Page(_) => Err(other()),
        }
    }

    /// Serves a call of any kind.
    ///
    /// # Errors
    /// As [`Host::rewrite`].
    pub async fn serve(&self, call: HostCall) -> Result<HostReply, HostCallError> {
        match &self.0 {
            Some(calls) => calls.serve(call).await,
            None => Err(HostCallError::unavailable()),
        }
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("available", &self.is_available())
            .finish()
    }
}

/// The reply of another kind of call cannot come from a host that keeps the contract.
fn other() -> HostCallError {
    HostCallError::new("FAILED", "the host answered another kind of call")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(HostReply);

    impl HostCalls for Fixed {
        fn serve(&self, _: HostCall) -> HostAnswer<'_> {
            Box::pin(async { Ok(self.0.clone()) })
        }
    }

    #[tokio::test]
    async fn a_host_that_serves_nothing_answers_with_a_value() {
        let error = Host::default()
            .complete(LlmComplete::default())
            .await
            .unwrap_err();
        assert_eq!(error.reason, "HOST_CALL_UNAVAILABLE");
    }

    #[tokio::test]
    async fn a_reply_of_another_kind_is_a_failure_not_a_panic() {
        let host = Host::new(Arc::new(Fixed(HostReply::Page(TranscriptPage::default()))));
        assert!(
            host.read_transcript(ReadTranscript::default())
                .await
                .is_ok()
        );
        let error = host.rewrite(RewriteEntries::default()).await.unwrap_err();
        assert_eq!(error.reason, "FAILED");
    }
}
