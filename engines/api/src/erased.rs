//! Any engine behind one cloneable handle.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::assemble::{Assemble, AssembleOutcome};
use crate::compact::{Compact, Compacted};
use crate::context::HookContext;
use crate::engine::ContextEngine;
use crate::error::EngineError;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, Ingested};

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

impl ContextEngine for AnyEngine {
    fn info(&self) -> EngineInfo {
        self.0.info()
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        self.0.ingest(cx, request).await
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.0.assemble(cx, request).await
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.0.compact(cx, request).await
    }
}

impl std::fmt::Debug for AnyEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyEngine").field(&self.0.info().id).finish()
    }
}

trait Erased: Send + Sync {
    fn info(&self) -> EngineInfo;
    fn ingest<'a>(&'a self, cx: &'a HookContext, request: Ingest) -> Answer<'a, Ingested>;
    fn assemble<'a>(
        &'a self,
        cx: &'a HookContext,
        request: Assemble,
    ) -> Answer<'a, AssembleOutcome>;
    fn compact<'a>(&'a self, cx: &'a HookContext, request: Compact) -> Answer<'a, Compacted>;
}

impl<E: ContextEngine> Erased for E {
    fn info(&self) -> EngineInfo {
        ContextEngine::info(self)
    }

    fn ingest<'a>(&'a self, cx: &'a HookContext, request: Ingest) -> Answer<'a, Ingested> {
        Box::pin(ContextEngine::ingest(self, cx, request))
    }

    fn assemble<'a>(
        &'a self,
        cx: &'a HookContext,
        request: Assemble,
    ) -> Answer<'a, AssembleOutcome> {
        Box::pin(ContextEngine::assemble(self, cx, request))
    }

    fn compact<'a>(&'a self, cx: &'a HookContext, request: Compact) -> Answer<'a, Compacted> {
        Box::pin(ContextEngine::compact(self, cx, request))
    }
}
