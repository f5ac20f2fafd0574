//! Engines that do nothing, so that the path is what takes time.

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    ContextProjection, EngineError, EngineInfo, HookContext, Ingest, Ingested, ProjectionMode,
    Unchanged,
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

/// Keeps everything, for a thread that it is told of once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bootstrapping;

impl Bootstrapping {
    /// The only epoch, as long as real ones.
    pub(super) const EPOCH: &str =
        "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069";
}

impl ContextEngine for Bootstrapping {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("bench-thread", "Keeps everything once", "1.0.0")
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        KeepAll.ingest(cx, request).await
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let known = request.known_projection.as_ref();
        if known.is_some_and(|known| known.epoch == Self::EPOCH) {
            return Ok(AssembleOutcome::Unchanged(Unchanged::default()));
        }
        Ok(AssembleReply {
            messages: Assembled::keep(0..request.transcript.len()),
            context_projection: Some(ContextProjection {
                mode: ProjectionMode::ThreadBootstrap,
                epoch: Some(Self::EPOCH.to_owned()),
                fingerprint: None,
            }),
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        KeepAll.compact(cx, request).await
    }
}
