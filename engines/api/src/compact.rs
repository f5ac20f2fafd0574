//! Compact: make room (HOST-SEMANTICS 10).

use crate::budget::TokenBudget;
use crate::context::RuntimeContext;
use crate::ids::{EntryId, SessionId, SessionTarget};
use crate::settings::RuntimeSettings;

/// What compaction aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionTarget {
    /// Below the token budget.
    #[default]
    Budget,
    /// Below the engine's own threshold.
    Threshold,
}

/// Asks the engine to make room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compact {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of this operation.
    pub runtime_context: Option<RuntimeContext>,
    /// Ceiling in tokens.
    pub token_budget: Option<TokenBudget>,
    /// Compact even below the threshold.
    pub force: bool,
    /// What the host last counted.
    pub current_token_count: Option<u64>,
    /// What to aim at.
    pub target: CompactionTarget,
    /// The user's own words for this compaction only.
    pub custom_instructions: Option<String>,
}

/// The answer; `ok` false with a reason is an answer, not a failure of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Whether the operation went as asked.
    pub ok: bool,
    /// Whether anything was compacted.
    pub compacted: bool,
    /// Why not, or what was done.
    pub reason: Option<String>,
    /// What came of it.
    pub result: Option<CompactResult>,
}

impl Compacted {
    /// Nothing was done, and this is why.
    pub fn declined(reason: impl Into<String>) -> Self {
        Self {
            ok: false,
            compacted: false,
            reason: Some(reason.into()),
            result: None,
        }
    }
}

/// Figures and identities of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactResult {
    /// The summary's text.
    pub summary: Option<String>,
    /// Lineage id of the first entry that stays verbatim.
    pub first_kept_entry_id: Option<EntryId>,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after, where known.
    pub tokens_after: Option<u64>,
    /// The engine's own JSON object, opaque.
    pub details: Option<bytes::Bytes>,
    /// The successor session.
    pub session_id: Option<SessionId>,
    /// Typed identity of the successor; goes before `session_id`.
    pub session_target: Option<SessionTarget>,
}
