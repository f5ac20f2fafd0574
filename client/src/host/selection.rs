//! Which engine a call goes to: the slot, the registry, and one client an engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use contextwire_engine::{ContextEngine, EngineInfo};
use tokio::sync::Notify;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

use super::refuse::Refuse;
use crate::call::{Answer, Call};
use crate::client::EngineClient;
use crate::deadline::DeadlineLayer;
use crate::error::CallError;
use crate::fallback::FallbackLayer;
use crate::in_process::InProcess;
use crate::info_file;
use crate::layer::Pending;
use crate::observer::Observer;
use crate::options::{ClientOptions, OnEngineFailure};
use crate::registry::{
    BUILT_IN, Downgrade, EngineRegistry, Lifecycle, Registration, RegistrationError, Resolution,
};
use crate::stack::Stack;
use crate::status::{EngineStatus, HostStatus};
use crate::trace::Trace;
use crate::wall_clock::now_ms;

/// The engines of one host.
#[derive(Debug)]
pub(super) struct Selection {
    registry: EngineRegistry,
    options: ClientOptions,
    state_dir: Option<PathBuf>,
    slot: Mutex<Option<String>>,
    /// Clients by id, with what they were made for.
    clients: Mutex<BTreeMap<String, (Registration, EngineClient)>>,
    /// What stands in for a slot that comes to nobody.
    fallback: FallbackLayer,
    /// Notes the calls that no client of an engine sees.
    observer: Arc<Observer>,
    pub(super) changed: Arc<Notify>,
    #[cfg(feature = "outbox")]
    pub(super) outbox: Option<crate::outbox::Outbox>,
}

/// Where a call goes.
#[derive(Clone, Debug)]
pub(super) enum Route {
    /// To the engine in this process.
    BuiltIn,
    /// To this engine; boxed, since it is large.
    Engine(Registration, Box<EngineClient>),
    /// To whoever stands in.
    Refused(Refuse),
}

impl Selection {
    pub(super) fn new(
        registry: EngineRegistry,
        options: ClientOptions,
        state_dir: Option<PathBuf>,
    ) -> Self {
        let changed = Arc::<Notify>::default();
        let metrics = options.metrics.clone();
        Self {
            registry,
            fallback: FallbackLayer::of(&options, None),
            observer: Arc::new(Observer::new(
                BUILT_IN.to_owned(),
                metrics,
                Arc::clone(&changed),
            )),
            options,
            state_dir,
            slot: Mutex::default(),
            clients: Mutex::default(),
            changed,
            #[cfg(feature = "outbox")]
            outbox: None,
        }
    }

    pub(super) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(super) fn register(&self, registration: Registration) -> Result<(), RegistrationError> {
        let id = registration.id.clone();
        self.registry.register(registration)?;
        // A new resolution starts with nothing learnt.
        self.lock_clients().remove(&id);
        self.changed.notify_one();
        Ok(())
    }

    pub(super) fn remove_owner(&self, owner: &str) -> Vec<String> {
        let removed = self.registry.remove_owner(owner);
        let mut clients = self.lock_clients();
        for id in &removed {
            clients.remove(id);
        }
        drop(clients);
        if removed.contains(&self.selected()) {
            self.select(None);
        }
        removed
    }

    pub(super) fn select(&self, id: Option<&str>) {
        *self.lock_slot() = id.map(str::to_owned);
        self.changed.notify_one();
        #[cfg(feature = "outbox")]
        if let Some(outbox) = &self.outbox {
            // What waited for the engine goes first.
            outbox.wake();
        }
    }

    /// The id that the slot comes to.
    pub(super) fn selected(&self) -> String {
        let slot = self.lock_slot();
        let id = slot.as_deref().map(str::trim).filter(|id| !id.is_empty());
        id.unwrap_or(BUILT_IN).to_owned()
    }

    pub(super) fn resolution(&self) -> Resolution {
        self.registry.resolve(Some(&self.selected()))
    }

    pub(super) fn engine(&self, id: &str) -> Result<EngineClient, CallError> {
        let registrations = self.registry.registrations().into_iter();
        let Some(registration) = registrations.into_iter().find(|it| it.id == id) else {
            let why = format!("nobody registered an engine `{id}`");
            return Err(CallError::Unsupported(why));
        };
        self.client(&registration)
    }

    /// The client of an engine that is registered for use.
    #[cfg(feature = "outbox")]
    pub(super) fn usable(&self, id: &str) -> Option<EngineClient> {
        let mut registrations = self.registry.registrations().into_iter();
        let usable = |it: &Registration| it.id == id && it.lifecycle == Lifecycle::Runtime;
        self.client(&registrations.find(usable)?).ok()
    }

    /// The client of a registration; one that was made for another is gone.
    fn client(&self, registration: &Registration) -> Result<EngineClient, CallError> {
        let mut clients = self.lock_clients();
        if let Some((made_for, client)) = clients.get(&registration.id)
            && made_for == registration
        {
            return Ok(client.clone());
        }
        let folder = self.state_dir.as_deref();
        let options = ClientOptions {
            info_file: folder.map(|folder| info_file::path_in(folder, &registration.id)),
            ..self.options.clone()
        };
        let changed = Arc::clone(&self.changed);
        let client = self.registry.watched(registration, &options, changed)?;
        let kept = (registration.clone(), client.clone());
        clients.insert(registration.id.clone(), kept);
        Ok(client)
    }

    pub(super) fn clients(&self) -> Vec<EngineClient> {
        let clients = self.lock_clients();
        clients.values().map(|(_, client)| client.clone()).collect()
    }

    /// Where a call goes now.
    pub(super) fn route(&self) -> Result<Route, CallError> {
        let engine_id = self.selected();
        let registration = match self.registry.resolve(Some(&engine_id)) {
            Resolution::BuiltIn | Resolution::Downgraded(Downgrade::Disabled) => {
                return Ok(Route::BuiltIn);
            }
            Resolution::Engine(registration) => registration,
            Resolution::Downgraded(why) => {
                // A barred engine's own client knows which of its hooks are absent, and may probe.
                let barred = matches!(why, Downgrade::Quarantined(_));
                let registrations = self.registry.registrations().into_iter();
                let usable = |it: &Registration| {
                    barred && it.id == engine_id && it.lifecycle == Lifecycle::Runtime
                };
                match registrations.into_iter().find(usable) {
                    Some(registration) => registration,
                    None => return Ok(Route::Refused(Refuse::Downgraded { engine_id, why })),
                }
            }
        };
        let client = Box::new(self.client(&registration)?);
        Ok(Route::Engine(registration, client))
    }

    /// Where a turn by lease goes, and why not to its engine: quarantine is neither read nor written.
    pub(super) fn leased_route(&self) -> (Route, Option<String>) {
        let id = self.selected();
        if id == BUILT_IN {
            return (Route::BuiltIn, None);
        }
        let mut registrations = self.registry.registrations().into_iter();
        let nobody = |reason: String| {
            let refuse = Refuse::Degraded {
                reason: reason.clone(),
            };
            (Route::Refused(refuse), Some(reason))
        };
        match registrations.find(|it| it.id == id) {
            None => nobody("not registered".to_owned()),
            Some(it) if it.lifecycle == Lifecycle::Disabled => (Route::BuiltIn, None),
            Some(it) if it.lifecycle == Lifecycle::ReadOnlyDiscovery => {
                nobody("available for discovery only".to_owned())
            }
            Some(it) => match self.client(&it) {
                Ok(client) => (Route::Engine(it, Box::new(client)), None),
                Err(error) => nobody(error.to_string()),
            },
        }
    }

    /// The stack at the end of a route.
    pub(super) fn stack(&self, route: &Route) -> Stack {
        match route {
            Route::Engine(_, client) => client.stack().clone(),
            Route::BuiltIn => self.built_in(),
            Route::Refused(refuse) => self.refusing(refuse.clone()),
        }
    }

    /// The engine of this process; nobody stands in for it.
    fn built_in(&self) -> Stack {
        let Some(engine) = self.options.built_in.clone() else {
            return Stack::new(self.traced().layer(Refuse::NoBuiltIn));
        };
        let engine = DeadlineLayer.layer(InProcess(engine));
        Stack::new(self.traced().layer(engine))
    }

    fn refusing(&self, refuse: Refuse) -> Stack {
        match self.options.on_engine_failure {
            OnEngineFailure::Fail => Stack::new(self.traced().layer(refuse)),
            OnEngineFailure::Substitute => {
                let answered = self.fallback.layer(refuse);
                Stack::new(self.traced().layer(answered))
            }
        }
    }

    fn traced(&self) -> Trace {
        Trace(Arc::clone(&self.observer))
    }

    pub(super) fn active_info(&self) -> Option<EngineInfo> {
        let built_in = || {
            let engine = self.options.built_in.as_ref();
            engine.map(ContextEngine::info)
        };
        match self.route() {
            Ok(Route::Engine(_, client)) => client.active_info(),
            Ok(Route::BuiltIn | Route::Refused(_)) | Err(_) => built_in(),
        }
    }

    pub(super) fn status(&self) -> HostStatus {
        let selected = self.selected();
        let inactive_because = match self.registry.resolve(Some(&selected)) {
            Resolution::BuiltIn | Resolution::Engine(_) => None,
            Resolution::Downgraded(Downgrade::Disabled) => Some("it is switched off".to_owned()),
            Resolution::Downgraded(why) => {
                let engine_id = selected.clone();
                Some(Refuse::Downgraded { engine_id, why }.error().to_string())
            }
        };
        let active = match inactive_because {
            None => selected.clone(),
            Some(_) => BUILT_IN.to_owned(),
        };
        let registrations = self.registry.registrations().into_iter();
        let clients = registrations.filter_map(|it| self.client(&it).ok());
        let engines = clients.map(|client| {
            let status = client.status();
            EngineStatus {
                selected: status.id == selected,
                active: status.id == active,
                ..status
            }
        });
        HostStatus {
            at_ms: now_ms(),
            host: self.options.host_id.clone(),
            pid: std::process::id(),
            engines: engines.collect(),
            #[cfg(feature = "outbox")]
            outbox: super::outbox::status(self, &selected),
            #[cfg(not(feature = "outbox"))]
            outbox: None,
            selected,
            active,
            inactive_because,
        }
    }

    fn lock_slot(&self) -> MutexGuard<'_, Option<String>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_clients(&self) -> MutexGuard<'_, BTreeMap<String, (Registration, EngineClient)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends each call where the slot comes to at that moment.
#[derive(Clone, Debug)]
pub(super) struct Selected(pub(super) Arc<Selection>);

impl Service<Call> for Selected {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Pending {
        let selection = Arc::clone(&self.0);
        Box::pin(async move {
            let stack = selection.stack(&selection.route()?);
            BoxCloneSyncService::oneshot(stack, call).await
        })
    }
}
