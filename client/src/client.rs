//! A client of one engine.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{Dispose, Hook, Host, InvalidId, Session, SessionId, Transcript};
use contextwire_proto::handshake::EngineDescription;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::call::Served;
use crate::describe::Acquaintance;
use crate::endpoint;
use crate::error::CallError;
use crate::hooks::{Hooks, Terms};
use crate::observer::Observer;
use crate::options::ClientOptions;
use crate::order::HostOrder;
use crate::stack::{Gauges, stack};
use crate::target::Target;
use crate::trace_parent::TraceParent;

/// Between two questions to an engine that is not ready.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A client of one engine, with all its [`Hooks`]. Cheap to clone; clones share the connection and
/// what is known.
///
/// Nothing is connected before the first call.
#[derive(Clone, Debug)]
pub struct EngineClient {
    hooks: Hooks,
    pub(crate) known: Arc<Acquaintance>,
    pub(crate) gauges: Arc<Gauges>,
}

impl Deref for EngineClient {
    type Target = Hooks;

    fn deref(&self) -> &Hooks {
        &self.hooks
    }
}

impl EngineClient {
    /// A client with the default options.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn new(target: &Target) -> Result<Self, CallError> {
        Self::with_options(target, &ClientOptions::default())
    }

    /// A client with these options.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn with_options(target: &Target, options: &ClientOptions) -> Result<Self, CallError> {
        Self::watched(target, options, Arc::default())
    }

    /// The same, telling of news.
    pub(crate) fn watched(
        target: &Target,
        options: &ClientOptions,
        changed: Arc<Notify>,
    ) -> Result<Self, CallError> {
        let endpoints = endpoint::of(target, options);
        let (known, endpoints) = endpoints.map_err(|error| {
            CallError::Unsupported(format!("`{target}` is no address: {error}"))
        })?;
        let order = Arc::new(HostOrder::starting_after(options.last_host_epoch));
        let id = known.bar().engine_id().to_owned();
        let observer = Arc::new(Observer::new(id, options.metrics.clone(), changed));
        let gauges = Gauges::new((Arc::clone(&known), order, observer), endpoints, options);
        Ok(Self {
            hooks: Hooks::new(stack(&gauges, options), Terms::default()),
            known,
            gauges: Arc::new(gauges),
        })
    }

    /// Asks the engine what it is.
    ///
    /// # Errors
    /// When it cannot be reached within `deadline`, or its description breaks the contract.
    pub async fn describe(&self, deadline: Duration) -> Result<Arc<EngineDescription>, CallError> {
        self.known.ask(deadline).await
    }

    /// Asks the engine what it is until it answers: for an engine that was just started, here or by
    /// somebody else.
    ///
    /// # Errors
    /// The last failure, when it does not answer `within` this time.
    pub async fn ready(&self, within: Duration) -> Result<Arc<EngineDescription>, CallError> {
        let ends = Instant::now() + within;
        loop {
            let left = ends.saturating_duration_since(Instant::now());
            match self
                .describe(left.min(Hook::Describe.profile().deadline))
                .await
            {
                Err(_) if Instant::now() + BETWEEN_LOOKS < ends => sleep(BETWEEN_LOOKS).await,
                outcome => return outcome,
            }
        }
    }

    /// What the engine is; asked only while nobody knows, or what it said is no longer valid.
    ///
    /// # Errors
    /// As [`EngineClient::describe`], within the deadline of that hook.
    pub async fn engine(&self) -> Result<Arc<EngineDescription>, CallError> {
        self.known.engine().await
    }

    /// What the engine is, where somebody knows; asks nobody.
    pub fn known(&self) -> Option<Arc<EngineDescription>> {
        self.known.current()
    }

    /// The epoch of this host's order. A host that stores it gives it back as
    /// [`ClientOptions::last_host_epoch`] when it starts again, so that no clock set back puts it
    /// below its own past (R7.9).
    pub fn host_epoch(&self) -> u64 {
        self.gauges.order.epoch()
    }

    /// A client of the same engine whose calls tell it of the host's stored log: an engine that is
    /// behind asks for it within the call and gets what it lacks (R3.3). Costs a state a call.
    #[must_use]
    pub fn with_log(&self, log: Transcript) -> Self {
        self.on(|terms| terms.log = Some(log))
    }

    /// A client of the same engine whose streaming calls serve what the engine asks back: rewriting
    /// stored entries, asking the model, reading the log, compacting (R1.6). The host is one
    /// session's; see [`SessionHost`](crate::SessionHost).
    #[must_use]
    pub fn with_host(&self, host: Host) -> Self {
        self.on(|terms| terms.host = host)
    }

    /// A client of the same engine whose calls belong to this span of the host's own trace (R1.10).
    /// Without one each call is a trace of its own.
    #[must_use]
    pub fn with_trace(&self, trace: TraceParent) -> Self {
        self.on(|terms| terms.trace = Some(trace))
    }

    /// A client of the same engine whose calls belong to this logical turn: once an Assemble of it
    /// fails, or anything else on the way, the rest of it is served in the engine's place
    /// (R7.4). Without a name, an Assemble before a prompt begins a turn.
    #[must_use]
    pub fn turn(&self, logical_turn_id: &str) -> Self {
        self.on(|terms| terms.turn = Some(logical_turn_id.into()))
    }

    /// Tells the engine that this host goes away.
    ///
    /// # Errors
    /// Any failure of the engine, worth a warning. An engine without the method is not told.
    pub async fn dispose(&self) -> Result<Served<()>, CallError> {
        let host_instance = self.known.host_instance().to_owned();
        let named = |error: InvalidId| CallError::Unsupported(error.to_string());
        let session = Session::new(SessionId::new(host_instance.as_str()).map_err(named)?);
        self.send(&session, Dispose { host_instance }).await
    }

    fn on(&self, change: impl FnOnce(&mut Terms)) -> Self {
        Self {
            hooks: self.hooks.on(change),
            ..self.clone()
        }
    }

    /// What the engine is, waited for no longer than a description may take.
    pub(crate) async fn introduced(&self) -> Result<Arc<EngineDescription>, CallError> {
        let share = Hook::Describe.profile().deadline;
        let asked = tokio::time::timeout(share, self.engine()).await;
        asked.unwrap_or(Err(CallError::DeadlineExceeded { share }))
    }
}
