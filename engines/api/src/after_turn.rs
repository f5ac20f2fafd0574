//! `AfterTurn`: what a finished turn added (HOST-SEMANTICS 2).

use crate::budget::TokenBudget;
use crate::context::RuntimeContext;
use crate::settings::RuntimeSettings;
use crate::transcript::Transcript;

/// Tells the engine what a turn, or one round of it, added to the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AfterTurn {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of this operation.
    pub runtime_context: Option<RuntimeContext>,
    /// The whole log after the turn.
    pub transcript: Transcript,
    /// Whether nobody waits for it.
    pub background: bool,
    /// How many messages of this log the prompt already held.
    pub pre_prompt_message_count: u64,
    /// The summary that the host's own compaction wrote during the turn.
    pub auto_compaction_summary: Option<String>,
    /// Whether the turn was a heartbeat poll.
    pub is_heartbeat: bool,
    /// Ceiling in tokens of the run.
    pub token_budget: Option<TokenBudget>,
}
