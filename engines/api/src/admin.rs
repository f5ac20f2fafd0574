//! What an operator asks of an engine, beside its hooks.

mod erasure;
mod plan;
mod store;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::digest::{Digest, TranscriptState};
use crate::error::EngineError;
use crate::ids::{EntryId, SessionId};

pub use self::erasure::{EraseSession, ErasedRows, Erasure, ErasureProof, PinEntry};
pub use self::plan::{
    ExplainTurn, ExplainedItem, ExplainedTurn, LeftOut, Places, PlanItem, PlanSummary, StandingPlan,
};
pub use self::store::{DoctorFinding, DoctorSeverity, StoreStatus, StoredSession};

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
    /// Whether its body was erased: the digest is that of what stands in its place, and the states
    /// of the log go on counting what was there.
    pub erased: bool,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// An engine that lets an operator look at what it stores, and have some of it erased. Optional: no
/// hook depends on it. What an engine does not have is [`crate::ErrorKind::Unsupported`].
pub trait EngineAdmin: Send + Sync + 'static {
    /// The log of a session, from one state of the store; `None` where it is not stored.
    fn inspect_session(
        &self,
        session: SessionId,
    ) -> impl Future<Output = Result<Option<StoredLog>, EngineError>> + Send;

    /// What the store holds; `None` where there is none.
    fn store_status(
        &self,
    ) -> impl Future<Output = Result<Option<StoreStatus>, EngineError>> + Send {
        async { Ok(None) }
    }

    /// What is wrong with what is stored, of one session or of everything; the good checks too.
    fn doctor(
        &self,
        _: Option<SessionId>,
    ) -> impl Future<Output = Result<Vec<DoctorFinding>, EngineError>> + Send {
        async { Err(EngineError::unsupported("doctor")) }
    }

    /// The sessions in the order in which they came.
    fn list_sessions(
        &self,
    ) -> impl Future<Output = Result<Vec<StoredSession>, EngineError>> + Send {
        async { Err(EngineError::unsupported("list_sessions")) }
    }

    /// What stands for a session now; `None` where it is not stored.
    fn plan(
        &self,
        _: SessionId,
    ) -> impl Future<Output = Result<Option<StandingPlan>, EngineError>> + Send {
        async { Err(EngineError::unsupported("plan")) }
    }

    /// What the model was shown at a turn, and why; `None` where there is no such turn.
    fn explain_turn(
        &self,
        _: ExplainTurn,
    ) -> impl Future<Output = Result<Option<ExplainedTurn>, EngineError>> + Send {
        async { Err(EngineError::unsupported("explain_turn")) }
    }

    /// Pins an entry, or no longer, and says what is pinned in the order of the log; `None` where the
    /// log does not have the entry.
    fn pin_entry(
        &self,
        _: PinEntry,
    ) -> impl Future<Output = Result<Option<Vec<EntryId>>, EngineError>> + Send {
        async { Err(EngineError::unsupported("pin_entry")) }
    }

    /// Removes a session, or entries of it, with everything that was made of them, and looks whether
    /// anything is left. One that is repeated finds nothing.
    fn erase_session(
        &self,
        _: EraseSession,
    ) -> impl Future<Output = Result<Erasure, EngineError>> + Send {
        async { Err(EngineError::unsupported("erase_session")) }
    }
}

trait Erased: Send + Sync {
    fn inspect_session(&self, session: SessionId) -> Answer<'_, Option<StoredLog>>;
    fn store_status(&self) -> Answer<'_, Option<StoreStatus>>;
    fn doctor(&self, session: Option<SessionId>) -> Answer<'_, Vec<DoctorFinding>>;
    fn list_sessions(&self) -> Answer<'_, Vec<StoredSession>>;
    fn plan(&self, session: SessionId) -> Answer<'_, Option<StandingPlan>>;
    fn explain_turn(&self, question: ExplainTurn) -> Answer<'_, Option<ExplainedTurn>>;
    fn pin_entry(&self, pin: PinEntry) -> Answer<'_, Option<Vec<EntryId>>>;
    fn erase_session(&self, erase: EraseSession) -> Answer<'_, Erasure>;
}

impl<A: EngineAdmin> Erased for A {
    fn inspect_session(&self, session: SessionId) -> Answer<'_, Option<StoredLog>> {
        Box::pin(EngineAdmin::inspect_session(self, session))
    }

    fn store_status(&self) -> Answer<'_, Option<StoreStatus>> {
        Box::pin(EngineAdmin::store_status(self))
    }

    fn doctor(&self, session: Option<SessionId>) -> Answer<'_, Vec<DoctorFinding>> {
        Box::pin(EngineAdmin::doctor(self, session))
    }

    fn list_sessions(&self) -> Answer<'_, Vec<StoredSession>> {
        Box::pin(EngineAdmin::list_sessions(self))
    }

    fn plan(&self, session: SessionId) -> Answer<'_, Option<StandingPlan>> {
        Box::pin(EngineAdmin::plan(self, session))
    }

    fn explain_turn(&self, question: ExplainTurn) -> Answer<'_, Option<ExplainedTurn>> {
        Box::pin(EngineAdmin::explain_turn(self, question))
    }

    fn pin_entry(&self, pin: PinEntry) -> Answer<'_, Option<Vec<EntryId>>> {
        Box::pin(EngineAdmin::pin_entry(self, pin))
    }

    fn erase_session(&self, erase: EraseSession) -> Answer<'_, Erasure> {
        Box::pin(EngineAdmin::erase_session(self, erase))
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

    async fn store_status(&self) -> Result<Option<StoreStatus>, EngineError> {
        self.0.store_status().await
    }

    async fn doctor(&self, session: Option<SessionId>) -> Result<Vec<DoctorFinding>, EngineError> {
        self.0.doctor(session).await
    }

    async fn list_sessions(&self) -> Result<Vec<StoredSession>, EngineError> {
        self.0.list_sessions().await
    }

    async fn plan(&self, session: SessionId) -> Result<Option<StandingPlan>, EngineError> {
        self.0.plan(session).await
    }

    async fn explain_turn(
        &self,
        question: ExplainTurn,
    ) -> Result<Option<ExplainedTurn>, EngineError> {
        self.0.explain_turn(question).await
    }

    async fn pin_entry(&self, pin: PinEntry) -> Result<Option<Vec<EntryId>>, EngineError> {
        self.0.pin_entry(pin).await
    }

    async fn erase_session(&self, erase: EraseSession) -> Result<Erasure, EngineError> {
        self.0.erase_session(erase).await
    }
}
