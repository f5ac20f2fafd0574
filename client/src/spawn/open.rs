//! A spawn between its preparation and its child's first step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{ContextMode, Hook, PrepareSubagentSpawn, Session, SpawnOutcome};
use tokio::runtime::Handle;

use super::error::SpawnError;
use super::renewal::{Renewal, Watched};
use super::{Inner, OPERATION};
use crate::call::{Answer, Call};
use crate::error::CallError;
use crate::outbox::OutboxError;

/// A child that was asked for and is not started yet. Its preparation is kept alive meanwhile.
///
/// Dropped without a word it is rolled back, as after a failure on the way to the child's start. One
/// that is [queued](Spawn::queued) stays in the journal instead, for the next process to take up.
#[derive(Debug)]
pub struct Spawn {
    inner: Arc<Inner>,
    asked: Arc<PrepareSubagentSpawn>,
    parent: Session,
    mode: ContextMode,
    stage: Mutex<Stage>,
    /// One settlement at a time; who comes second sees what the first one did.
    settling: tokio::sync::Mutex<()>,
    prepared: Option<Prepared>,
    watched: Arc<Watched>,
    renewal: Mutex<Option<Renewal>>,
}

/// What an engine prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) addition: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is to be settled: nobody prepared anything.
    Unprepared,
    /// In the journal.
    Open,
    /// In the journal, and in the host's own queue.
    Queued,
    /// The outcome is on its way to the disk.
    Settling(SpawnOutcome),
    Settled(SpawnOutcome),
}

impl Spawn {
    pub(super) fn unprepared(
        inner: Arc<Inner>,
        asked: PrepareSubagentSpawn,
        parent: Session,
    ) -> Self {
        Self::of((inner, asked, parent), Stage::Unprepared)
    }

    pub(super) fn journaled(
        inner: Arc<Inner>,
        asked: PrepareSubagentSpawn,
        parent: Session,
    ) -> Self {
        Self::of((inner, asked, parent), Stage::Open)
    }

    fn of(
        (inner, asked, parent): (Arc<Inner>, PrepareSubagentSpawn, Session),
        stage: Stage,
    ) -> Self {
        Self {
            inner,
            mode: asked.context_mode.unwrap_or_default(),
            asked: Arc::new(asked),
            parent,
            stage: Mutex::new(stage),
            settling: tokio::sync::Mutex::new(()),
            prepared: None,
            watched: Arc::default(),
            renewal: Mutex::new(None),
        }
    }

    /// Names the spawn for ever; a child's end is told by it.
    pub fn spawn_id(&self) -> &str {
        &self.asked.spawn_id
    }

    /// Whether the engine has prepared the child, and still holds that.
    pub fn is_prepared(&self) -> bool {
        self.prepared.is_some() && !self.watched.is_lost()
    }

    /// How much the child sees. A preparation that the engine gave up meanwhile leaves nothing to
    /// inherit (R9.2).
    pub fn context_mode(&self) -> ContextMode {
        if self.watched.is_lost() {
            return ContextMode::Isolated;
        }
        self.mode
    }

    /// What the engine adds to the child's system prompt.
    pub fn system_prompt_addition(&self) -> Option<&str> {
        self.prepared.as_ref()?.addition.as_deref()
    }

    /// The host's own queue has the child, durably: it is not rolled back when this process ends, and
    /// the next one takes it up with [`Subagents::recover`](super::Subagents::recover). Cancelling it
    /// there is [`Spawn::roll_back`].
    pub fn queued(&self) {
        let mut stage = self.lock();
        if *stage == Stage::Open {
            *stage = Stage::Queued;
        }
    }

    /// The child runs. On the disk when this returns; the outbox tells the engine.
    ///
    /// # Errors
    /// [`SpawnError::Settled`] where it was rolled back before, [`SpawnError::Journal`] where it could
    /// not be written down: the child runs, and the engine learns it from the child's first hook.
    pub async fn started(&self) -> Result<(), SpawnError> {
        if self.watched.is_lost() {
            let spawn_id = self.spawn_id();
            tracing::warn!(spawn_id, "the preparation expired: the child runs isolated");
            self.forget_as(Stage::Settled(SpawnOutcome::Started)).await;
            return Ok(());
        }
        self.settle(SpawnOutcome::Started).await
    }

    /// The child will never run. Says whether the engine will be told; what went wrong is logged, for
    /// the error that the host reports is the one that made it roll back. Only the first of several
    /// calls does anything.
    pub async fn roll_back(&self) -> bool {
        match self.settle(SpawnOutcome::RolledBack).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(spawn_id = self.spawn_id(), %error, "a spawn was not rolled back");
                false
            }
        }
    }

    async fn settle(&self, outcome: SpawnOutcome) -> Result<(), SpawnError> {
        let _one = self.settling.lock().await;
        match *self.lock() {
            Stage::Unprepared => return Ok(()),
            Stage::Settled(before) if before == outcome => return Ok(()),
            Stage::Settled(outcome) => return Err(SpawnError::Settled { outcome }),
            Stage::Open | Stage::Queued | Stage::Settling(_) => {}
        }
        *self.lock() = Stage::Settling(outcome);
        self.stop_renewing();
        let written = self.inner.outbox.settle_spawn(self.spawn_id(), outcome);
        match written.await {
            Ok(()) => {
                *self.lock() = Stage::Settled(outcome);
                Ok(())
            }
            // Somebody else said so before, or the engine has it already.
            Err(OutboxError::Collision { .. }) => {
                let outcome = other(outcome);
                *self.lock() = Stage::Settled(outcome);
                Err(SpawnError::Settled { outcome })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn journal(&self) -> Result<(), SpawnError> {
        let (to, outbox) = (self.inner.to.clone(), &self.inner.outbox);
        let written = outbox.journal_spawn(to, &self.parent, &self.asked).await;
        if written.is_err() {
            // Nothing was asked and nothing is written: there is nothing to settle.
            *self.lock() = Stage::Unprepared;
        }
        Ok(written?)
    }

    /// Asks the engine. A renewal has no place in the host's order (R7.9).
    pub(super) async fn ask(&self, is_renewal: bool) -> Result<Answer, CallError> {
        let call = call(&self.parent, &self.asked, is_renewal);
        self.inner.hooks.call(call).await
    }

    pub(super) fn prepared(&mut self, prepared: Prepared) {
        self.prepared = Some(prepared);
        self.renew(false);
    }

    /// One that another process left in its queue.
    pub(super) fn taken_up(
        inner: Arc<Inner>,
        asked: PrepareSubagentSpawn,
        parent: Session,
    ) -> Self {
        let mut spawn = Self::of((inner, asked, parent), Stage::Queued);
        spawn.prepared = Some(Prepared { addition: None });
        spawn.renew(true);
        spawn
    }

    fn renew(&self, at_once: bool) {
        // Not the outbox: whoever drops the last of it has closed the file.
        let (hooks, parent) = (self.inner.hooks.clone(), self.parent.clone());
        let asked = Arc::clone(&self.asked);
        let ask = move || {
            let call = call(&parent, &asked, true);
            let hooks = hooks.clone();
            async move { hooks.call(call).await }
        };
        let renewal = Renewal::start(self.asked.ttl, at_once, Arc::clone(&self.watched), ask);
        *self.renewal.lock().unwrap_or_else(PoisonError::into_inner) = Some(renewal);
    }

    fn stop_renewing(&self) {
        let mut renewal = self.renewal.lock().unwrap_or_else(PoisonError::into_inner);
        drop(renewal.take());
    }

    /// The engine knows nothing of it.
    pub(super) async fn forget(&self) {
        self.forget_as(Stage::Unprepared).await;
    }

    async fn forget_as(&self, stage: Stage) {
        let _one = self.settling.lock().await;
        self.stop_renewing();
        if let Err(error) = self.inner.outbox.forget_spawn(self.spawn_id()).await {
            // The next process finds it and rolls back what nobody knows: that leaves a tombstone.
            tracing::warn!(spawn_id = self.spawn_id(), %error, "a spawn stays in the journal");
        }
        *self.lock() = stage;
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Spawn {
    fn drop(&mut self) {
        let outcome = match *self.lock() {
            Stage::Unprepared | Stage::Queued | Stage::Settled(_) => return,
            Stage::Open => SpawnOutcome::RolledBack,
            Stage::Settling(outcome) => outcome,
        };
        let (outbox, spawn_id) = (self.inner.outbox.clone(), self.asked.spawn_id.clone());
        // Without a runtime the next process finds it in the journal.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = outbox.settle_spawn(&spawn_id, outcome).await {
                tracing::debug!(spawn_id, %error, "a dropped spawn was not settled");
            }
        });
    }
}

fn call(parent: &Session, asked: &PrepareSubagentSpawn, is_renewal: bool) -> Call {
    let deadline = Hook::PrepareSubagentSpawn.profile().deadline;
    Call {
        operation: Some(OPERATION.to_owned()),
        is_unordered: is_renewal,
        ..Call::new(parent.clone(), asked.clone().into(), deadline)
    }
}

fn other(outcome: SpawnOutcome) -> SpawnOutcome {
    match outcome {
        SpawnOutcome::Started => SpawnOutcome::RolledBack,
        SpawnOutcome::RolledBack => SpawnOutcome::Started,
    }
}
