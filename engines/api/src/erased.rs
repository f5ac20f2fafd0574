//! Any engine behind one cloneable handle.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::after_turn::AfterTurn;
use crate::assemble::{Assemble, AssembleOutcome};
use crate::bootstrap::{Bootstrap, Bootstrapped};
use crate::commit_turn::{CommitTurn, TurnCommitted};
use crate::compact::{Compact, Compacted};
use crate::context::HookContext;
use crate::dispose::Dispose;
use crate::engine::ContextEngine;
use crate::error::EngineError;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, IngestBatch, Ingested, IngestedBatch};
use crate::maintain::{Maintain, Maintained};
use crate::subagent::{EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// A handle to an engine of any type; a clone is one reference count.
#[derive(Clone)]
pub struct AnyEngine(Arc<dyn Erased>);

impl AnyEngine {
    /// Erases the engine's type.
    pub fn new(engine: impl ContextEngine) -> Self {
        Self(Arc::new(engine))
    }
}

impl std::fmt::Debug for AnyEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyEngine").field(&self.0.info().id).finish()
    }
}

/// One line a method: its erased form, the way to it, and the way back.
macro_rules! methods {
    ($($method:ident: $request:ty => $result:ty;)*) => {
        trait Erased: Send + Sync {
            fn info(&self) -> EngineInfo;
            $(fn $method<'a>(&'a self, cx: &'a HookContext, request: $request) -> Answer<'a, $result>;)*
        }

        impl<E: ContextEngine> Erased for E {
            fn info(&self) -> EngineInfo {
                ContextEngine::info(self)
            }
            $(fn $method<'a>(&'a self, cx: &'a HookContext, request: $request) -> Answer<'a, $result> {
                Box::pin(ContextEngine::$method(self, cx, request))
            })*
        }

        impl ContextEngine for AnyEngine {
            fn info(&self) -> EngineInfo {
                self.0.info()
            }
            $(async fn $method(
                &self,
                cx: &HookContext,
                request: $request,
            ) -> Result<$result, EngineError> {
                self.0.$method(cx, request).await
            })*
        }
    };
}

methods! {
    ingest: Ingest => Ingested;
    assemble: Assemble => AssembleOutcome;
    compact: Compact => Compacted;
    ingest_batch: IngestBatch => IngestedBatch;
    bootstrap: Bootstrap => Bootstrapped;
    after_turn: AfterTurn => ();
    commit_turn: CommitTurn => TurnCommitted;
    maintain: Maintain => Maintained;
    prepare_subagent_spawn: PrepareSubagentSpawn => SpawnPrepared;
    resolve_subagent_spawn: ResolveSubagentSpawn => ();
    end_subagent: EndSubagent => ();
    dispose: Dispose => ();
}
