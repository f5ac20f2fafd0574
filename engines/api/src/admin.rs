//! What an operator asks of an engine, beside its hooks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::digest::{Digest, TranscriptState};
use crate::error::EngineError;
use crate::ids::{EntryId, SessionId};

/// The log of a session as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredLog {
    /// The entries in order.
    pub entries: Vec<StoredEntry>,
    /// What updates of the LOG placed; entries behind it are the provisional tail.
    pub placed: TranscriptState,
    /// All of it.
    pub total: TranscriptState,
}

/// An entry of a stored log, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Lineage id; empty where the host has none.
    pub entry_id: EntryId,
    /// Identity of the message.
    pub digest: Digest,
    /// The advancement key of the turn that committed it.
    pub turn: Option<String>,
}

/// An engine that lets an operator look at what it stores. Optional: no hook depends on it.
pub trait EngineAdmin: Send + Sync + 'static {
    /// The log of a session, from one state of the store; `None` where it is not stored.
    fn inspect_session(
        &self,
        session: SessionId,
    ) -> impl Future<Output = Result<Option<StoredLog>, EngineError>> + Send;
}

type Inspected<'a> =
    Pin<Box<dyn Future<Output = Result<Option<StoredLog>, EngineError>> + Send + 'a>>;

trait Erased: Send + Sync {
    fn inspect_session(&self, session: SessionId) -> Inspected<'_>;
}

impl<A: EngineAdmin> Erased for A {
    fn inspect_session(&self, session: SessionId) -> Inspected<'_> {
        Box::pin(EngineAdmin::inspect_session(self, session))
    }
}

/// An operator's side of any engine; a clone is one reference count.
#[derive(Clone)]
pub struct AnyAdmin(Arc<dyn Erased>);

impl AnyAdmin {
    /// Erases the type.
    pub fn new(admin: impl EngineAdmin) -> Self {
        Self(Arc::new(admin))
    }
}

impl fmt::Debug for AnyAdmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyAdmin").finish_non_exhaustive()
    }
}

impl EngineAdmin for AnyAdmin {
    async fn inspect_session(&self, session: SessionId) -> Result<Option<StoredLog>, EngineError> {
        self.0.inspect_session(session).await
    }
}
