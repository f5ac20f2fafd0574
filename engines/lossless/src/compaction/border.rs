//! Where a run of entries may be parted: between no call and its result.

use crate::entry::Log;
use crate::pair::LOOK_AROUND;
use crate::span::Span;

/// Entries of one leaf at most.
const MAX_ENTRIES: u64 = 512;

/// A run cut into leaves, from its oldest entry on. The cuts depend on the log, the start of the run and
/// the size alone, not on how many leaves are asked for at once.
#[derive(Clone)]
pub(crate) struct Leaves<'a> {
    log: &'a dyn Log,
    rest: Span,
    tokens: u64,
    bytes: u64,
}

impl<'a> Leaves<'a> {
    /// Leaves of about so many tokens and bytes of bodies.
    pub(crate) fn new(log: &'a dyn Log, run: Span, tokens: u64, bytes: u64) -> Self {
        Self {
            log,
            rest: run,
            tokens,
            bytes,
        }
    }

    fn weight(&self, start: u64, end: u64) -> u64 {
        let before = self.log.tokens_before(start);
        self.log.tokens_before(end).saturating_sub(before)
    }
}

impl Iterator for Leaves<'_> {
    type Item = Span;

    /// The next leaf: as much as its size allows, up to the start of a turn where one lies in its second
    /// half. A unit that is larger is a leaf of its own.
    fn next(&mut self) -> Option<Span> {
        let Span { start, end } = self.rest;
        let mut seen = Seen::default();
        let (mut turn, mut safe) = (None, None);
        let mut bytes = 0;
        for place in start..end {
            bytes += self.log.entry(place).map_or(0, |entry| entry.bytes());
            if place > start {
                let weight = self.weight(start, place);
                let may_part = seen.may_part(self.log, place);
                if may_part {
                    safe = Some(place);
                }
                if may_part && weight >= self.tokens / 2 && is_user(self.log, place) {
                    turn = Some(place);
                }
                let is_full = self.weight(start, place + 1) > self.tokens
                    || place - start >= MAX_ENTRIES
                    || bytes > self.bytes;
                if let Some(cut) = turn.or(safe).filter(|_| is_full) {
                    self.rest = Span::new(cut, end);
                    return Some(Span::new(start, cut));
                }
            }
            seen.add(self.log, place);
        }
        self.rest = Span::new(end, end);
        let last = seen.may_part(self.log, end).then_some(end).or(safe);
        last.map(|last| Span::new(start, last))
            .filter(|leaf| !leaf.is_empty())
    }
}

fn is_user(log: &dyn Log, place: u64) -> bool {
    log.entry(place)
        .is_some_and(|entry| entry.message().role() == "user")
}

/// The calls and results of what was passed.
#[derive(Default)]
struct Seen {
    /// Ids of calls without a result so far.
    open: Vec<String>,
    /// Whether a result of this turn has no call yet: one that precedes its call (BR-085).
    has_stray: bool,
}

impl Seen {
    fn add(&mut self, log: &dyn Log, place: u64) {
        let Some(entry) = log.entry(place) else {
            return;
        };
        let message = entry.message();
        if message.role() == "user" {
            self.has_stray = false;
        }
        if let Some(id) = message.tool_result_for() {
            let at = self.open.iter().rposition(|open| open == id);
            match at {
                Some(at) => drop(self.open.swap_remove(at)),
                None => self.has_stray = true,
            }
        }
        if !message.tool_call_ids().is_empty() {
            self.has_stray = false;
        }
        self.open.extend(message.tool_call_ids().iter().cloned());
    }

    /// Whether no pair is open before a place. A call that nobody answers holds nothing together.
    fn may_part(&self, log: &dyn Log, place: u64) -> bool {
        let next = log.entry(place);
        let (is_user, is_result) = next.as_ref().map_or((true, false), |entry| {
            let message = entry.message();
            (
                message.role() == "user",
                message.tool_result_for().is_some(),
            )
        });
        if is_result || self.has_stray && !is_user {
            return false;
        }
        let high = log.end().min(place + LOOK_AROUND);
        self.open.is_empty()
            || !(place..high).any(|at| {
                let entry = log.entry(at);
                let answers = entry
                    .as_ref()
                    .and_then(|entry| entry.message().tool_result_for());
                answers.is_some_and(|id| self.open.iter().any(|open| open == id))
            })
    }
}
