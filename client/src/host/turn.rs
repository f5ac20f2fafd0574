//! A logical turn: one engine from its beginning to its end (HOST-SEMANTICS 3.8, R7.4).

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use contextwire_engine::{HookId, Host as Calls, Session, Transcript, TurnAdmission};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use super::Host;
use super::lease::{Lease, TurnEngine, TurnError};
use super::refuse::Refuse;
use super::selection::{Route, Selection};
use crate::call::{Answer, Call, TurnName};
use crate::error::CallError;
use crate::hooks::Hooks;
use crate::layer::{Pending, at_once};
use crate::options::{OnEngineFailure, Policy};
use crate::registry::BUILT_IN;
use crate::trace_parent::TraceParent;

/// How a turn is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a turn, and it is moved once"
)]
pub enum Admission {
    /// The host records no turns; the text names this one.
    Unrecorded(String),
    /// The host records them: the receipt of the user message. Its engine has to fence the current
    /// turn and to store closed turns.
    Recorded(TurnAdmission),
    /// The user message is stored, and the receipt of it is not to be had; the text names the turn.
    WithoutReceipt(String),
}

impl Admission {
    fn name(&self) -> TurnName {
        match self {
            Self::Unrecorded(name) | Self::WithoutReceipt(name) => name.as_str().into(),
            Self::Recorded(admission) => admission.logical_turn_id.as_str().into(),
        }
    }

    fn is_recorded(&self) -> bool {
        !matches!(self, Self::Unrecorded(_))
    }
}

/// A turn of one session, with all the [`Hooks`], which go to the engine that the turn began with.
/// Clones are one turn; it ends with [`Turn::end`] or with the last clone.
///
/// Once an Assemble of the turn fails, or anything else on the way to the engine, the rest of it is
/// served in the engine's place with the code `TURN_DEGRADED`: a conversation does not change its
/// engine between two tool rounds. What is stored is still stored (`commit_turn` goes to the engine),
/// and the next turn has its engine again.
#[derive(Clone, Debug)]
pub struct Turn {
    hooks: Hooks,
    pub(super) held: Arc<Held>,
}

/// What the clones of a turn share.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) selection: Arc<Selection>,
    pub(super) session: Session,
    name: TurnName,
    pub(super) route: Route,
    lease: Mutex<Lease>,
    /// What the host's outbox keeps of the turn.
    #[cfg(feature = "outbox")]
    pub(super) journal: Option<super::recorded::Journal>,
}

impl Deref for Turn {
    type Target = Hooks;

    fn deref(&self) -> &Hooks {
        &self.hooks
    }
}

impl Host {
    /// Begins a turn of a session. Under [`Policy::Lease`] the engine is described first, and the
    /// turn is degraded where it cannot be had, requires what this host lacks, or does not do what a
    /// recorded turn needs; no quarantine is read or written.
    ///
    /// # Errors
    /// [`CallError::Unmet`] where the engine requires what this host lacks and turns are not by
    /// lease; [`CallError::TurnDegraded`] where the turn would be degraded and nothing may be
    /// substituted.
    pub async fn turn(&self, session: &Session, admission: Admission) -> Result<Turn, CallError> {
        let selection = &self.selection;
        let by_lease = selection.options().policy == Policy::Lease;
        let (route, issue) = if by_lease {
            selection.leased_route()
        } else {
            (selection.route()?, None)
        };
        let issue = match (issue, &route) {
            (Some(issue), _) => Some(issue),
            (None, Route::Engine(..)) => self.issue(&route, &admission).await?,
            (None, Route::BuiltIn | Route::Refused(_)) => None,
        };
        #[cfg(feature = "outbox")]
        selection.succession(session).await;
        #[cfg(feature = "outbox")]
        let (journal, issue) = self.journal(session, &route, (&admission, issue)).await;
        let turn = self.begin(
            session,
            admission.name(),
            route,
            #[cfg(feature = "outbox")]
            journal,
        );
        if let Some(issue) = issue {
            if selection.options().on_engine_failure == OnEngineFailure::Fail {
                return Err(CallError::TurnDegraded { reason: issue });
            }
            // Nothing has been called yet.
            let _degraded = turn.degrade_before_start(&issue).is_ok();
        }
        Ok(turn)
    }

    fn begin(
        &self,
        session: &Session,
        name: TurnName,
        route: Route,
        #[cfg(feature = "outbox")] journal: Option<super::recorded::Journal>,
    ) -> Turn {
        let (id, plugin) = match &route {
            Route::Engine(registration, _) => (
                registration.id.clone(),
                registration.plugin().map(str::to_owned),
            ),
            Route::BuiltIn => (BUILT_IN.to_owned(), None),
            Route::Refused(_) => (self.selected(), None),
        };
        let held = Arc::new(Held {
            selection: Arc::clone(&self.selection),
            session: session.clone(),
            name: Arc::clone(&name),
            route,
            lease: Mutex::new(Lease::of(id, plugin)),
            #[cfg(feature = "outbox")]
            journal,
        });
        let terms = self.hooks.terms().clone();
        let hooks = Hooks::new(BoxCloneSyncService::new(Leased(Arc::clone(&held))), terms);
        let hooks = hooks.on(|terms| {
            terms.turn = Some(name);
            // All calls of a turn are one trace.
            terms.trace = terms
                .trace
                .or_else(|| Some(TraceParent::of_hook(HookId::mint())));
        });
        Turn { hooks, held }
    }

    /// Why the turn cannot have its engine, in the order of HOST-SEMANTICS 3.8.
    async fn issue(
        &self,
        route: &Route,
        admission: &Admission,
    ) -> Result<Option<String>, CallError> {
        let options = self.selection.options();
        let by_lease = options.policy == Policy::Lease;
        let Route::Engine(_, client) = route else {
            return Ok(None);
        };
        if !by_lease && options.profile.is_none() {
            return Ok(None);
        }
        let engine = match client.introduced().await {
            Ok(engine) => engine,
            Err(error) => return Ok(by_lease.then(|| error.to_string())),
        };
        let unmet = options.profile.as_ref();
        if let Some(unmet) = unmet.and_then(|host| host.unmet(&engine.info, "agent-run")) {
            if !by_lease {
                return Err(CallError::Unmet(Box::new(unmet)));
            }
            let missing = unmet.missing.join(", ");
            let reason = format!(
                "host \"{}\" lacks required capabilities: {missing}",
                unmet.host.id
            );
            return Ok(Some(reason));
        }
        if !by_lease || !admission.is_recorded() {
            return Ok(None);
        }
        Ok(durability::issue(&engine.info, admission).map(str::to_owned))
    }
}

/// What a recorded turn needs of its engine.
pub(super) mod durability {
    use contextwire_engine::{EngineInfo, Hook};

    use super::Admission;

    /// Whether the engine stores closed turns, once each.
    #[cfg(feature = "outbox")]
    pub(in crate::host) fn is_durable(info: &EngineInfo) -> bool {
        promises(info) && info.methods.contains(&Hook::CommitTurn)
    }

    /// Whether it says that it does.
    pub(in crate::host) fn promises(info: &EngineInfo) -> bool {
        let semantics = info.transcript_semantics.as_ref();
        let said = semantics.and_then(|it| it.turn_advancement_idempotency.as_deref());
        said == Some(IDEMPOTENT)
    }

    const FENCE: &str = "before-current-turn-entry-v1";
    const IDEMPOTENT: &str = "atomic-idempotent-v1";

    pub(in crate::host) fn issue(info: &EngineInfo, admission: &Admission) -> Option<&'static str> {
        let semantics = info.transcript_semantics.clone().unwrap_or_default();
        if semantics.current_turn_fence.as_deref() != Some(FENCE) {
            return Some("current-turn transcript fencing is not declared");
        }
        if !promises(info) || !info.methods.contains(&Hook::CommitTurn) {
            return Some("durable turn advancement is not supported");
        }
        let received = !matches!(admission, Admission::WithoutReceipt(_));
        (!received).then_some("the admission receipt is unavailable")
    }
}

impl Turn {
    /// The turn's name.
    pub fn id(&self) -> &str {
        &self.held.name
    }

    /// Who serves it.
    pub fn engine(&self) -> TurnEngine {
        self.held.lock().engine().clone()
    }

    /// The turn goes on without its engine. The first reason stays, and the built-in engine is not
    /// degraded by anything.
    ///
    /// # Errors
    /// [`TurnError`] once the engine was called or the turn is over.
    pub fn degrade_before_start(&self, reason: &str) -> Result<(), TurnError> {
        let engine_id = self.engine().registered_id;
        if !self.held.lock().degrade(reason)? {
            return Ok(());
        }
        tracing::warn!(
            engine = engine_id,
            reason,
            "degraded to `legacy` for this turn only: the engine is tried again with the next one"
        );
        if let Some(client) = self.held.standing_in() {
            let name = Arc::clone(&self.held.name);
            let session = &self.held.session.id;
            client.begin_degraded(session, name, reason.to_owned());
        }
        Ok(())
    }

    /// Pins the engine; the first call does the same.
    ///
    /// # Errors
    /// [`TurnError::Over`] once the turn is over.
    pub fn begin(&self) -> Result<(), TurnError> {
        self.held.lock().begin()
    }

    /// Ends the turn: later calls of it fail with [`CallError::TurnOver`]. Doing it again changes
    /// nothing.
    pub fn end(&self) {
        self.held.lock().end();
    }

    /// The same turn telling the engine of this stored log; see
    /// [`EngineClient::with_log`](crate::EngineClient::with_log).
    #[must_use]
    pub fn with_log(&self, log: Transcript) -> Self {
        Self {
            hooks: self.hooks.on(|terms| terms.log = Some(log)),
            ..self.clone()
        }
    }

    /// The same turn serving what the engine asks; see
    /// [`EngineClient::with_host`](crate::EngineClient::with_host).
    #[must_use]
    pub fn with_host(&self, calls: Calls) -> Self {
        Self {
            hooks: self.hooks.on(|terms| terms.host = calls),
            ..self.clone()
        }
    }
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine's turns, where its own fallback answers for a degraded one.
    fn standing_in(&self) -> Option<&crate::degrade::Turns> {
        let options = self.selection.options();
        let substitutes = options.on_engine_failure == OnEngineFailure::Substitute;
        match &self.route {
            Route::Engine(_, client) if substitutes && options.policy != Policy::Direct => {
                Some(&client.gauges.turns)
            }
            Route::Engine(..) | Route::BuiltIn | Route::Refused(_) => None,
        }
    }

    /// Where the turn's calls go.
    fn route(&self) -> Result<Route, CallError> {
        let mut lease = self.lock();
        lease.begin().map_err(|_| CallError::TurnOver)?;
        let reason = lease.engine().reason.clone().unwrap_or_default();
        if lease.is_degraded() && self.standing_in().is_none() {
            return Ok(Route::Refused(Refuse::Degraded { reason }));
        }
        Ok(self.route.clone())
    }
}

/// Sends each call of a turn to the turn's engine.
#[derive(Clone, Debug)]
struct Leased(Arc<Held>);

impl Service<Call> for Leased {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Pending {
        match self.0.route() {
            Ok(route) => Box::pin(self.0.selection.stack(&route).oneshot(call)),
            Err(error) => at_once(Err(error)),
        }
    }
}
