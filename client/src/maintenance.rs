//! Maintenance as a host runs it: in the foreground, or beside the conversation by one worker a
//! session key (HOST-SEMANTICS 8, R7.9).
//!
//! Whatever is offered while a worker runs comes to one more run, with the newest parameters. Only a
//! compaction, a rewrite or the end of the session supersedes a run, and that is no failure. No run
//! outlives [`Maintenance::close`], and none the last clone.

mod task;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    Maintain, MaintainReason, Maintained, MaintenanceMode, RuntimeContext, Session, SessionId,
};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use task::{MaintenanceTask, TaskState};

use crate::call::Served;
use crate::error::CallError;
use crate::hooks::Hooks;
use worker::{Job, Workers};

/// A background run that is longer shows itself to the user (HOST-SEMANTICS 8).
pub const SHOWN_AFTER: Duration = Duration::from_secs(10);

/// The maintenance of a host's sessions. Cheap to clone; clones are one.
#[derive(Clone, Debug)]
pub struct Maintenance {
    workers: Arc<Workers>,
    /// Ends all workers when the last clone is gone.
    _ends: Arc<DropGuard>,
}

/// Maintenance that is due.
#[derive(Clone, Debug)]
pub struct MaintenanceOffer {
    /// The session; beside the conversation it needs a key.
    pub session: Session,
    /// What is asked; whether it runs in the background is decided here.
    pub request: Maintain,
    /// How the engine wants what follows a turn.
    pub mode: MaintenanceMode,
    /// Whether the transcript is stored: nobody rewrites one that only its caller has beside it.
    pub is_durable: bool,
}

/// What became of an offer.
#[derive(Clone, Debug)]
pub enum Offered {
    /// The engine did it.
    Done(Maintained),
    /// The engine has no such method, or is not there: nothing was done.
    Skipped,
    /// It failed; the turn is none the worse.
    Failed(Arc<CallError>),
    /// It runs beside the conversation.
    Scheduled,
    /// A run is under way; one more follows it, with these parameters.
    Coalesced,
    /// It cannot run beside the conversation.
    Refused(Refusal),
}

/// Why nothing was scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Workers go by the session's key.
    #[error("background maintenance needs a session key")]
    NoSessionKey,
    /// The host goes away.
    #[error("the host goes away: no maintenance is scheduled any more")]
    Closing,
}

/// What puts an end to a background run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupersededBy {
    /// A compaction in the foreground.
    Compaction,
    /// The host rewrites the transcript.
    Rewrite,
    /// The session is over.
    SessionEnd,
}

impl Default for Maintenance {
    fn default() -> Self {
        let stop = CancellationToken::new();
        Self {
            workers: Arc::new(Workers::new(stop.clone())),
            _ends: Arc::new(stop.drop_guard()),
        }
    }
}

impl MaintenanceOffer {
    /// Maintenance of a stored session, as its engine wants it.
    pub fn new(session: Session, reason: MaintainReason, mode: MaintenanceMode) -> Self {
        Self {
            session,
            request: Maintain {
                reason,
                ..Maintain::default()
            },
            mode,
            is_durable: true,
        }
    }

    /// Whether it runs beside the conversation: only what follows a turn, where the engine wants it
    /// so and the transcript is stored.
    pub fn is_background(&self) -> bool {
        self.request.reason == MaintainReason::Turn
            && self.mode == MaintenanceMode::Background
            && self.is_durable
    }

    fn job(mut self, hooks: &Hooks) -> Job {
        let facts = self.request.runtime_context.get_or_insert_default();
        facts.allow_deferred_compaction_execution = Some(true);
        self.request.background = true;
        Job {
            hooks: hooks.clone(),
            session: self.session,
            request: self.request,
        }
    }
}

impl Maintenance {
    /// Offers maintenance. In the foreground this waits for the engine; beside the conversation it
    /// returns at once. One in the foreground that meets a worker of its session comes to that
    /// worker's next run. Call it inside a tokio runtime.
    pub async fn offer(&self, hooks: &Hooks, offer: MaintenanceOffer) -> Offered {
        let key = offer.session.key.clone().filter(|key| !key.is_empty());
        if offer.is_background() {
            return self.schedule(hooks, offer);
        }
        if key.is_some_and(|key| self.workers.is_active(&key)) {
            return self.schedule(hooks, offer);
        }
        let mut request = offer.request;
        request.background = false;
        if let Some(facts) = &mut request.runtime_context {
            facts.allow_deferred_compaction_execution = None;
        }
        let outcome = outcome(hooks.maintain(&offer.session, request).await);
        note(&outcome);
        outcome
    }

    /// Runs it beside the conversation, whatever it follows: what a host defers.
    pub(crate) fn schedule(&self, hooks: &Hooks, offer: MaintenanceOffer) -> Offered {
        let key = offer.session.key.clone().filter(|key| !key.is_empty());
        let Some(key) = key else {
            let refusal = Refusal::NoSessionKey;
            tracing::warn!(error = %refusal, "maintenance is skipped");
            return Offered::Refused(refusal);
        };
        self.workers.take(key, offer.job(hooks))
    }

    /// Offers maintenance after turns were delivered by an outbox: once for each session that has one
    /// of them acknowledged, stored now or before, with the facts of its newest turn.
    pub async fn offer_after_drain(
        &self,
        hooks: &Hooks,
        mode: MaintenanceMode,
        acknowledged: impl IntoIterator<Item = (Session, Option<RuntimeContext>)>,
    ) -> Vec<(SessionId, Offered)> {
        let mut sessions: Vec<(Session, Option<RuntimeContext>)> = Vec::new();
        for (session, facts) in acknowledged {
            sessions.retain(|(known, _)| known.id != session.id);
            sessions.push((session, facts));
        }
        let mut offered = Vec::with_capacity(sessions.len());
        for (session, facts) in sessions {
            let id = session.id.clone();
            let mut offer = MaintenanceOffer::new(session, MaintainReason::Turn, mode);
            offer.request.runtime_context = facts;
            offered.push((id, self.offer(hooks, offer).await));
        }
        offered
    }

    /// Ends the background run of a session, and drops what was to follow it. The engine is told with
    /// a cancel; its rewrites are guarded by what they expect.
    pub fn supersede(&self, session: &Session, by: SupersededBy) {
        if let Some(key) = &session.key
            && self.workers.supersede(key)
        {
            tracing::debug!(?by, "background maintenance is superseded");
        }
    }

    /// The newest task of each session key, as it is now.
    pub fn tasks(&self) -> Vec<MaintenanceTask> {
        self.workers.tasks()
    }

    /// Ends when no worker runs, reruns included.
    pub async fn settled(&self) {
        self.workers.settled().await;
    }

    /// Schedules nothing any more, cancels what runs, and waits for it.
    pub async fn close(&self) {
        self.workers.close().await;
    }
}

/// What the answer to a Maintain means.
fn outcome(answer: Result<Served<Maintained>, CallError>) -> Offered {
    match answer {
        Ok(served) => match served.reason {
            None => Offered::Done(served.result),
            Some(reason) if matches!(*reason, CallError::Absent { .. }) => Offered::Skipped,
            Some(reason) => Offered::Failed(reason),
        },
        Err(error) => Offered::Failed(Arc::new(error)),
    }
}

fn note(outcome: &Offered) {
    match outcome {
        Offered::Done(done) if done.changed => {
            let (entries, bytes) = (done.rewritten_entries, done.bytes_freed);
            tracing::info!(entries, bytes, "maintenance rewrote entries");
        }
        Offered::Failed(error) => {
            tracing::warn!(code = error.code(), %error, "maintenance failed");
        }
        Offered::Done(_)
        | Offered::Skipped
        | Offered::Scheduled
        | Offered::Coalesced
        | Offered::Refused(_) => {}
    }
}

#[cfg(test)]
mod tests;
