//! The end of a turn: what it added is told, and maintenance is due or not.

use std::sync::Arc;

use contextwire_engine::Session;

use super::delivery::{Delivered, TurnDelta, deliver};
use crate::error::CallError;
use crate::hooks::Hooks;

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The model answered.
    #[default]
    Completed,
    /// The prompt could not be sent or its answer not be had.
    PromptError,
    /// Somebody stopped it.
    Aborted,
    /// It was stopped to make way for another.
    YieldAborted,
}

/// A turn that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FinishedTurn {
    /// How it ended.
    pub outcome: TurnOutcome,
    /// What it added. Where a tool loop told some of it, [`ToolLoop::told`](super::ToolLoop::told)
    /// is what was told.
    pub delta: TurnDelta,
}

/// What became of the end of a turn. Nothing of it fails the turn.
#[derive(Clone, Debug)]
pub struct Finalised {
    /// By which hook the engine was told.
    pub delivered: Delivered,
    /// Why it was not told, or not all of it. The next sync makes up for it.
    pub failures: Vec<Arc<CallError>>,
    /// Whether `Maintain` with the reason TURN is due: now, or beside the conversation where the
    /// engine's [`turn_maintenance_mode`](contextwire_engine::EngineInfo::turn_maintenance_mode)
    /// says so.
    pub is_maintenance_due: bool,
}

impl Finalised {
    /// Whether everything that had to be told was.
    pub fn is_well(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Tells the engine of a turn. One that did not complete is not told, and neither is one with a
/// recorder: its outbox does that, and offers the maintenance.
pub async fn finish(hooks: &Hooks, session: &Session, turn: &FinishedTurn) -> Finalised {
    if turn.outcome != TurnOutcome::Completed {
        return Finalised {
            delivered: Delivered::Nothing,
            failures: Vec::new(),
            is_maintenance_due: false,
        };
    }
    let (delivered, failures) = deliver(hooks, session, &turn.delta).await;
    for error in &failures {
        tracing::warn!(code = error.code(), %error, "the turn was not told");
    }
    Finalised {
        delivered,
        is_maintenance_due: failures.is_empty() && !turn.delta.is_recorded,
        failures,
    }
}
