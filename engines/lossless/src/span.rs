//! Runs of the log.

use std::fmt;

/// Places in a session's log, from `start` up to and without `end`. Places count from 0 and never
/// change: the log only grows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first place.
    pub start: u64,
    /// One beyond the last.
    pub end: u64,
}

impl Span {
    /// The places from `start` up to and without `end`.
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// How many places.
    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether a place is in it.
    pub fn contains(self, place: u64) -> bool {
        (self.start..self.end).contains(&place)
    }

    /// Whether all of another is in it.
    pub fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Every place, in order.
    pub fn places(self) -> std::ops::Range<u64> {
        self.start..self.end
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl fmt::Display for Span {
    /// As people count: `4-9` for the places 4 to 9.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            0 => f.write_str("none"),
            1 => write!(f, "{}", self.start),
            _ => write!(f, "{}-{}", self.start, self.end - 1),
        }
    }
}
