//! What comes of a compaction.

use bytes::Bytes;
use contextwire_engine::json::quote;
use contextwire_engine::{CompactResult, Compacted, EntryId, Message, Transcript};
use serde::Serialize;

use crate::error::CompactionError;

/// The outcome for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// A summary stands for the beginning of the list.
    Done(Box<CompactedLog>),
    /// There was nothing to do, or nothing more that could be done.
    Nothing {
        /// False where the context does not fit its budget all the same.
        ok: bool,
        /// Why.
        reason: String,
    },
}

/// A summary and what stays verbatim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactedLog {
    /// The summary, at most 16 000 characters.
    pub summary: String,
    /// Place in the list of the first message that stays.
    pub first_kept: usize,
    /// Its lineage id; absent where the host has none, or where it names another message as well.
    pub first_kept_entry_id: Option<EntryId>,
    /// Length of the list that was compacted.
    pub covered: usize,
    /// Tokens before: the host's own count where it has one.
    pub tokens_before: u64,
    /// Tokens after, by the same count less what was saved; never more than before.
    pub tokens_after: u64,
    /// Facts about the compaction, a JSON object: `readFiles`, `modifiedFiles`,
    /// `latestUnresolvedUserRequest`, `summarizer`, `model`, `calls`, `partial`.
    pub details: Bytes,
    /// Whether the time ended before everything planned was summarised; another compaction goes on.
    pub is_partial: bool,
    /// Whether the summary is quotes and no model's.
    pub is_extract: bool,
}

impl Compaction {
    pub(crate) fn nothing(reason: impl Into<String>) -> Self {
        Self::Nothing {
            ok: true,
            reason: reason.into(),
        }
    }

    /// Nothing can be saved; a failure only where the context does not fit as it is (BR-045, BR-052).
    pub(crate) fn exhausted(is_over: bool, why: &str) -> Self {
        let reason = if is_over {
            format!("still over the budget, and nothing left to compact: {why}")
        } else {
            format!("nothing to compact: {why}")
        };
        Self::Nothing {
            ok: !is_over,
            reason,
        }
    }

    /// The hook's answer. The host appends the result to its transcript.
    ///
    /// # Errors
    /// [`CompactionError::InvalidSession`] where no lineage id says what stays: a host that read
    /// the answer would keep nothing.
    pub fn into_answer(self) -> Result<Compacted, CompactionError> {
        let done = match self {
            Self::Done(done) => *done,
            Self::Nothing { ok, reason } => {
                return Ok(Compacted {
                    ok,
                    compacted: false,
                    reason: Some(reason),
                    result: None,
                });
            }
        };
        let first_kept = done
            .first_kept_entry_id
            .ok_or(CompactionError::InvalidSession(NO_ID))?;
        Ok(Compacted {
            ok: true,
            compacted: true,
            reason: done
                .is_partial
                .then(|| "partial: the time did not suffice for all of it".to_owned()),
            result: Some(CompactResult {
                summary: Some(done.summary),
                first_kept_entry_id: Some(first_kept),
                tokens_before: done.tokens_before,
                tokens_after: Some(done.tokens_after),
                details: Some(done.details),
                session_id: None,
                session_target: None,
            }),
        })
    }
}

pub(crate) const NO_ID: &str =
    "the first message that stays has no entry id of its own, so the host could not find it";

impl CompactedLog {
    /// What the model sees of a list from now on: the summary, what was kept, and what came later
    /// (HOST-SEMANTICS 1.8). The list is the one that was compacted, a longer one, or a view of it.
    /// Where the first kept message is not in it any more, only what came later is shown.
    pub fn context(&self, list: &Transcript, timestamp_ms: i64) -> Transcript {
        let mut context = Transcript::new();
        context.push(self.message(timestamp_ms));
        let kept = match &self.first_kept_entry_id {
            None => self.first_kept,
            Some(id) => {
                let is_it = |message: &Message| {
                    message.entry_id() == id || message.log_entry_id() == Some(id)
                };
                list.iter().position(is_it).unwrap_or(self.covered)
            }
        };
        context.extend(list.range(kept..list.len()).cloned());
        context
    }

    /// The summary as the message that stands at the head of a context, in the host's schema.
    pub fn message(&self, timestamp_ms: i64) -> Message {
        let first_kept = self.first_kept_entry_id.as_ref();
        let first_kept = first_kept.map_or_else(String::new, |id| {
            format!(r#","firstKeptEntryId":{}"#, quote(id.as_str()))
        });
        let payload = format!(
            r#"{{"role":"compactionSummary","summary":{},"tokensBefore":{},"tokensAfter":{}{first_kept},"details":{},"timestamp":{timestamp_ms}}}"#,
            quote(&self.summary),
            self.tokens_before,
            self.tokens_after,
            String::from_utf8_lossy(&self.details),
        );
        Message::from_payload(payload).with_synthetic(true)
    }
}

/// The JSON of [`CompactedLog::details`].
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    pub(crate) read_files: Vec<String>,
    pub(crate) modified_files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latest_unresolved_user_request: Option<String>,
    pub(crate) summarizer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    pub(crate) calls: u32,
    #[serde(rename = "partial", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_partial: bool,
}

impl Details {
    /// Texts and numbers are always JSON; were they not, the facts would be left out.
    pub(crate) fn to_json(&self) -> Bytes {
        serde_json::to_vec(self).map_or_else(|_| Bytes::from_static(b"{}"), Bytes::from)
    }
}
