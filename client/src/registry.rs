//! Which engines a host knows, by whom, and which of them a slot names (HOST-SEMANTICS 3.1, 3.3).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::client::EngineClient;
use crate::error::CallError;
use crate::options::{ClientOptions, QuarantineOptions};
use crate::quarantine::{QuarantineRecord, Quarantines};
use crate::target::Target;

/// The built-in engine: what a host does without another one.
pub(crate) const BUILT_IN: &str = "legacy";
/// The only owner that may register it.
const CORE: &str = "core";
/// Owners of this form name a plugin.
const PLUGIN: &str = "plugin:";

/// What a registration is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// The engine is used.
    #[default]
    Runtime,
    /// It is listed, and not used.
    ReadOnlyDiscovery,
    /// The operator switched it off: the built-in engine serves in its place, as planned.
    Disabled,
}

/// An engine that a host may select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The id that slots name; it need not be the id that the engine gives itself.
    pub id: String,
    /// Who registers it; never blank.
    pub owner: String,
    /// Where it is.
    pub target: Target,
    /// What for.
    pub lifecycle: Lifecycle,
    /// Whether the owner of a registration may replace it.
    pub allow_same_owner_refresh: bool,
}

impl Registration {
    /// An engine to use, that its owner may register again.
    pub fn new(id: impl Into<String>, owner: impl Into<String>, target: Target) -> Self {
        Self {
            id: id.into(),
            owner: owner.into(),
            target,
            lifecycle: Lifecycle::Runtime,
            allow_same_owner_refresh: true,
        }
    }

    /// The plugin that owns it; none for the core and for public registrations.
    pub fn plugin(&self) -> Option<&str> {
        self.owner.strip_prefix(PLUGIN)
    }
}

/// Why an engine was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// Nobody registers it.
    #[error("an engine is registered by somebody: name the owner")]
    BlankOwner,
    /// Another holds the id, or the same one without the right to replace it.
    #[error("the engine id `{id}` belongs to `{existing_owner}`: choose another id")]
    Taken {
        /// The id.
        id: String,
        /// Who holds it.
        existing_owner: String,
    },
}

/// What a slot comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The built-in engine, as configured.
    BuiltIn,
    /// The built-in engine in the place of one that cannot be had.
    Downgraded(Downgrade),
    /// This engine.
    Engine(Registration),
}

/// Why a slot does not come to its engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Downgrade {
    /// It is barred.
    Quarantined(QuarantineRecord),
    /// It is registered for discovery only; that bars nothing.
    DiscoveryOnly,
    /// It is switched off: nothing failed.
    Disabled,
}

/// The engines of a host; clones are one list.
#[derive(Clone, Debug)]
pub struct EngineRegistry {
    engines: Arc<Mutex<BTreeMap<String, Registration>>>,
    quarantines: Quarantines,
}

impl EngineRegistry {
    /// An empty list whose engines are barred there.
    pub fn new(quarantines: Quarantines) -> Self {
        Self {
            engines: Arc::default(),
            quarantines,
        }
    }

    /// The list that everybody in this process shares.
    pub fn process_wide() -> Self {
        static SHARED: LazyLock<EngineRegistry> =
            LazyLock::new(|| EngineRegistry::new(Quarantines::process_wide()));
        SHARED.clone()
    }

    /// Registers an engine. One to use is released if it was barred; one for discovery never takes
    /// the place of one to use.
    ///
    /// # Errors
    /// [`RegistrationError`]; then nothing has changed.
    pub fn register(&self, registration: Registration) -> Result<(), RegistrationError> {
        let registration = Registration {
            owner: registration.owner.trim().to_owned(),
            ..registration
        };
        let Registration {
            id,
            owner,
            lifecycle,
            ..
        } = &registration;
        if owner.is_empty() {
            return Err(RegistrationError::BlankOwner);
        }
        let taken = |existing_owner: &str| {
            Err(RegistrationError::Taken {
                id: id.clone(),
                existing_owner: existing_owner.to_owned(),
            })
        };
        if id == BUILT_IN && owner != CORE {
            return taken(CORE);
        }
        let mut engines = self.lock();
        if let Some(existing) = engines.get(id) {
            if existing.owner != *owner {
                return taken(&existing.owner);
            }
            if existing.lifecycle == Lifecycle::Runtime
                && *lifecycle == Lifecycle::ReadOnlyDiscovery
            {
                return Ok(());
            }
            if !registration.allow_same_owner_refresh {
                return taken(&existing.owner);
            }
        }
        if *lifecycle == Lifecycle::Runtime {
            self.quarantines.release(id);
        }
        engines.insert(id.clone(), registration);
        Ok(())
    }

    /// Removes all engines of an owner and releases them; gives their ids back. A slot that names
    /// one of them comes to the built-in engine from now on.
    pub fn remove_owner(&self, owner: &str) -> Vec<String> {
        let mut engines = self.lock();
        let mut removed = Vec::new();
        engines.retain(|id, registration| {
            let stays = registration.owner != owner.trim();
            if !stays {
                self.quarantines.release(id);
                removed.push(id.clone());
            }
            stays
        });
        removed
    }

    /// The registrations, by id.
    pub fn registrations(&self) -> Vec<Registration> {
        self.lock().values().cloned().collect()
    }

    /// What a slot comes to. Naming nobody's engine bars the id, until somebody registers it.
    pub fn resolve(&self, slot: Option<&str>) -> Resolution {
        let id = slot.map(str::trim).filter(|id| !id.is_empty());
        let id = id.unwrap_or(BUILT_IN);
        if id == BUILT_IN {
            return Resolution::BuiltIn;
        }
        // Held, so that a registration cannot come between the look and the record.
        let engines = self.lock();
        let engine = engines.get(id);
        if engine.is_some_and(|engine| engine.lifecycle == Lifecycle::Disabled) {
            return Resolution::Downgraded(Downgrade::Disabled);
        }
        if let Some(record) = self.quarantines.record(id) {
            return Resolution::Downgraded(Downgrade::Quarantined(record));
        }
        match engine {
            None => {
                let record = QuarantineRecord::new(id, "resolve", "not registered");
                let record = self.quarantines.bar(record);
                Resolution::Downgraded(Downgrade::Quarantined(record))
            }
            Some(engine) if engine.lifecycle == Lifecycle::ReadOnlyDiscovery => {
                tracing::warn!(
                    engine = id,
                    "registered for discovery only: `legacy` serves"
                );
                Resolution::Downgraded(Downgrade::DiscoveryOnly)
            }
            Some(engine) => Resolution::Engine(engine.clone()),
        }
    }

    /// A client of a registered engine; each is a new one, with nothing learnt.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn client(
        &self,
        engine: &Registration,
        options: &ClientOptions,
    ) -> Result<EngineClient, CallError> {
        self.watched(engine, options, Arc::default())
    }

    /// The same, telling of news.
    pub(crate) fn watched(
        &self,
        engine: &Registration,
        options: &ClientOptions,
        changed: Arc<Notify>,
    ) -> Result<EngineClient, CallError> {
        let options = ClientOptions {
            engine_id: Some(engine.id.clone()),
            owner: Some(engine.owner.clone()),
            quarantine: QuarantineOptions {
                list: self.quarantines.clone(),
                ..options.quarantine.clone()
            },
            ..options.clone()
        };
        EngineClient::watched(&engine.target, &options, changed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Registration>> {
        self.engines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
