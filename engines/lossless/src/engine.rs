//! The engine: hooks over a store of rows.

mod assemble;
mod bodies;
mod compact;
mod fork;
pub(crate) mod held;
mod maintain;
mod matching;
mod sessions;
mod sink;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted,
    ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo, Hook, HookContext, Ingest,
    IngestBatch, Ingested, IngestedBatch, Maintain, Maintained, MaintenanceMode,
    PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared, TranscriptSemantics, TurnCommitted,
};
use contextwire_legacy::{HostModelOrExtract, Summarizer};
use contextwire_store::{Clock, LogHooks, SqliteStore, Store, StoreError, StoreFile, system_clock};

use self::compact::Compactor;
pub(crate) use self::sessions::Sessions;
use crate::admin::LosslessAdmin;
use crate::compaction::Settings;
use crate::publish::settle;
use crate::redact::Redaction;
use crate::rows::{Rows, SCHEMA, weigh};

/// How an engine works.
#[derive(Clone)]
pub struct LosslessOptions {
    /// How long to wait for another process that writes; then the call fails as transient.
    pub busy_timeout: Duration,
    /// Where the time of keys and preparations comes from; nothing that a model sees depends on it.
    pub clock: Clock,
    /// Who writes the summaries.
    pub summarizer: Arc<dyn Summarizer>,
    /// How much a compaction keeps, and how much it asks of a model at once.
    pub compaction: Settings,
    /// What neither the index nor a summary may hold.
    pub redaction: Redaction,
}

impl Default for LosslessOptions {
    /// Five seconds, the system's clock, and the model of the host that calls; quotes that say what
    /// they are where it serves none.
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            clock: Arc::new(system_clock),
            summarizer: Arc::new(HostModelOrExtract),
            compaction: Settings::default(),
            redaction: Redaction::default(),
        }
    }
}

impl fmt::Debug for LosslessOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LosslessOptions")
            .field("busy_timeout", &self.busy_timeout)
            .field("summarizer", &self.summarizer.name())
            .field("compaction", &self.compaction)
            .finish_non_exhaustive()
    }
}

/// An engine that keeps everything and shows the model what fits.
///
/// Several of them, in this process or in others, may serve one store.
pub struct LosslessEngine<S: Store<Rows: Rows> = SqliteStore> {
    hooks: LogHooks<S>,
    sessions: Arc<Sessions>,
    compactor: Compactor,
}

impl<S: Store<Rows: Rows>> fmt::Debug for LosslessEngine<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LosslessEngine")
            .field("compactor", &self.compactor)
            .finish_non_exhaustive()
    }
}

impl LosslessEngine {
    /// Opens the file, and creates it for its owner alone where there is none. Its folder must
    /// exist.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be used.
    pub fn open(path: &Path, options: LosslessOptions) -> Result<Self, StoreError> {
        let store = SqliteStore::open(path, &SCHEMA, options.busy_timeout)?;
        Ok(Self::over(store, options))
    }

    /// An operator's look at what this engine stores.
    pub fn admin(&self) -> LosslessAdmin {
        LosslessAdmin::new(self.hooks.store().clone(), Arc::clone(&self.sessions))
    }
}

/// Opens a store's file for reading, without changing it.
///
/// # Errors
/// [`StoreError`] when it cannot be read or is none of this engine.
pub fn open_file(path: &Path) -> Result<StoreFile, StoreError> {
    StoreFile::open(path, &[SCHEMA])
}

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    /// An engine over any store.
    pub fn over(store: S, options: LosslessOptions) -> Self {
        let LosslessOptions {
            busy_timeout: _,
            clock,
            summarizer,
            compaction,
            redaction,
        } = options;
        Self {
            hooks: LogHooks::new(store, clock).settling(settle),
            sessions: Arc::default(),
            compactor: Compactor::new(summarizer, compaction, redaction),
        }
    }
}

impl<S: Store<Rows: Rows>> ContextEngine for LosslessEngine<S> {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            methods: Hook::ALL.to_vec(),
            owns_compaction: true,
            turn_maintenance_mode: MaintenanceMode::Background,
            transcript_semantics: Some(TranscriptSemantics {
                current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
                turn_advancement_idempotency: Some("atomic-idempotent-v1".to_owned()),
            }),
            ..EngineInfo::new("lossless", "Lossless", env!("CARGO_PKG_VERSION"))
        }
    }

    async fn bootstrap(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> Result<Bootstrapped, EngineError> {
        maintain::count(&request.transcript).await?;
        self.hooks.bootstrap(cx, request).await
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        weigh(&request.message);
        self.hooks.ingest(cx, request).await
    }

    async fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Result<IngestedBatch, EngineError> {
        for message in &request.messages {
            weigh(message);
        }
        self.hooks.ingest_batch(cx, request).await
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.fit(cx, request).await
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.make_room(cx, request).await
    }

    async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Result<(), EngineError> {
        self.hooks.after_turn(cx, request).await?;
        self.index_soon();
        Ok(())
    }

    async fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> Result<TurnCommitted, EngineError> {
        for message in &request.messages {
            weigh(message);
        }
        self.hooks.commit_turn(cx, request).await
    }

    async fn maintain(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> Result<Maintained, EngineError> {
        self.tidy(cx, request).await
    }

    async fn prepare_subagent_spawn(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> Result<SpawnPrepared, EngineError> {
        let prepared = self.hooks.prepare(cx, request, fork::prepare);
        prepared.await
    }

    async fn resolve_subagent_spawn(
        &self,
        cx: &HookContext,
        request: ResolveSubagentSpawn,
    ) -> Result<(), EngineError> {
        self.hooks.resolve(cx, request).await
    }

    async fn end_subagent(
        &self,
        cx: &HookContext,
        request: EndSubagent,
    ) -> Result<(), EngineError> {
        self.hooks.end_subagent(cx, request).await
    }

    /// Nothing is held for a single host.
    async fn dispose(&self, cx: &HookContext, _: Dispose) -> Result<(), EngineError> {
        self.hooks.attend(cx).await
    }
}
