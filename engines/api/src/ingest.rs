//! Ingest: one message at a time.

use crate::message::Message;

/// Appends one message to the engine's log, by identity (R3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingest {
    /// The message as the host stores it.
    pub message: Message,
    /// Whether it belongs to a heartbeat poll.
    pub is_heartbeat: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// False for a duplicate, or where the engine stores nothing.
    pub ingested: bool,
}
