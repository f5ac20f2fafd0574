//! How a list of messages travels: only what changed, in parts, checked by its state (PROTOCOL 3).
//!
//! The sender takes [`diff`] of the list that the peer holds and the one it should hold, and
//! [`parts`] of that; the receiver feeds the parts to an [`Applier`]. What goes wrong is found by
//! the state after each part, never by trust.

mod apply;
mod diff;
mod have;
mod parts;

use contextwire_engine::{Segment, TranscriptState};

pub use apply::{Applier, ApplyError, apply};
pub use diff::diff;
pub use have::{have, newest_known};
pub use parts::{PartLimits, Parts, encoded_len, omitted, parts};

/// Which of the two lists of a session (R3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum List {
    /// The stored transcript branch.
    Log,
    /// What would be sent to the model now.
    View,
}

/// One frame of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptUpdate {
    /// Counts per list within a hook, from 1.
    pub seq: u32,
    /// Which list.
    pub list: List,
    /// What the frame brings.
    pub body: UpdateBody,
}

/// What a frame of a list brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateBody {
    /// A part of the list.
    Part(Part),
    /// The host cannot serve the list; the engine goes on with what it has (R3.3).
    Unavailable,
}

/// A part of a list (R3.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The state that kept ranges refer to, equal in all parts.
    pub base: TranscriptState,
    /// The list from where the part before ended.
    pub segments: Vec<Segment>,
    /// The state after this part.
    pub head: TranscriptState,
    /// The next part continues here.
    pub more: bool,
}

#[cfg(test)]
mod tests;
