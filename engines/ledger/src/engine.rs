//! The engine: what hosts say, kept exactly once, and shown to the model unchanged.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, AssembleReply, Assembled, Bootstrap, Bootstrapped,
    CommitTurn, Compact, Compacted, ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo,
    Hook, HookContext, HostCallError, Ingest, IngestBatch, Ingested, IngestedBatch, Maintain,
    Maintained, PrepareSubagentSpawn, ResolveSubagentSpawn, Site, SpawnPrepared,
    TranscriptSemantics, TurnCommitted,
};
use contextwire_store::{
    Claimed, Clock, LogHooks, SqliteStore, StoreAdmin, StoreError, system_clock,
};

use crate::SCHEMA;

/// How an engine uses its file.
#[derive(Clone)]
pub struct LedgerOptions {
    /// How long to wait for another process that writes; then the call fails as transient.
    pub busy_timeout: Duration,
    /// Where the time comes from.
    pub clock: Clock,
}

impl Default for LedgerOptions {
    /// Five seconds, and the system's clock.
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            clock: Arc::new(system_clock),
        }
    }
}

impl fmt::Debug for LedgerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerOptions")
            .field("busy_timeout", &self.busy_timeout)
            .finish_non_exhaustive()
    }
}

/// An append-only engine: stores the log, commits, keys and preparations, and keeps the whole view.
///
/// Several of them, in this process or in others, may serve one file.
#[derive(Debug)]
pub struct LedgerEngine {
    hooks: LogHooks<SqliteStore>,
}

impl LedgerEngine {
    /// Opens the file, and creates it for its owner alone where there is none. Its folder must
    /// exist.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be used.
    pub fn open(path: &Path, options: LedgerOptions) -> Result<Self, StoreError> {
        let LedgerOptions {
            busy_timeout,
            clock,
        } = options;
        let store = SqliteStore::open(path, &SCHEMA, busy_timeout)?;
        Ok(Self {
            hooks: LogHooks::new(store, clock),
        })
    }

    /// An operator's look at what this engine stores.
    pub fn admin(&self) -> StoreAdmin {
        self.hooks.store().admin()
    }
}

impl ContextEngine for LedgerEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            methods: Hook::ALL.to_vec(),
            transcript_semantics: Some(TranscriptSemantics {
                current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
                turn_advancement_idempotency: Some("atomic-idempotent-v1".to_owned()),
            }),
            ..EngineInfo::new("ledger", "Ledger", env!("CARGO_PKG_VERSION"))
        }
    }

    async fn bootstrap(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> Result<Bootstrapped, EngineError> {
        self.hooks.bootstrap(cx, request).await
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        self.hooks.ingest(cx, request).await
    }

    async fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Result<IngestedBatch, EngineError> {
        self.hooks.ingest_batch(cx, request).await
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.hooks.attend(cx).await?;
        if request.site == Site::Sync {
            return Ok(AssembleReply::default().into());
        }
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    /// This engine has no model, so the host's own compaction does it (R1.2).
    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.hooks.attend(cx).await?;
        let attempt = self.hooks.attempt(cx, &request);
        let claim = match self.hooks.claim(cx, attempt).await? {
            Claimed::Recorded(answer) => return Ok(answer),
            Claimed::Held(claim) => claim,
        };
        let answer = match cx.host.delegate_compaction(request).await {
            Ok((compacted, _)) => compacted,
            Err(error) => declined(&error),
        };
        claim.settle(cx, |_| Ok(answer)).await
    }

    async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Result<(), EngineError> {
        self.hooks.after_turn(cx, request).await
    }

    async fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> Result<TurnCommitted, EngineError> {
        self.hooks.commit_turn(cx, request).await
    }

    async fn maintain(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> Result<Maintained, EngineError> {
        self.hooks.attend(cx).await?;
        let attempt = self.hooks.attempt(cx, &request);
        let nothing = Maintained {
            reason: Some("an append-only log needs no maintenance".to_owned()),
            ..Maintained::default()
        };
        self.hooks.act(attempt, |_, _| Ok(nothing)).await
    }

    async fn prepare_subagent_spawn(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> Result<SpawnPrepared, EngineError> {
        let prepared = SpawnPrepared {
            prepared: true,
            system_prompt_addition: None,
        };
        self.hooks.prepare(cx, request, |_, _| Ok(prepared)).await
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

/// A failed call back is an answer, never the failure of the hook.
fn declined(error: &HostCallError) -> Compacted {
    let HostCallError {
        reason,
        message,
        retryable: _,
    } = error;
    Compacted::declined(format!("{reason}: {message}"))
}
