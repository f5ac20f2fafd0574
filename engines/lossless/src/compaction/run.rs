//! What a compaction has done so far.

use std::time::Duration;

use contextwire_legacy::SummarizeError;

use super::draft::Draft;
use super::memory::Memory;
use super::outcome::End;
use super::round::Made;
use super::work::Work;
use super::write::Unmade;
use crate::node::{NodeId, SummaryNode};
use crate::snapshot::Snapshot;

/// A compaction at work.
pub(crate) struct Run<'a> {
    pub(crate) draft: Draft<'a>,
    pub(crate) before: u64,
    pub(crate) written: Vec<NodeId>,
    pub(crate) replaced: Vec<NodeId>,
    pub(crate) provisional: usize,
    pub(crate) calls: u32,
    pub(crate) longest: Duration,
    /// The newest failure of the summariser.
    pub(crate) failure: Option<SummarizeError>,
}

impl<'a> Run<'a> {
    pub(crate) fn of(snapshot: Snapshot<'a>) -> Self {
        let draft = Draft::of(snapshot);
        Self {
            before: draft.tokens(),
            draft,
            written: Vec::new(),
            replaced: Vec::new(),
            provisional: 0,
            calls: 0,
            longest: Duration::ZERO,
            failure: None,
        }
    }

    /// Takes what became of some work: an end where nothing should follow, and whether it helped.
    pub(crate) fn take(
        &mut self,
        work: &Work,
        made: Made,
        memory: &mut Memory,
    ) -> (Option<End>, bool) {
        let unmade = match made {
            Made::Node { node, is_new } => {
                self.calls += u32::from(is_new && !node.is_provisional());
                let helped = self.put(*node);
                if !helped {
                    memory.note_stubborn(work.span);
                }
                return (None, helped);
            }
            Made::Skipped { is_late: true } => return (Some(End::OutOfTime), false),
            Made::Skipped { is_late: false } => return (None, false),
            Made::Store(error) => return (Some(End::Store(error)), false),
            Made::Not(unmade) => unmade,
        };
        self.calls += 1;
        let end = match unmade {
            Unmade::NotShorter => {
                memory.note_stubborn(work.span);
                return (None, true);
            }
            Unmade::Failed(error) => {
                self.failure = Some(error);
                return (None, false);
            }
            Unmade::Refused(error) => End::Failed(error),
            Unmade::Aborted => End::Cancelled,
            Unmade::TimedOut => End::OutOfTime,
            Unmade::Stale => End::Stale,
        };
        (Some(end), false)
    }

    pub(crate) fn put(&mut self, node: SummaryNode) -> bool {
        let (id, span) = (node.id(), node.span());
        let is_provisional = node.is_provisional();
        let old = self.draft.covered(span);
        if !self.draft.put(node) {
            return false;
        }
        // Of the same span: a better text for the same.
        self.replaced
            .extend(old.iter().filter(|old| old.span == span).map(|old| old.id));
        self.written.push(id);
        self.provisional += usize::from(is_provisional);
        true
    }
}
