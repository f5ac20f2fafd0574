//! Engines that do nothing, so that the path is what takes time.

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    EngineError, EngineInfo, HookContext, Ingest, Ingested,
};

/// Keeps everything and counts nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepAll;

impl ContextEngine for KeepAll {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("bench-keep", "Keeps everything", "1.0.0")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        Ok(AssembleReply {
            messages: Assembled::keep(0..request.transcript.len()),
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("nothing is measured here"))
    }
}

/// Never answers an Assemble.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hanging;

impl ContextEngine for Hanging {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("bench-hang", "Never answers", "1.0.0")
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        KeepAll.ingest(cx, request).await
    }

    async fn assemble(&self, _: &HookContext, _: Assemble) -> Result<AssembleOutcome, EngineError> {
        std::future::pending().await
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        KeepAll.compact(cx, request).await
    }
}
