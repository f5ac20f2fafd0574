//! How an engine is told what a turn added: by the best of the three hooks that it has.

use std::sync::Arc;

use contextwire_engine::{
    AfterTurn, Ingest, IngestBatch, Message, RuntimeContext, RuntimeSettings, Session, TokenBudget,
    Transcript,
};

use crate::call::{Served, ServedBy};
use crate::error::CallError;
use crate::hooks::Hooks;

/// What a turn, or one round of it, added to the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnDelta {
    /// The whole log.
    pub log: Transcript,
    /// How many of its messages the engine was told before; more than there are is all of them.
    pub told: usize,
    /// Whether the turn has a recorder, whose outbox tells the engine instead: then no hook here is
    /// called.
    pub is_recorded: bool,
    /// Whether the turn was a heartbeat poll.
    pub is_heartbeat: bool,
    /// The summary that the host's own compaction wrote during the turn.
    pub auto_compaction_summary: Option<String>,
    /// Ceiling in tokens of the run.
    pub token_budget: Option<TokenBudget>,
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of the run.
    pub runtime_context: Option<RuntimeContext>,
}

/// By which hook an engine was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// By none: there was nothing to tell, or the turn has a recorder.
    Nothing,
    /// `AfterTurn`.
    AfterTurn,
    /// `IngestBatch`.
    IngestBatch,
    /// `Ingest`, once a message.
    Ingest,
}

impl TurnDelta {
    /// What `log` holds beyond its first `told` messages.
    pub fn new(log: Transcript, told: usize) -> Self {
        Self {
            log,
            told,
            ..Self::default()
        }
    }

    fn told(&self) -> usize {
        self.told.min(self.log.len())
    }

    fn new_messages(&self) -> impl Iterator<Item = &Message> {
        self.log.range(self.told()..self.log.len())
    }

    fn after_turn(&self) -> AfterTurn {
        AfterTurn {
            runtime_settings: self.runtime_settings.clone(),
            runtime_context: self.runtime_context.clone(),
            transcript: self.log.clone(),
            background: false,
            pre_prompt_message_count: self.told() as u64,
            auto_compaction_summary: self.auto_compaction_summary.clone(),
            is_heartbeat: self.is_heartbeat,
            token_budget: self.token_budget,
        }
    }
}

/// What became of one call.
pub(super) enum Told {
    /// The engine took it.
    Well,
    /// It has no such method.
    Absent,
    /// It did not take it.
    Failed(Arc<CallError>),
}

impl Told {
    pub(super) fn of<T>(outcome: &Result<Served<T>, Arc<CallError>>) -> Self {
        match outcome {
            Err(error) => Self::Failed(Arc::clone(error)),
            Ok(served) if served.by != ServedBy::InProcess => Self::Well,
            Ok(served) => match &served.reason {
                Some(reason) if !matches!(**reason, CallError::Absent { .. }) => {
                    Self::Failed(Arc::clone(reason))
                }
                Some(_) | None => Self::Absent,
            },
        }
    }
}

/// Tells the engine, by `AfterTurn`, else by `IngestBatch`, else message by message; the failures of one
/// message keep no other from being told.
pub(super) async fn deliver(
    hooks: &Hooks,
    session: &Session,
    delta: &TurnDelta,
) -> (Delivered, Vec<Arc<CallError>>) {
    if delta.is_recorded {
        return (Delivered::Nothing, Vec::new());
    }
    let outcome = hooks.after_turn(session, delta.after_turn()).await;
    match Told::of(&outcome.map_err(Arc::new)) {
        Told::Well => return (Delivered::AfterTurn, Vec::new()),
        Told::Failed(error) => return (Delivered::AfterTurn, vec![error]),
        Told::Absent => {}
    }
    let messages: Vec<_> = delta.new_messages().cloned().collect();
    if messages.is_empty() {
        return (Delivered::Nothing, Vec::new());
    }
    let batch = IngestBatch {
        messages: messages.clone(),
        is_heartbeat: delta.is_heartbeat,
    };
    let outcome = hooks.ingest_batch(session, batch).await;
    match Told::of(&outcome.map_err(Arc::new)) {
        Told::Well => return (Delivered::IngestBatch, Vec::new()),
        Told::Failed(error) => return (Delivered::IngestBatch, vec![error]),
        Told::Absent => {}
    }
    let mut failures = Vec::new();
    for message in messages {
        let request = Ingest {
            message,
            is_heartbeat: delta.is_heartbeat,
        };
        let outcome = hooks.ingest(session, request).await;
        if let Told::Failed(error) = Told::of(&outcome.map_err(Arc::new)) {
            failures.push(error);
        }
    }
    (Delivered::Ingest, failures)
}
