//! The engine: a window for each request, nothing kept between them.

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, HookContext, Ingest, Ingested, Site,
};

use crate::fit::{Window, fit_while};

/// Shows the model the newest part of the conversation that fits; stores nothing, calls no model.
///
/// It owns no compaction and has no host call to delegate it with, so Compact answers `ok: false`.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedEngine;

impl WindowedEngine {
    /// The engine; it has no settings.
    pub fn new() -> Self {
        Self
    }
}

impl ContextEngine for WindowedEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(
            "windowed",
            "Windowed context engine",
            env!("CARGO_PKG_VERSION"),
        )
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: false })
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        if request.site == Site::Sync {
            return Ok(AssembleReply::default().into());
        }
        let window = Window::of(&request);
        let reply = fit_while(&request.transcript, &window, &|| !cx.is_cancelled());
        reply.map(Into::into).ok_or_else(EngineError::cancelled)
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined(
            "HOST_CALL_UNAVAILABLE: compaction is left to the host",
        ))
    }
}
