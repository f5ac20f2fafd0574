//! The engine: what hosts say, kept exactly once, and shown to the model unchanged.

mod compact;
mod log;
mod subagent;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::durable::{self, Attempt, Debt, Keyed, UnixMillis};
use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, AssembleReply, Assembled, Bootstrap, Bootstrapped,
    CommitTurn, Compact, Compacted, ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo,
    Hook, HookContext, Ingest, IngestBatch, Ingested, IngestedBatch, Maintain, Maintained,
    PrepareSubagentSpawn, ResolveSubagentSpawn, Site, SpawnPrepared, TranscriptSemantics,
    TranscriptState, TurnCommitted,
};

use crate::admin::LedgerAdmin;
use crate::connection::{self, Use};
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::Tx;
use crate::writer::Writer;

/// The wall clock of an engine.
pub type Clock = Arc<dyn Fn() -> UnixMillis + Send + Sync>;

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

#[expect(
    clippy::disallowed_methods,
    reason = "the rim: everything below takes the time as a value"
)]
fn system_clock() -> UnixMillis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    UnixMillis(0).after(since.unwrap_or_default())
}

/// An append-only engine: stores the log, commits, keys and preparations, and keeps the whole view.
///
/// Several of them, in this process or in others, may serve one file.
pub struct LedgerEngine {
    writer: Writer,
    reader: Arc<Reader>,
    clock: Clock,
}

impl LedgerEngine {
    /// Opens the file, and creates it for its owner alone where there is none. Its folder must
    /// exist.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be used.
    pub fn open(path: &Path, options: LedgerOptions) -> Result<Self, LedgerError> {
        let LedgerOptions {
            busy_timeout,
            clock,
        } = options;
        let writing = connection::open(path, Use::Write, busy_timeout)?;
        let reading = connection::open(path, Use::Read, busy_timeout)?;
        let failed = |error| LedgerError::open(path, error);
        Ok(Self {
            writer: Writer::start(writing).map_err(failed)?,
            reader: Arc::new(Reader::start(reading).map_err(failed)?),
            clock,
        })
    }

    /// An operator's look at what this engine stores; it reads beside the hooks.
    pub fn admin(&self) -> LedgerAdmin {
        LedgerAdmin::new(Arc::clone(&self.reader))
    }

    fn attempt<R: Keyed>(&self, cx: &HookContext, request: &R) -> Attempt<R> {
        Attempt::new(cx, request, (self.clock)())
    }

    /// One effect: `act` happens once a key, together with everything that is recorded of it.
    async fn act<R: Keyed + 'static>(
        &self,
        attempt: Attempt<R>,
        act: impl FnOnce(&mut Tx<'_>, &HookContext) -> Result<R::Answer, EngineError> + Send + 'static,
    ) -> Result<R::Answer, EngineError>
    where
        R::Answer: Send + 'static,
    {
        let cx = attempt.context().clone();
        let work = move |tx: &mut Tx<'_>| {
            let cx = attempt.context();
            let answer = durable::effect(tx, &attempt, |tx| act(tx, cx))?;
            if let Some(head) = cx.log_head {
                tx.confirm(&cx.session.id, head)?;
            }
            tell_log(tx, cx, cx.log_head)?;
            Ok(answer)
        };
        self.writer.run(&cx, work).await
    }

    /// What every hook sees to that brings no LOG of its own: an engine whose log is behind the
    /// host's catches up (R3.3), and what a read owes is recorded before its answer (R7.2).
    async fn attend(&self, cx: &HookContext) -> Result<(), EngineError> {
        let seen = cx.clone();
        let looked = self.reader.run(move |tx| {
            tell_log(tx, &seen, seen.log_head)?;
            Ok((durable::notice(tx, &seen)?, is_behind(tx, &seen)?))
        });
        let (debt, behind) = looked.await?;
        let log = if behind { cx.log.fetch().await } else { None };
        if debt == Debt::None && log.is_none() {
            return Ok(());
        }
        let (now, owing) = ((self.clock)(), cx.clone());
        let work = move |tx: &mut Tx<'_>| {
            durable::read(tx, &owing, now)?;
            if let Some(log) = log {
                let change = durable::log_change(tx, &owing)?;
                tx.update_log(&owing, &owing.session.id, &log, change)?;
            }
            tell_log(tx, &owing, owing.log_head)
        };
        self.writer.run(cx, work).await
    }
}

/// Whether the host has another log than the stored one, tail or no tail.
fn is_behind(tx: &Tx<'_>, cx: &HookContext) -> Result<bool, EngineError> {
    match cx.log_head {
        Some(head) => Ok(tx.log_state(&cx.session.id, Some(head))? != head),
        None => Ok(false),
    }
}

/// Says beside the answer how far the stored log is; `host` is the host's own log, where known.
fn tell_log(
    tx: &Tx<'_>,
    cx: &HookContext,
    host: Option<TranscriptState>,
) -> Result<(), EngineError> {
    let state = tx.log_state(&cx.session.id, host)?;
    cx.note(|reply| reply.log_state = Some(state));
    Ok(())
}

impl fmt::Debug for LedgerEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerEngine").finish_non_exhaustive()
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
        self.import(cx, request).await
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        let attempt = self.attempt(cx, &request);
        let message = request.message;
        let act = move |tx: &mut Tx<'_>, cx: &HookContext| {
            let ingested = tx.ingest(cx, &cx.session.id, &message)?;
            Ok(Ingested { ingested })
        };
        self.act(attempt, act).await
    }

    async fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Result<IngestedBatch, EngineError> {
        self.ingest_all(cx, request).await
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.attend(cx).await?;
        if request.site == Site::Sync {
            return Ok(AssembleReply::default().into());
        }
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.delegate(cx, request).await
    }

    async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Result<(), EngineError> {
        self.follow(cx, request).await
    }

    async fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> Result<TurnCommitted, EngineError> {
        let attempt = self.attempt(cx, &request);
        let act = move |tx: &mut Tx<'_>, cx: &HookContext| {
            tx.commit(cx, &cx.session.id, &request)?;
            Ok(TurnCommitted::Committed)
        };
        self.act(attempt, act).await
    }

    async fn maintain(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> Result<Maintained, EngineError> {
        self.attend(cx).await?;
        let attempt = self.attempt(cx, &request);
        let nothing = Maintained {
            reason: Some("an append-only log needs no maintenance".to_owned()),
            ..Maintained::default()
        };
        self.act(attempt, |_, _| Ok(nothing)).await
    }

    async fn prepare_subagent_spawn(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> Result<SpawnPrepared, EngineError> {
        self.prepare(cx, request).await
    }

    async fn resolve_subagent_spawn(
        &self,
        cx: &HookContext,
        request: ResolveSubagentSpawn,
    ) -> Result<(), EngineError> {
        self.resolve(cx, request).await
    }

    async fn end_subagent(
        &self,
        cx: &HookContext,
        request: EndSubagent,
    ) -> Result<(), EngineError> {
        self.act(self.attempt(cx, &request), |_, _| Ok(())).await
    }

    /// Nothing is held for a single host.
    async fn dispose(&self, _: &HookContext, _: Dispose) -> Result<(), EngineError> {
        Ok(())
    }
}
