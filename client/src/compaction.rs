//! A compaction as a host runs it: what it asks for, how long it waits, and where the conversation
//! goes on (HOST-SEMANTICS 10).

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    Cancellation, Compact, Compacted, EngineInfo, Hook, HookContext, MaintainReason, Maintained,
    MaintenanceMode, RuntimeContext, RuntimeSettings, Session, TokenBudget,
};

pub use contextwire_legacy::{
    CompactionError, DEFAULT_TIMEOUT, Delegated, NativeSession, Preflight, SafetyWindow,
    SuccessorError, Trigger, delegated, safety_timeout,
};

use contextwire_legacy::AfterCompaction;

use crate::call::{Served, ServedBy};
use crate::error::CallError;
use crate::hooks::Hooks;
use crate::maintenance::{Maintenance, MaintenanceOffer, Offered, SupersededBy};

/// A compaction that a host wants.
#[derive(Clone, Debug)]
pub struct CompactionRun {
    /// What made the host ask.
    pub trigger: Trigger,
    /// Ceiling in tokens.
    pub budget: Option<TokenBudget>,
    /// The host's view of the runtime.
    pub settings: Option<RuntimeSettings>,
    /// Facts of the operation.
    pub facts: RuntimeContext,
    /// How long the engine may take. Whoever compacts in its place has a time of its own.
    pub timeout: Duration,
    /// The window that whoever serves delegated compactions restarts with each stage
    /// ([`SessionHost::with_window`](crate::SessionHost::with_window)). Absent: none is served.
    pub window: Option<Arc<SafetyWindow>>,
    /// Ends it at once.
    pub cancellation: Cancellation,
    /// What the engine says of itself, where somebody knows.
    pub engine: Option<EngineInfo>,
    /// Whether it may be left to background maintenance.
    pub may_be_deferred: bool,
    /// Whether a turn of the session is under way: then a manual one is refused.
    pub is_run_active: bool,
}

impl CompactionRun {
    /// A run with three minutes, that nobody delegates or defers.
    pub fn new(trigger: Trigger) -> Self {
        Self {
            trigger,
            budget: None,
            settings: None,
            facts: RuntimeContext::default(),
            timeout: DEFAULT_TIMEOUT,
            window: None,
            cancellation: Cancellation::new(),
            engine: None,
            may_be_deferred: false,
            is_run_active: false,
        }
    }

    fn request(&self) -> Compact {
        let request = self
            .trigger
            .clone()
            .request(self.budget, self.facts.clone());
        Compact {
            runtime_settings: self.settings.clone(),
            ..request
        }
    }

    /// Whether the engine does it beside the conversation instead: it owns compaction, maintains in
    /// the background, and nothing requires it now.
    fn is_deferred(&self) -> bool {
        let suits = |engine: &EngineInfo| {
            engine.owns_compaction
                && engine.turn_maintenance_mode == MaintenanceMode::Background
                && engine.methods.contains(&Hook::Maintain)
        };
        self.may_be_deferred
            && matches!(self.trigger, Trigger::Budget { .. })
            && self.engine.as_ref().is_some_and(suits)
    }

    /// The window, and the deadline of the call in it. Without delegations the call's own deadline is
    /// the window, and whoever acts in the engine's place then has as long again as a compaction may
    /// take. With them, the call may last a stage longer, and the window decides.
    fn times(&self) -> (Arc<SafetyWindow>, Duration) {
        let stage = Hook::Compact.profile().deadline;
        if let Some(window) = &self.window {
            return (Arc::clone(window), self.timeout + stage);
        }
        let whole = SafetyWindow::new(self.timeout + stage + GRACE);
        (Arc::new(whole), self.timeout)
    }
}

/// What the answer may take beyond the deadlines that it keeps.
const GRACE: Duration = Duration::from_secs(5);

/// How a compaction ended. Nothing of it is an error: a failed one is an answer that says why.
#[derive(Clone, Debug)]
pub struct CompactionEnd {
    /// The answer.
    pub answer: Compacted,
    /// Who gave it, where somebody did.
    pub by: Option<ServedBy>,
    /// Why the engine did not.
    pub failure: Option<Arc<CallError>>,
    /// The session from now on: with `previous_id`, where it goes on in another one.
    pub session: Session,
    /// What came of the maintenance after it, where it was due.
    pub maintained: Option<Maintained>,
    /// Whether it was left to background maintenance.
    pub is_deferred: bool,
}

impl CompactionEnd {
    fn declined(session: &Session, reason: &str) -> Self {
        Self {
            answer: Compacted::declined(reason),
            by: None,
            failure: None,
            session: session.clone(),
            maintained: None,
            is_deferred: false,
        }
    }
}

/// Compacts a session: background maintenance makes way, the engine gets its time, a failure becomes
/// an answer, and after a success maintenance runs once, in the foreground, under the identity that
/// the session has then. `is_still_owner` says afterwards whether the session is still this
/// engine's: where not, nothing of the answer is accepted.
pub async fn compact(
    hooks: &Hooks,
    maintenance: &Maintenance,
    session: &Session,
    run: CompactionRun,
    is_still_owner: impl FnOnce() -> bool,
) -> CompactionEnd {
    if run.is_run_active && matches!(run.trigger, Trigger::Manual { .. }) {
        return CompactionEnd::declined(session, "active_run");
    }
    if run.is_deferred()
        && let Some(end) = defer(hooks, maintenance, session, &run)
    {
        return end;
    }
    if !run.cancellation.is_cancelled() {
        maintenance.supersede(session, SupersededBy::Compaction);
    }
    let (window, deadline) = run.times();
    let mut cx = HookContext::new(session.clone(), deadline + window_room(&run));
    cx.cancellation = run.cancellation.clone();
    let request = run.request();
    let called = window.run(&cx, |_| hooks.compact_within(session, request, deadline));
    let mut end = match called.await {
        Ok(answer) => ended(session, answer),
        Err(error) => CompactionEnd::declined(session, &error.reason()),
    };
    let after = AfterCompaction::of(session, &end.answer, is_still_owner());
    if after.runs_maintenance {
        end.session = after.session;
        end.maintained = maintain((hooks, maintenance), &end.session, &run).await;
    }
    end
}

/// What the window may last beyond the call's own deadline.
fn window_room(run: &CompactionRun) -> Duration {
    if run.window.is_some() {
        Duration::ZERO
    } else {
        Hook::Compact.profile().deadline + GRACE
    }
}

fn ended(session: &Session, answer: Result<Served<Compacted>, CallError>) -> CompactionEnd {
    match answer {
        Ok(served) => CompactionEnd {
            answer: served.result,
            by: Some(served.by),
            failure: served.reason,
            session: session.clone(),
            maintained: None,
            is_deferred: false,
        },
        Err(error) => CompactionEnd {
            answer: Compacted::declined(error.to_string()),
            failure: Some(Arc::new(error)),
            ..CompactionEnd::declined(session, "")
        },
    }
}

/// Nothing where the engine has no such method, it failed, or a worker of the session does it next.
async fn maintain(
    (hooks, maintenance): (&Hooks, &Maintenance),
    session: &Session,
    run: &CompactionRun,
) -> Option<Maintained> {
    let mode = MaintenanceMode::Foreground;
    let mut offer = MaintenanceOffer::new(session.clone(), MaintainReason::Compaction, mode);
    offer.request.runtime_settings.clone_from(&run.settings);
    offer.request.runtime_context = Some(run.facts.clone());
    if let Offered::Done(maintained) = maintenance.offer(hooks, offer).await {
        return Some(maintained);
    }
    None
}

/// Leaves it to background maintenance; nothing where that cannot be.
fn defer(
    hooks: &Hooks,
    maintenance: &Maintenance,
    session: &Session,
    run: &CompactionRun,
) -> Option<CompactionEnd> {
    let mode = MaintenanceMode::Background;
    let mut offer = MaintenanceOffer::new(session.clone(), MaintainReason::Turn, mode);
    offer.request.runtime_settings.clone_from(&run.settings);
    let facts = run.request().runtime_context;
    offer.request.runtime_context = facts;
    match maintenance.schedule(hooks, offer) {
        Offered::Scheduled | Offered::Coalesced => Some(CompactionEnd {
            answer: Compacted {
                ok: true,
                reason: Some("deferred to background maintenance".to_owned()),
                ..Compacted::default()
            },
            is_deferred: true,
            ..CompactionEnd::declined(session, "")
        }),
        Offered::Refused(_) | Offered::Done(_) | Offered::Skipped | Offered::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests;
