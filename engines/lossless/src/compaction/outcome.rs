//! What came of a compaction.

use contextwire_engine::{CompactResult, Compacted, EntryId};
use contextwire_legacy::SummarizeError;
use serde_json::json;

use super::breaker::Cause;
use crate::node::NodeId;
use crate::plan::Plan;

/// Why a compaction ended.
#[derive(Debug)]
pub enum End {
    /// It was not due.
    NotDue,
    /// The target is met.
    TargetMet,
    /// Nothing is left that could be compacted.
    NothingLeft,
    /// The summariser failed, or its key is refused.
    Failed(SummarizeError),
    /// The breaker is open.
    Resting(Cause),
    /// Somebody asked to stop; nothing was replaced, and finished summaries are kept for the next time.
    Cancelled,
    /// The time did not suffice for everything; the next one goes on.
    OutOfTime,
    /// The conversation changed meanwhile; nothing was replaced.
    Stale,
    /// The store cannot write; nothing was replaced.
    Store(super::SinkError),
}

/// A compaction that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// The plan in force now: a new version, or the one of before.
    pub plan: Plan,
    /// Summaries that the new version brought, in the order in which they were put in place.
    pub written: Vec<NodeId>,
    /// Of these, how many are provisional.
    pub provisional: usize,
    /// Calls of the summariser that gave a summary, and those that did not.
    pub calls: u32,
    /// Tokens before: the host's own count where it has one.
    pub tokens_before: u64,
    /// Tokens after: the same count less what was saved.
    pub tokens_after: u64,
    /// The ceiling, where there is one.
    pub budget: Option<u64>,
    /// Lineage id of the first entry behind the last summary.
    pub first_kept: Option<EntryId>,
}

impl Outcome {
    /// Whether anything was replaced.
    pub fn is_compacted(&self) -> bool {
        !self.written.is_empty()
    }

    /// Whether the context still exceeds its ceiling.
    pub fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.tokens_after > budget)
    }

    /// The hook's answer.
    pub fn answer(&self) -> Compacted {
        let compacted = self.is_compacted();
        let reason = self.reason();
        let is_fine = match self.end {
            End::NotDue | End::TargetMet => true,
            End::NothingLeft => !self.is_over(),
            End::OutOfTime => compacted,
            End::Failed(_) | End::Resting(_) => compacted && !self.is_over(),
            End::Cancelled | End::Stale | End::Store(_) => false,
        };
        Compacted {
            ok: is_fine,
            compacted,
            reason: Some(reason),
            result: compacted.then(|| CompactResult {
                summary: None,
                first_kept_entry_id: self.first_kept.clone(),
                tokens_before: self.tokens_before,
                tokens_after: Some(self.tokens_after),
                details: Some(self.details().into()),
                session_id: None,
                session_target: None,
            }),
        }
    }

    /// Why there is work left for the next compaction; none where there is none.
    pub fn debt(&self) -> Option<String> {
        match self.end {
            End::NotDue | End::TargetMet | End::NothingLeft if self.provisional == 0 => None,
            End::NotDue | End::TargetMet | End::NothingLeft => Some(format!(
                "{} summaries are provisional: a model has to write them anew",
                self.provisional
            )),
            End::Failed(_)
            | End::Resting(_)
            | End::Cancelled
            | End::OutOfTime
            | End::Stale
            | End::Store(_) => Some(self.reason()),
        }
    }

    fn reason(&self) -> String {
        match &self.end {
            End::NotDue if self.budget.is_none() => {
                "nothing to compact: no token budget is known; force it, or name one".to_owned()
            }
            End::NotDue => "nothing to compact: the context is below its threshold".to_owned(),
            End::TargetMet => format!(
                "{} summaries written, {} tokens saved",
                self.written.len(),
                self.tokens_before.saturating_sub(self.tokens_after)
            ),
            End::NothingLeft if self.is_over() => {
                "still over the budget, and nothing left to compact: the newest turn, the fresh tail and pins stay"
                    .to_owned()
            }
            End::NothingLeft if self.is_compacted() => {
                "everything outside the fresh tail is summarised".to_owned()
            }
            End::NothingLeft => {
                "nothing to compact: the newest turn, the fresh tail and pins stay".to_owned()
            }
            End::Failed(error) => format!("the summariser failed: {error}"),
            End::Resting(Cause::Refused) => {
                "the summariser's key was refused a moment ago; it is tried again later".to_owned()
            }
            End::Resting(Cause::Failing) => {
                "the summariser failed several times; it is tried again later".to_owned()
            }
            End::Cancelled => "compaction aborted".to_owned(),
            End::OutOfTime => "partial: the time did not suffice for all of it".to_owned(),
            End::Stale => {
                "the conversation changed meanwhile; nothing was replaced, another compaction goes on".to_owned()
            }
            End::Store(error) => format!("{error}; nothing was replaced"),
        }
    }

    /// Facts for records, a JSON object.
    fn details(&self) -> Vec<u8> {
        let ids: Vec<String> = self.written.iter().map(ToString::to_string).collect();
        json!({
            "planVersion": self.plan.version(),
            "planDigest": self.plan.digest().to_string(),
            "summaries": ids,
            "provisional": self.provisional,
            "calls": self.calls,
        })
        .to_string()
        .into_bytes()
    }
}
