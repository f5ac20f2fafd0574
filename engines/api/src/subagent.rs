//! Subagents: what a child inherits, whether it started, and its end (HOST-SEMANTICS 7).

use std::time::Duration;

/// How much of its parent a child sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextMode {
    /// Nothing; also what an unknown number means (R4.3).
    #[default]
    Isolated,
    /// The parent up to the fork.
    Fork,
}

/// Prepares what a child inherits. The preparation is durable before the answer (R9.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrepareSubagentSpawn {
    /// Minted by the host; names the spawn for ever.
    pub spawn_id: String,
    /// The parent's stable key.
    pub parent_session_key: String,
    /// The child's stable key.
    pub child_session_key: String,
    /// How much the child sees; absent where the host did not say.
    pub context_mode: Option<ContextMode>,
    /// The parent's volatile id.
    pub parent_session_id: Option<String>,
    /// The parent's deprecated locator: opaque.
    pub parent_locator: Option<String>,
    /// The child's volatile id.
    pub child_session_id: Option<String>,
    /// The child's deprecated locator: opaque.
    pub child_locator: Option<String>,
    /// How long the preparation waits for the child's start; 10 minutes where absent.
    pub ttl: Option<Duration>,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnPrepared {
    /// False where there is nothing to roll back, or the spawn was resolved before.
    pub prepared: bool,
    /// Text for the child's system prompt.
    pub system_prompt_addition: Option<String>,
}

/// What became of a spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnOutcome {
    /// The child runs.
    Started,
    /// It never will.
    RolledBack,
}

/// Settles a preparation; idempotent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveSubagentSpawn {
    /// Which spawn.
    pub spawn_id: String,
    /// What became of it.
    pub outcome: SpawnOutcome,
}

/// Tells that a child ended; legal without a preparation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndSubagent {
    /// Which spawn, where the host knows it.
    pub spawn_id: Option<String>,
    /// The child's stable key.
    pub child_session_key: String,
    /// `deleted`, `completed`, `swept`, `released`, or another word.
    pub reason: String,
}
