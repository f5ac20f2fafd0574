//! What a host does for an engine around its turns (HOST-SEMANTICS 2, 8 and 10).

use std::collections::VecDeque;
use std::sync::Arc;

use contextwire_client::handshake::EngineDescription;
use contextwire_client::store::StoreError;
use contextwire_client::{CallError, EngineClient, FailureClass, Served, ServedBy, Traffic};
use contextwire_engine::{
    AfterTurn, Bootstrap, CommitTurn, Compact, Compacted, Hook, Ingest, IngestBatch, Maintain,
    MaintainReason, MaintenanceMode, Message, RuntimeContext, Session, SessionId, TokenBudget,
    Transcript,
};

use super::anchor::Anchors;
use super::stored::Stored;
use super::{CompactRule, Settings};
use crate::session::{ContextMessage, HistoryView};

/// A host between its turns. Failures are no reason to stop: the engine catches up from the log.
#[derive(Debug)]
pub(super) struct Host<'a> {
    client: &'a EngineClient,
    settings: &'a Settings,
    pub(super) session: Session,
    /// The engine as last known; absent while it was never reached.
    engine: Option<Arc<EngineDescription>>,
    stored: Stored,
    /// Whether somebody compacted: the transcript, or only an engine's own.
    compacted: bool,
    /// Turns that no engine acknowledged yet, oldest first.
    uncommitted: VecDeque<CommitTurn>,
    /// How many turns the engine refused for ever.
    set_aside: usize,
    anchors: Anchors,
}

/// A turn that was answered.
pub(super) struct ClosedTurn<'a> {
    pub(super) number: usize,
    /// The user message and what followed it.
    pub(super) messages: Vec<&'a ContextMessage>,
    /// The log with them.
    pub(super) log: Transcript,
}

impl<'a> Host<'a> {
    pub(super) fn new(
        client: &'a EngineClient,
        settings: &'a Settings,
        session: Session,
        (anchors, stored): (Anchors, Stored),
    ) -> Self {
        Self {
            client,
            settings,
            session,
            engine: None,
            stored,
            compacted: false,
            uncommitted: VecDeque::new(),
            set_aside: 0,
            anchors,
        }
    }

    /// A client whose calls tell the engine of the log, and whose engine may ask this host back.
    pub(super) async fn client(&self) -> EngineClient {
        let client = self.client.with_host(self.stored.host(&self.session));
        match self.stored.log().await {
            Ok(log) => client.with_log(log),
            Err(_) => client,
        }
    }

    /// The recording goes on to this log.
    ///
    /// # Errors
    /// When a recorded message cannot be stored.
    pub(super) async fn store(&mut self, log: &Transcript) -> Result<(), StoreError> {
        self.stored.follow(log).await
    }

    /// What the host would send now, where `recorded` is what it sent then.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn view(&self, recorded: &Transcript) -> Result<Transcript, StoreError> {
        match self.settings.history {
            HistoryView::Full if self.compacted => self.stored.view(recorded).await,
            HistoryView::Full | HistoryView::Recorded => Ok(recorded.clone()),
        }
    }

    /// A run of a session that already has a log: the engine imports it, then it may tidy up,
    /// whether or not it imports.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn bootstrap(&mut self) -> Result<(), StoreError> {
        self.look().await;
        if self.has(Hook::Bootstrap) {
            let request = Bootstrap {
                runtime_context: Some(self.facts()),
                transcript: self.stored.log().await?,
                ..Bootstrap::default()
            };
            answered(
                Hook::Bootstrap,
                &self.client().await.bootstrap(&self.session, request).await,
            );
        }
        self.maintain(MaintainReason::Bootstrap).await;
        Ok(())
    }

    /// The end of a turn, in the first way that the engine has: commit, the whole log, a batch,
    /// message by message. Then it may tidy up.
    ///
    /// # Errors
    /// When a recorded message cannot be stored.
    pub(super) async fn close(&mut self, turn: ClosedTurn<'_>) -> Result<(), StoreError> {
        let ClosedTurn {
            number,
            messages,
            log,
        } = turn;
        self.store(&log).await?;
        self.look().await;
        let own = || messages.iter().map(|message| message.message().clone());
        let done = if self.has(Hook::CommitTurn) {
            let commit = self.anchors.commit(number, &messages, self.facts());
            self.uncommitted.extend(commit);
            self.commit().await
        } else if self.has(Hook::AfterTurn) {
            self.after_turn(messages.len()).await?
        } else if self.has(Hook::IngestBatch) {
            self.ingest_batch(own().collect()).await
        } else {
            self.ingest(own()).await
        };
        // A turn that did not end well is not tidied up after.
        if done {
            self.maintain(MaintainReason::Turn).await;
        }
        Ok(())
    }

    /// The last chance of turns that no engine acknowledged.
    pub(super) async fn finish(&mut self) {
        if !self.commit().await {
            let turns = self.uncommitted.len();
            tracing::warn!(turns, "the engine has not acknowledged the last turns");
        }
    }

    /// Turns that the engine does not have: not acknowledged, or refused for ever.
    pub(super) fn not_stored(&self) -> usize {
        self.uncommitted.len() + self.set_aside
    }

    /// Whether every turn is acknowledged. The same key until then; later ones wait, except for one
    /// that will never be taken: it is set aside, and told (R7.11).
    async fn commit(&mut self) -> bool {
        let client = self.client().await;
        while let Some(commit) = self.uncommitted.front() {
            let served = client.commit_turn(&self.session, commit.clone()).await;
            if !answered(Hook::CommitTurn, &served) {
                let Some(reason) = refused_for_ever(&served) else {
                    return false;
                };
                let turn = &commit.advancement_key;
                let code = reason.code();
                tracing::warn!(turn, code, "the engine will never take this turn: {reason}");
                self.set_aside += 1;
            }
            self.uncommitted.pop_front();
        }
        true
    }

    async fn after_turn(&self, added: usize) -> Result<bool, StoreError> {
        let log = self.stored.log().await?;
        let before = log.len().saturating_sub(added);
        let request = AfterTurn {
            runtime_context: Some(self.facts()),
            transcript: log,
            pre_prompt_message_count: before as u64,
            token_budget: self.settings.budget,
            ..AfterTurn::default()
        };
        Ok(answered(
            Hook::AfterTurn,
            &self.client().await.after_turn(&self.session, request).await,
        ))
    }

    async fn ingest_batch(&self, messages: Vec<Message>) -> bool {
        let request = IngestBatch {
            messages,
            is_heartbeat: false,
        };
        answered(
            Hook::IngestBatch,
            &self
                .client()
                .await
                .ingest_batch(&self.session, request)
                .await,
        )
    }

    /// While the engine is away the rest is not tried: the next log tells it everything.
    async fn ingest(&self, messages: impl Iterator<Item = Message>) -> bool {
        for message in messages {
            let request = Ingest {
                message,
                is_heartbeat: false,
            };
            if !answered(
                Hook::Ingest,
                &self.client().await.ingest(&self.session, request).await,
            ) {
                return false;
            }
        }
        true
    }

    /// Asks for a compaction where the rule says so and the context exceeds the budget. Gives how
    /// many there were, and what they moved; nothing where none was asked for.
    pub(super) async fn compact(&mut self, tokens: u64) -> Option<(u64, Traffic)> {
        let budget = self
            .settings
            .budget
            .filter(|budget| tokens > budget.get())?;
        self.look().await;
        let owns = |engine: &Arc<EngineDescription>| engine.info.owns_compaction;
        let asked = match self.settings.compact {
            CompactRule::Owned => self.engine.as_ref().is_some_and(owns),
            CompactRule::Always => self.engine.is_some(),
            CompactRule::Never => false,
        };
        if !asked {
            return None;
        }
        let compacted = self.try_compact(tokens, budget).await;
        if !answered(Hook::Compact, &compacted) {
            return Some((0, Traffic::default()));
        }
        let Served {
            result, traffic, ..
        } = compacted.ok()?;
        if !(result.ok && result.compacted) {
            return Some((0, traffic));
        }
        self.compacted = true;
        self.succeed(&result);
        self.maintain(MaintainReason::Compaction).await;
        Some((1, traffic))
    }

    async fn try_compact(
        &self,
        tokens: u64,
        budget: TokenBudget,
    ) -> Result<Served<Compacted>, CallError> {
        let request = Compact {
            runtime_context: Some(self.facts()),
            token_budget: Some(budget),
            current_token_count: Some(tokens),
            ..Compact::default()
        };
        self.client().await.compact(&self.session, request).await
    }

    /// Goes on with the successor session that a compaction named (HOST-SEMANTICS 1.2).
    fn succeed(&mut self, compacted: &Compacted) {
        let Some(result) = &compacted.result else {
            return;
        };
        let target = result.session_target.as_ref();
        let typed = target
            .and_then(|target| target.session_id.clone())
            .and_then(|id| SessionId::new(id).ok());
        if let Some(id) = typed.or_else(|| result.session_id.clone())
            && id != self.session.id
        {
            let previous = std::mem::replace(&mut self.session.id, id);
            self.session.previous_id = Some(previous);
        }
    }

    async fn maintain(&self, reason: MaintainReason) {
        if !self.has(Hook::Maintain) {
            return;
        }
        let mode = self
            .engine
            .as_ref()
            .map_or(MaintenanceMode::default(), |engine| {
                engine.info.turn_maintenance_mode
            });
        let background = match (reason, mode) {
            (MaintainReason::Turn, MaintenanceMode::Background) => true,
            (MaintainReason::Turn, MaintenanceMode::Foreground)
            | (MaintainReason::Bootstrap | MaintainReason::Compaction, _) => false,
        };
        let request = Maintain {
            runtime_context: Some(RuntimeContext {
                allow_deferred_compaction_execution: background.then_some(true),
                ..self.facts()
            }),
            reason,
            background,
            ..Maintain::default()
        };
        answered(
            Hook::Maintain,
            &self.client().await.maintain(&self.session, request).await,
        );
    }

    /// Learns what the engine is. One that was known before is not asked again while it is away:
    /// the call that follows finds that out by itself.
    async fn look(&mut self) {
        let known = match self.client.known() {
            None if self.engine.is_none() => self.client.engine().await.ok(),
            known => known,
        };
        self.engine = known.or(self.engine.take());
    }

    fn has(&self, hook: Hook) -> bool {
        let engine = self.engine.as_ref();
        engine.is_some_and(|engine| engine.info.methods.contains(&hook))
    }

    /// What a replayed turn may say of its run: resolved model facts (HOST-SEMANTICS 1.5).
    fn facts(&self) -> RuntimeContext {
        RuntimeContext {
            model_id: self.settings.model.clone(),
            token_budget: self.settings.budget.map(TokenBudget::get),
            ..RuntimeContext::default()
        }
    }
}

/// Why no repetition of the same request can be taken, where that is so.
fn refused_for_ever<T>(served: &Result<Served<T>, CallError>) -> Option<&CallError> {
    let reason = match served {
        Ok(served) => served.reason.as_deref(),
        Err(error) => Some(error),
    }?;
    (reason.class() == FailureClass::Caller).then_some(reason)
}

/// Whether the engine itself answered.
fn answered<T>(hook: Hook, served: &Result<Served<T>, CallError>) -> bool {
    let reason = match served {
        Ok(served) if matches!(served.by, ServedBy::Engine(_)) => return true,
        Ok(served) => served.reason.as_deref(),
        Err(error) => Some(error),
    };
    let code = reason.map_or("", CallError::code);
    tracing::debug!(%hook, code, "the engine did not answer");
    false
}
