//! `CommitTurn`: a closed turn, stored atomically (HOST-SEMANTICS 1.3 and 9.3).

use crate::context::RuntimeContext;
use crate::message::Message;
use crate::settings::RuntimeSettings;

/// An entry of the host's transcript, issued by the transaction that appended it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryAnchor {
    /// The agent that owns the session.
    pub agent_id: String,
    /// The session's volatile id.
    pub session_id: String,
    /// Its stable key.
    pub session_key: String,
    /// Where the host stores it; opaque, never opened.
    pub store_path: String,
    /// Generation of the stored transcript.
    pub generation: String,
    /// Lineage id of the entry.
    pub entry_id: String,
    /// Place in the raw event log.
    pub raw_seq: i64,
    /// The entry before it on its branch.
    pub effective_parent_id: Option<String>,
    /// Place among the active branch's messages.
    pub active_message_position: i64,
    /// The host's own key of the append.
    pub idempotency_key: Option<String>,
}

/// The user message that opened the turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnAdmission {
    /// Where it stands.
    pub anchor: EntryAnchor,
    /// Identity of the logical turn.
    pub logical_turn_id: String,
    /// The role of the entry: `user`.
    pub role: String,
}

/// Stores a closed turn under its advancement key: all of it or nothing (R7.10, R7.11).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitTurn {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Resolved model facts; never live capabilities.
    pub runtime_context: Option<RuntimeContext>,
    /// Names the turn for ever.
    pub advancement_key: String,
    /// First entry of the range, inclusive.
    pub admission: TurnAdmission,
    /// Last entry of the range, inclusive.
    pub terminal: EntryAnchor,
    /// The messages of the range in order.
    pub messages: Vec<Message>,
    /// Whether the turn was a heartbeat poll.
    pub is_heartbeat: bool,
}

/// The answer; given only after the write survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnCommitted {
    /// The turn is stored.
    Committed,
    /// It was stored before under this key.
    Duplicate,
}
