//! How a host is put together.

use std::path::PathBuf;
use std::sync::Arc;

use contextwire_engine::AnyEngine;
use tower::util::BoxCloneSyncService;

use super::selection::{Selected, Selection};
use super::{Host, status_file};
use crate::error::CallError;
use crate::hooks::{Hooks, Terms};
use crate::maintenance::Maintenance;
use crate::metrics::Metrics;
use crate::options::{ClientOptions, CompactFallback, FallbackEngine, OnEngineFailure, Policy};
use crate::registry::{EngineRegistry, Registration, RegistrationError};
use crate::requirements::HostProfile;
use crate::target::Target;

/// Why a host could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An engine could not be registered.
    #[error("an engine was not registered")]
    Registration(#[source] RegistrationError),
    /// An engine's target cannot be written as an address.
    #[error("the target of the engine `{engine_id}` is no address")]
    Target {
        /// The engine.
        engine_id: String,
        /// What is wrong with it.
        source: CallError,
    },
    /// The outbox cannot be opened.
    #[cfg(feature = "outbox")]
    #[error("the host has no outbox")]
    Outbox(#[source] crate::outbox::OutboxError),
}

/// Puts a [`Host`] together. Everything but [`HostBuilder::engine`] has a default.
#[derive(Debug, Default)]
pub struct HostBuilder {
    options: ClientOptions,
    registry: Option<EngineRegistry>,
    registrations: Vec<Registration>,
    slot: Option<String>,
    state_dir: Option<PathBuf>,
    status_file: Option<PathBuf>,
    #[cfg(feature = "outbox")]
    pub(super) outbox: Option<(PathBuf, crate::outbox::OutboxOptions)>,
}

/// Who owns engines that the host's author names in code.
const OWNER: &str = "host";

impl HostBuilder {
    /// The host's id, for records of engines and of this host. Default: `contextwire`.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.options.host_id = id.into();
        self
    }

    /// What this host is and can. An operation for which an engine requires more is refused with
    /// the engine's advice, or under a lease served without it. Without a profile nothing is judged.
    #[must_use]
    pub fn profile(mut self, profile: HostProfile) -> Self {
        self.options.profile = Some(profile);
        self
    }

    /// An engine by the id that slots name, owned by the host. The first one is selected, unless
    /// [`HostBuilder::select`] says otherwise.
    #[must_use]
    pub fn engine(self, id: impl Into<String>, target: Target) -> Self {
        self.register(Registration::new(id, OWNER, target))
    }

    /// An engine with an owner and a lifecycle of its own.
    #[must_use]
    pub fn register(mut self, registration: Registration) -> Self {
        self.registrations.push(registration);
        self
    }

    /// The id in the slot.
    #[must_use]
    pub fn select(mut self, id: impl Into<String>) -> Self {
        self.slot = Some(id.into());
        self
    }

    /// The engine of this process, which is `legacy`: selected, it serves; otherwise it compacts
    /// where another engine does not. Default: the legacy engine, with summaries by the host's model.
    #[must_use]
    pub fn built_in(mut self, engine: AnyEngine) -> Self {
        self.options.built_in = Some(engine);
        self
    }

    /// A list of engines that others in this process share. Default: one of its own.
    #[must_use]
    pub fn registry(mut self, registry: EngineRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// How failures are judged. Default: [`Policy::Guarded`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// What happens when the engine does not answer. Default: somebody else does.
    #[must_use]
    pub fn on_engine_failure(mut self, what: OnEngineFailure) -> Self {
        self.options.on_engine_failure = what;
        self
    }

    /// Who assembles then. Default: [`FallbackEngine::LastGood`].
    #[must_use]
    pub fn fallback(mut self, engine: FallbackEngine) -> Self {
        self.options.fallback = engine;
        self
    }

    /// Who compacts then. Default: [`CompactFallback::UnlessOwned`].
    #[must_use]
    pub fn compact_fallback(mut self, who: CompactFallback) -> Self {
        self.options.compact_fallback = who;
        self
    }

    /// Takes the figures of every call.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.options.metrics = Some(metrics);
        self
    }

    /// Keeps each engine's last description in this folder, so that a host that starts while its
    /// engine is away knows whom it waits for (R7.12). Default: in memory only.
    #[must_use]
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    /// Writes the status into this file, at most once a second and only after something happened;
    /// `contextwire status --file` shows it. Whoever reads it sees a whole one. Only the user may
    /// read it: it names sessions, and never holds content.
    #[must_use]
    pub fn status_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.status_file = Some(path.into());
        self
    }

    /// Every other setting of the clients, in place of what was set so far.
    #[must_use]
    pub fn options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// The host. Nothing is connected before the first call; call it inside a tokio runtime.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn build(self) -> Result<Host, BuildError> {
        let first = self.registrations.first();
        let slot = self.slot.or_else(|| first.map(|engine| engine.id.clone()));
        let quarantines = self.options.quarantine.list.clone();
        let registry = self
            .registry
            .unwrap_or_else(|| EngineRegistry::new(quarantines));
        let selection = Selection::new(registry, self.options, self.state_dir);
        #[cfg(feature = "outbox")]
        let selection = super::outbox::open(selection, self.outbox).map_err(BuildError::Outbox)?;
        let selection = Arc::new(selection);
        for registration in self.registrations {
            let engine_id = registration.id.clone();
            selection
                .register(registration)
                .map_err(BuildError::Registration)?;
            selection
                .engine(&engine_id)
                .map_err(|source| BuildError::Target { engine_id, source })?;
        }
        selection.select(slot.as_deref());
        let stack = BoxCloneSyncService::new(Selected(Arc::clone(&selection)));
        let hooks = Hooks::new(stack, Terms::default());
        let maintenance = Maintenance::default();
        let writing = self
            .status_file
            .map(|path| status_file::keep(path, &selection));
        let running = writing.into_iter();
        #[cfg(feature = "outbox")]
        let running = running
            .chain(super::outbox::maintain(&selection, &hooks, &maintenance))
            .chain(super::outbox::deliver(&selection));
        let running = Arc::new(running.collect());
        Ok(Host {
            hooks,
            selection,
            maintenance,
            _running: running,
        })
    }
}
