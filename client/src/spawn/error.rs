//! Why a child is not started.

use contextwire_engine::SpawnOutcome;

use crate::error::CallError;
use crate::outbox::OutboxError;

/// Why a spawn is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The engine did not prepare it.
    #[error("context-engine subagent preparation failed")]
    Preparation(#[source] CallError),
    /// The engine is not asked at the moment, and a fork needs it.
    #[error("context-engine subagent preparation is unavailable: start the child isolated")]
    ForkUnavailable(#[source] CallError),
    /// The spawn could not be written down, so the engine was not asked.
    #[error("context-engine subagent preparation was not journaled")]
    Journal(#[from] OutboxError),
    /// A fork shows a child what another agent said.
    #[error("a fork needs one agent: the parent is `{parent}`, the child is `{child}`")]
    ForkAcrossAgents {
        /// The parent's agent.
        parent: String,
        /// The child's.
        child: String,
    },
    /// The child has no session key, by which its end and its hooks are told.
    #[error("the {whose} session has no key: give it one before it is spawned")]
    NoSessionKey {
        /// The parent's or the child's.
        whose: &'static str,
    },
    /// The spawn was settled before, and otherwise.
    #[error("the spawn is settled already: {}", name(*.outcome))]
    Settled {
        /// How.
        outcome: SpawnOutcome,
    },
}

fn name(outcome: SpawnOutcome) -> &'static str {
    match outcome {
        SpawnOutcome::Started => "the child was started",
        SpawnOutcome::RolledBack => "it was rolled back",
    }
}
