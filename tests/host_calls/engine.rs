//! An engine that calls its host back as a test says.

use std::sync::Arc;

use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, Hook, HookContext, Ingest, Ingested, Maintain, Maintained,
};
use futures_util::future::BoxFuture;

type Maintaining =
    Arc<dyn Fn(HookContext) -> BoxFuture<'static, Result<Maintained, EngineError>> + Send + Sync>;
type Compacting = Arc<
    dyn Fn(HookContext, Compact) -> BoxFuture<'static, Result<Compacted, EngineError>>
        + Send
        + Sync,
>;

/// An engine with a Maintain and a Compact of the test's own.
#[derive(Clone)]
pub(super) struct CallingEngine {
    maintaining: Maintaining,
    compacting: Compacting,
}

impl CallingEngine {
    pub(super) fn maintaining<F>(work: impl Fn(HookContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Maintained, EngineError>> + Send + 'static,
    {
        Self {
            maintaining: Arc::new(move |cx| Box::pin(work(cx))),
            compacting: Arc::new(|_, _| Box::pin(async { Ok(Compacted::declined("not here")) })),
        }
    }

    pub(super) fn compacting<F>(
        work: impl Fn(HookContext, Compact) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Compacted, EngineError>> + Send + 'static,
    {
        Self {
            maintaining: Arc::new(|_| Box::pin(async { Ok(Maintained::default()) })),
            compacting: Arc::new(move |cx, request| Box::pin(work(cx, request))),
        }
    }
}

impl ContextEngine for CallingEngine {
    fn info(&self) -> EngineInfo {
        let mut info = EngineInfo::new("calling", "Calls back", "1.0.0");
        info.methods.push(Hook::Maintain);
        info
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        (self.compacting)(cx.clone(), request).await
    }

    async fn maintain(&self, cx: &HookContext, _: Maintain) -> Result<Maintained, EngineError> {
        (self.maintaining)(cx.clone()).await
    }
}
