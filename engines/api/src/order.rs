//! The order of a host's calls, and what became of calls that a host gave up (R7.2, R7.9).

use crate::digest::TranscriptState;
use crate::ids::{HookId, SessionTarget};

/// Place of a call in its host's order; a lower pair always loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order {
    /// Start of the host's process, strictly increasing over restarts; never zero.
    pub host_epoch: u64,
    /// Counts the mutating foreground hooks of a session; absent in unordered calls.
    pub session_seq: Option<u64>,
}

/// A hook that was abandoned after its effect had happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateHook {
    /// Its id.
    pub hook_id: HookId,
    /// Name of its RPC.
    pub method: String,
    /// Successor session that it made.
    pub session_target: Option<SessionTarget>,
}

/// What an engine says beside its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Abandoned hooks whose effect had happened.
    pub late: Vec<LateHook>,
    /// The engine's stored log; absent where it stores none.
    pub log_state: Option<TranscriptState>,
}
