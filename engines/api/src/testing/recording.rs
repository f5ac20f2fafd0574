//! An engine that has every method and remembers its calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::after_turn::AfterTurn;
use crate::assemble::{Assemble, AssembleOutcome};
use crate::bootstrap::{Bootstrap, Bootstrapped};
use crate::commit_turn::{CommitTurn, TurnCommitted};
use crate::compact::{Compact, CompactResult, Compacted};
use crate::context::HookContext;
use crate::dispose::Dispose;
use crate::engine::ContextEngine;
use crate::error::EngineError;
use crate::hook::Hook;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, IngestBatch, Ingested, IngestedBatch};
use crate::maintain::{Maintain, Maintained};
use crate::order::Reply;
use crate::segment::Assembled;
use crate::subagent::{EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared};
use crate::transcript::Transcript;

/// A request that reached a [`RecordingEngine`]; one variant a method.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the method's own request")]
pub enum SeenRequest {
    Bootstrap(Bootstrap),
    Ingest(Ingest),
    IngestBatch(IngestBatch),
    Assemble(Assemble),
    Compact(Compact),
    AfterTurn(AfterTurn),
    CommitTurn(Box<CommitTurn>),
    Maintain(Maintain),
    PrepareSubagentSpawn(PrepareSubagentSpawn),
    ResolveSubagentSpawn(ResolveSubagentSpawn),
    EndSubagent(EndSubagent),
    Dispose(Dispose),
}

impl SeenRequest {
    /// Whose request it is.
    pub fn hook(&self) -> Hook {
        match self {
            Self::Bootstrap(_) => Hook::Bootstrap,
            Self::Ingest(_) => Hook::Ingest,
            Self::IngestBatch(_) => Hook::IngestBatch,
            Self::Assemble(_) => Hook::Assemble,
            Self::Compact(_) => Hook::Compact,
            Self::AfterTurn(_) => Hook::AfterTurn,
            Self::CommitTurn(_) => Hook::CommitTurn,
            Self::Maintain(_) => Hook::Maintain,
            Self::PrepareSubagentSpawn(_) => Hook::PrepareSubagentSpawn,
            Self::ResolveSubagentSpawn(_) => Hook::ResolveSubagentSpawn,
            Self::EndSubagent(_) => Hook::EndSubagent,
            Self::Dispose(_) => Hook::Dispose,
        }
    }
}

/// A call that reached a [`RecordingEngine`].
#[derive(Clone, Debug)]
pub struct Seen {
    /// What came with it.
    pub cx: HookContext,
    /// What was asked.
    pub request: SeenRequest,
    /// The host's log, where the engine is [behind](RecordingEngine::behind) and the host gave it.
    pub log: Option<Transcript>,
}

/// An engine that has every method, does as little as it can and remembers each call. Clones are
/// one engine once it serves.
///
/// A turn is committed once under a key and a duplicate afterwards; a view is kept whole; a
/// compaction says that two tokens became one.
#[derive(Clone, Debug)]
pub struct RecordingEngine {
    info: EngineInfo,
    implemented: BTreeSet<Hook>,
    says: Reply,
    behind: bool,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    seen: Vec<Seen>,
    committed: BTreeSet<String>,
}

impl Default for RecordingEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl RecordingEngine {
    /// An engine with every method.
    pub fn new() -> Self {
        let info = EngineInfo::new("recording", "Recording engine", "1.0.0");
        Self {
            info,
            implemented: BTreeSet::new(),
            says: Reply::default(),
            behind: false,
            notes: Arc::default(),
        }
        .with_methods(Hook::ALL)
    }

    /// The same with the required methods and these, advertised and implemented.
    #[must_use]
    pub fn with_methods(self, hooks: impl IntoIterator<Item = Hook>) -> Self {
        let required = Hook::ALL.into_iter().filter(|hook| hook.profile().required);
        let implemented: BTreeSet<_> = required.chain(hooks).collect();
        let advertised = implemented.clone();
        Self {
            implemented,
            ..self
        }
        .advertising(advertised)
    }

    /// The same advertising the required methods and these, whatever it implements.
    #[must_use]
    pub fn advertising(mut self, hooks: impl IntoIterator<Item = Hook>) -> Self {
        let required = Hook::ALL.into_iter().filter(|hook| hook.profile().required);
        let methods: BTreeSet<_> = required.chain(hooks).collect();
        self.info.methods = methods.into_iter().collect();
        self
    }

    /// The same with another description.
    #[must_use]
    pub fn describing(mut self, change: impl FnOnce(&mut EngineInfo)) -> Self {
        change(&mut self.info);
        self
    }

    /// The same saying this beside every answer.
    #[must_use]
    pub fn saying(self, says: Reply) -> Self {
        Self { says, ..self }
    }

    /// The same with a stored log that is always behind: it fetches the host's in every hook that
    /// names a head (R3.3).
    #[must_use]
    pub fn behind(self) -> Self {
        Self {
            behind: true,
            ..self
        }
    }

    /// The calls that reached it, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.notes().seen.clone()
    }

    /// The hooks that reached it, in order.
    pub fn hooks(&self) -> Vec<Hook> {
        let notes = self.notes();
        notes.seen.iter().map(|seen| seen.request.hook()).collect()
    }

    async fn enter(&self, cx: &HookContext, request: SeenRequest) -> Result<(), EngineError> {
        let hook = request.hook();
        if !self.implemented.contains(&hook) {
            return Err(EngineError::unsupported(hook.name()));
        }
        let log = if self.behind && cx.log_head.is_some() {
            cx.log.fetch().await
        } else {
            None
        };
        cx.note(|reply| reply.clone_from(&self.says));
        self.notes().seen.push(Seen {
            cx: cx.clone(),
            request,
            log,
        });
        Ok(())
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContextEngine for RecordingEngine {
    fn info(&self) -> EngineInfo {
        self.info.clone()
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        self.enter(cx, SeenRequest::Ingest(request)).await?;
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.enter(cx, SeenRequest::Assemble(request.clone()))
            .await?;
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.enter(cx, SeenRequest::Compact(request)).await?;
        let result = CompactResult {
            tokens_before: 2,
            tokens_after: Some(1),
            ..CompactResult::default()
        };
        Ok(Compacted {
            ok: true,
            compacted: true,
            reason: None,
            result: Some(result),
        })
    }

    async fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Result<IngestedBatch, EngineError> {
        let ingested_count = request.messages.len() as u64;
        self.enter(cx, SeenRequest::IngestBatch(request)).await?;
        Ok(IngestedBatch { ingested_count })
    }

    async fn bootstrap(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> Result<Bootstrapped, EngineError> {
        let imported = request.transcript.len() as u64;
        self.enter(cx, SeenRequest::Bootstrap(request)).await?;
        Ok(Bootstrapped {
            bootstrapped: true,
            imported_messages: Some(imported),
            reason: None,
        })
    }

    async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Result<(), EngineError> {
        self.enter(cx, SeenRequest::AfterTurn(request)).await
    }

    async fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> Result<TurnCommitted, EngineError> {
        let key = request.advancement_key.clone();
        self.enter(cx, SeenRequest::CommitTurn(Box::new(request)))
            .await?;
        Ok(if self.notes().committed.insert(key) {
            TurnCommitted::Committed
        } else {
            TurnCommitted::Duplicate
        })
    }

    async fn maintain(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> Result<Maintained, EngineError> {
        self.enter(cx, SeenRequest::Maintain(request)).await?;
        Ok(Maintained {
            reason: Some("nothing to do".to_owned()),
            ..Maintained::default()
        })
    }

    async fn prepare_subagent_spawn(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> Result<SpawnPrepared, EngineError> {
        self.enter(cx, SeenRequest::PrepareSubagentSpawn(request))
            .await?;
        Ok(SpawnPrepared {
            prepared: true,
            system_prompt_addition: Some("prepared".to_owned()),
        })
    }

    async fn resolve_subagent_spawn(
        &self,
        cx: &HookContext,
        request: ResolveSubagentSpawn,
    ) -> Result<(), EngineError> {
        self.enter(cx, SeenRequest::ResolveSubagentSpawn(request))
            .await
    }

    async fn end_subagent(
        &self,
        cx: &HookContext,
        request: EndSubagent,
    ) -> Result<(), EngineError> {
        self.enter(cx, SeenRequest::EndSubagent(request)).await
    }

    async fn dispose(&self, cx: &HookContext, request: Dispose) -> Result<(), EngineError> {
        self.enter(cx, SeenRequest::Dispose(request)).await
    }
}
