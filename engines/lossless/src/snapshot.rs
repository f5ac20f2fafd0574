//! What a session is at one moment: what assembly fits and compaction starts from.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::entry::Log;
use crate::node::{NodeId, SummaryNode};
use crate::plan::Plan;

/// The summaries of a session, those of its plan at least.
pub trait Nodes: Send + Sync {
    /// The summary with this id.
    fn node(&self, id: NodeId) -> Option<Arc<SummaryNode>>;
}

impl<S: BuildHasher + Send + Sync> Nodes for HashMap<NodeId, Arc<SummaryNode>, S> {
    fn node(&self, id: NodeId) -> Option<Arc<SummaryNode>> {
        self.get(&id).cloned()
    }
}

/// One immutable state of a session.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    /// What stands for the log.
    pub plan: &'a Plan,
    /// The plan's summaries.
    pub nodes: &'a dyn Nodes,
    /// The log.
    pub log: &'a dyn Log,
    /// Places that stay verbatim.
    pub pins: &'a BTreeSet<u64>,
}

impl Snapshot<'_> {
    /// System and developer entries at the head of the log: never summarised, always shown (A24).
    pub(crate) fn lead_end(&self) -> u64 {
        let is_instruction = |place: &u64| {
            let entry = self.log.entry(*place);
            entry.is_some_and(|entry| matches!(entry.message().role(), "system" | "developer"))
        };
        let first = self.plan.summaries().first();
        let end = first.map_or(self.log.end(), |placed| placed.span.start);
        (0..end).take_while(is_instruction).count() as u64
    }
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("plan", &self.plan.version())
            .field("log", &self.log.end())
            .finish_non_exhaustive()
    }
}
