//! The engine is told of turns that are over, by the best way that it has.

use std::collections::VecDeque;

use contextwire_client::engine::{
    CommitTurn, EngineInfo, Hook, Maintain, MaintainReason, MaintenanceMode, RuntimeContext,
    Session, TokenBudget, Transcript, TurnAdmission,
};
use contextwire_client::lifecycle::{FinishedTurn, TurnDelta, TurnOutcome, finish};
use contextwire_client::store::StoreError;
use contextwire_client::{FailureClass, Hooks, ServedBy};

use crate::log::SessionLog;

/// A turn that is over.
pub(crate) struct ClosedTurn {
    pub(crate) admission: TurnAdmission,
    pub(crate) outcome: TurnOutcome,
    /// The model that answered.
    pub(crate) model: String,
    pub(crate) token_budget: Option<TokenBudget>,
}

/// Turns on their way to the engine.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Not acknowledged yet, oldest first; they are also in the log, which the engine is told of
    /// with each call.
    waiting: VecDeque<CommitTurn>,
}

impl Delivery {
    /// Tells the engine of a turn; gives why it was not told. Nothing of it fails the turn: the log
    /// makes up for it.
    pub(crate) async fn deliver(
        &mut self,
        (hooks, session): (&Hooks, &Session),
        (log, turn): (&SessionLog, ClosedTurn),
        engine: Option<&EngineInfo>,
    ) -> Result<Option<String>, StoreError> {
        let has = |hook| engine.is_some_and(|engine| engine.methods.contains(&hook));
        let facts = RuntimeContext {
            model_id: Some(turn.model),
            token_budget: turn.token_budget.map(TokenBudget::get),
            ..RuntimeContext::default()
        };
        let transcript = log.transcript().await?;
        let position = turn.admission.anchor.active_message_position;
        let told = usize::try_from(position).unwrap_or(0);
        let is_well = turn.outcome == TurnOutcome::Completed;
        let (problem, is_due) = if is_well && has(Hook::CommitTurn) {
            let commit = log.commit(turn.admission, facts.clone()).await?;
            self.waiting.push_back(commit);
            let problem = self.commit(hooks, session).await;
            let is_due = problem.is_none();
            (problem, is_due)
        } else {
            let delta = delta(transcript, told, &facts, turn.token_budget);
            let outcome = turn.outcome;
            let finalised = finish(hooks, session, &FinishedTurn { outcome, delta }).await;
            let problem = finalised.failures.first().map(ToString::to_string);
            (problem, finalised.is_maintenance_due)
        };
        if is_due && has(Hook::Maintain) {
            maintain(hooks, session, engine, facts).await;
        }
        Ok(problem)
    }

    /// The same key until it is acknowledged; one that is refused for ever is set aside (R7.11).
    async fn commit(&mut self, hooks: &Hooks, session: &Session) -> Option<String> {
        while let Some(commit) = self.waiting.front() {
            let problem = match hooks.commit_turn(session, commit.clone()).await {
                Ok(served) if served.by != ServedBy::InProcess => None,
                Ok(served) => served
                    .reason
                    .map(|reason| (is_final(reason.class()), reason.to_string())),
                Err(error) => Some((is_final(error.class()), error.to_string())),
            };
            match problem {
                Some((false, problem)) => return Some(problem),
                Some((true, problem)) => {
                    let turn = &commit.advancement_key;
                    tracing::warn!(turn, "the engine will never take this turn: {problem}");
                }
                None => {}
            }
            self.waiting.pop_front();
        }
        None
    }
}

/// Whether the same commit will never be taken.
fn is_final(class: FailureClass) -> bool {
    class == FailureClass::Caller
}

fn delta(
    log: Transcript,
    told: usize,
    facts: &RuntimeContext,
    token_budget: Option<TokenBudget>,
) -> TurnDelta {
    TurnDelta {
        runtime_context: Some(facts.clone()),
        token_budget,
        ..TurnDelta::new(log, told)
    }
}

async fn maintain(
    hooks: &Hooks,
    session: &Session,
    engine: Option<&EngineInfo>,
    facts: RuntimeContext,
) {
    let mode = engine.map(|engine| engine.turn_maintenance_mode);
    let request = Maintain {
        runtime_context: Some(facts),
        reason: MaintainReason::Turn,
        background: mode == Some(MaintenanceMode::Background),
        ..Maintain::default()
    };
    if let Err(error) = hooks.maintain(session, request).await {
        tracing::warn!(%error, "the engine did not tidy up");
    }
}
