//! Ingest and `IngestBatch`: messages for the engine's log, by identity (R3.2).

use crate::message::Message;

/// Appends one message.
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

/// Appends several messages, all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestBatch {
    /// The messages as the host stores them, in order.
    pub messages: Vec<Message>,
    /// Whether they belong to a heartbeat poll.
    pub is_heartbeat: bool,
}

/// The answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestedBatch {
    /// How many were new to the engine.
    pub ingested_count: u64,
}
