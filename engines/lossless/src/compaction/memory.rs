//! What a compaction found out and the next one need not find out again.

use std::collections::BTreeSet;

use contextwire_engine::Digest;

use crate::identity::Identity;
use crate::snapshot::Snapshot;
use crate::span::Span;

/// What was in vain in a session. Kept in memory by whoever runs compactions; to lose it costs calls
/// and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The state in which nothing was left to do.
    exhausted: Option<Digest>,
    /// Spans whose summary was no shorter than they are.
    stubborn: BTreeSet<Span>,
}

impl Memory {
    /// Whether nothing was left to do the last time, and nothing has changed since.
    pub(crate) fn is_exhausted(&self, state: Digest) -> bool {
        self.exhausted == Some(state)
    }

    pub(crate) fn note_exhausted(&mut self, state: Digest) {
        self.exhausted = Some(state);
    }

    pub(crate) fn is_stubborn(&self, span: Span) -> bool {
        self.stubborn.contains(&span)
    }

    pub(crate) fn note_stubborn(&mut self, span: Span) {
        self.stubborn.insert(span);
    }
}

/// Everything that decides whether there is something to do.
pub(crate) fn state(snapshot: &Snapshot<'_>, goal: u64, is_forced: bool) -> Digest {
    let identity = Identity::of("state")
        .digest(snapshot.plan.digest())
        .number(snapshot.log.end())
        .number(goal)
        .number(u64::from(is_forced));
    let pins = snapshot.pins.iter();
    pins.fold(identity, |identity, pin| identity.number(*pin))
        .finish()
}
