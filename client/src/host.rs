//! A host's engines behind one face: calls go to the one that is selected (HOST-SEMANTICS 3).

mod builder;
mod lease;
#[cfg(feature = "outbox")]
mod outbox;
#[cfg(feature = "outbox")]
mod recorded;
mod refuse;
mod selection;
mod status_file;
mod turn;

use std::ops::Deref;
use std::sync::Arc;

use contextwire_engine::{EngineInfo, Host as Calls, Transcript};
use tokio_util::sync::DropGuard;

use crate::client::EngineClient;
use crate::error::CallError;
use crate::hooks::Hooks;
use crate::maintenance::Maintenance;
use crate::registry::{Registration, RegistrationError, Resolution};
use crate::status::HostStatus;
use crate::trace_parent::TraceParent;

pub use builder::{BuildError, HostBuilder};
pub use lease::{TurnEngine, TurnError, TurnMode};
#[cfg(feature = "outbox")]
pub use recorded::{Recorded, RecordedEnd};
pub use turn::{Admission, Turn};

use selection::Selection;

/// An agent host's side of context engines: what it has registered, which of them is selected, and
/// all the [`Hooks`], which go to that one. Cheap to clone; clones are one host.
///
/// ```no_run
/// use contextwire_client::engine::{Assemble, Message, Session, SessionId, Transcript};
/// use contextwire_client::{Host, Target};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder()
///     .id("my-host")
///     .engine("lossless", Target::unix("/run/user/1000/contextwire/engine.sock"))
///     .build()?;
///
/// let session = Session::new(SessionId::new("main")?);
/// let mut transcript = Transcript::new();
/// transcript.push(Message::from_payload(r#"{"role":"user","content":"hello"}"#));
/// let request = Assemble { transcript, ..Assemble::default() };
/// let served = host.assemble(&session, request).await?;
/// println!("{} messages by {}", served.result.messages().count(), served.by);
///
/// host.select("legacy"); // the built-in engine; sessions keep their history
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Host {
    hooks: Hooks,
    selection: Arc<Selection>,
    maintenance: Maintenance,
    /// Ends what writes the status, and what delivers the outbox, when the last clone is gone.
    _running: Arc<Vec<DropGuard>>,
}

impl Deref for Host {
    type Target = Hooks;

    fn deref(&self) -> &Hooks {
        &self.hooks
    }
}

impl Host {
    /// Begins a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Registers an engine, or registers it anew: that releases it if it was barred, and forgets
    /// what was learnt of it.
    ///
    /// # Errors
    /// [`RegistrationError`]; then nothing has changed.
    pub fn register(&self, registration: Registration) -> Result<(), RegistrationError> {
        self.selection.register(registration)
    }

    /// Removes all engines of an owner; gives their ids. If the selected one is among them the slot is
    /// empty again, and the built-in engine serves.
    pub fn remove_owner(&self, owner: &str) -> Vec<String> {
        self.selection.remove_owner(owner)
    }

    /// Puts an id into the slot: calls go to that engine from now on, and turns that have begun stay
    /// where they are. The transcript is the host's, so an engine that was away is told what it
    /// missed with its first call. `legacy` is the built-in engine; an id that nobody registered is
    /// barred, and the built-in engine serves in its place.
    pub fn select(&self, id: &str) {
        self.selection.select(Some(id));
    }

    /// The id that the slot comes to: `legacy` where it is empty.
    pub fn selected(&self) -> String {
        self.selection.selected()
    }

    /// What the slot comes to now.
    pub fn resolution(&self) -> Resolution {
        self.selection.resolution()
    }

    /// The client of a registered engine, selected or not.
    ///
    /// # Errors
    /// [`CallError::Unsupported`] where nobody registered it.
    pub fn engine(&self, id: &str) -> Result<EngineClient, CallError> {
        self.selection.engine(id)
    }

    /// What the host goes by now: the active engine's last description. `None` while the selected
    /// engine was never reached; then it is treated as owning compaction (R7.12).
    pub fn active_info(&self) -> Option<EngineInfo> {
        self.selection.active_info()
    }

    /// The highest epoch of this host's order, to be stored and given back when it starts again
    /// ([`ClientOptions::last_host_epoch`](crate::ClientOptions::last_host_epoch)).
    pub fn host_epoch(&self) -> u64 {
        let clients = self.selection.clients();
        clients
            .iter()
            .map(EngineClient::host_epoch)
            .max()
            .unwrap_or_default()
    }

    /// Everything that is known of the engines; asks nobody.
    pub fn status(&self) -> HostStatus {
        self.selection.status()
    }

    /// The same host telling engines of this stored log; see [`EngineClient::with_log`].
    #[must_use]
    pub fn with_log(&self, log: Transcript) -> Self {
        self.on(self.hooks.on(|terms| terms.log = Some(log)))
    }

    /// The same host serving what engines ask of one session; see [`EngineClient::with_host`].
    #[must_use]
    pub fn with_host(&self, calls: Calls) -> Self {
        self.on(self.hooks.on(|terms| terms.host = calls))
    }

    /// The same host with calls that belong to a span of its own trace.
    #[must_use]
    pub fn with_trace(&self, trace: TraceParent) -> Self {
        self.on(self.hooks.on(|terms| terms.trace = Some(trace)))
    }

    /// The maintenance of this host's sessions. What runs of it beside the conversation ends with the
    /// last clone of the host, and before [`Host::dispose`] tells any engine.
    pub fn maintenance(&self) -> &Maintenance {
        &self.maintenance
    }

    /// Ends background maintenance, and tells every engine that was called that this host goes away, all at the same time. What
    /// fails is logged: there is nothing else to do about it.
    pub async fn dispose(&self) {
        self.maintenance.close().await;
        let clients = self.selection.clients();
        let told = clients.iter().map(|client| async move {
            // One that was never reached has nothing to close.
            if client.known().is_some()
                && let Err(error) = client.dispose().await
            {
                let engine = client.status().id;
                tracing::warn!(engine, %error, "the engine was not told that the host goes away");
            }
        });
        futures_util::future::join_all(told).await;
    }

    fn on(&self, hooks: Hooks) -> Self {
        Self {
            hooks,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests;
