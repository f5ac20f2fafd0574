//! The engine: the host's own messages, and a compaction.

mod log;
mod remembered;
mod route;

use std::sync::Arc;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, Dispose,
    EngineError, EngineInfo, Hook, HookContext, HostParam, Ingest, Ingested,
};

use crate::settings::CompactSettings;
use crate::summarizer::{HostModelOrExtract, Summarizer};
use remembered::Remembered;

/// Id of this engine; reserved for it (HOST-SEMANTICS 3.1).
pub const ID: &str = "legacy";

/// Who compacts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionSite {
    /// The host's own compaction, as the original does (HOST-SEMANTICS 10.4). Where the host serves
    /// none, this engine, over the host's log.
    #[default]
    Host,
    /// This engine, over the host's log. Where the log cannot be had, the host.
    Engine,
}

/// How the engine compacts.
#[derive(Clone)]
pub struct LegacyOptions {
    /// Who does it first.
    pub site: CompactionSite,
    /// Limits and retries of the engine's own compaction.
    pub settings: CompactSettings,
    /// Who writes its summaries.
    pub summarizer: Arc<dyn Summarizer>,
}

impl Default for LegacyOptions {
    fn default() -> Self {
        Self {
            site: CompactionSite::default(),
            settings: CompactSettings::default(),
            summarizer: Arc::new(HostModelOrExtract),
        }
    }
}

impl std::fmt::Debug for LegacyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LegacyOptions")
            .field("site", &self.site)
            .field("settings", &self.settings)
            .field("summarizer", &self.summarizer.name())
            .finish()
    }
}

/// Passes the host's messages through and stores nothing.
///
/// A compaction is the host's or the engine's own ([`CompactionSite`]); either way its result is for
/// the host to store. What the engine remembers of its last summaries only spares it calls.
#[derive(Clone, Debug, Default)]
pub struct LegacyEngine {
    options: LegacyOptions,
    remembered: Arc<Remembered>,
}

impl LegacyEngine {
    /// An engine that compacts as the options say.
    pub fn new(options: LegacyOptions) -> Self {
        Self {
            options,
            remembered: Arc::default(),
        }
    }
}

impl ContextEngine for LegacyEngine {
    fn info(&self) -> EngineInfo {
        let all = HostParam::ALL.iter().map(|param| param.name().to_owned());
        let mut info = EngineInfo {
            accepted_host_params: Some(all.collect()),
            ..EngineInfo::new(ID, "Legacy Context Engine", "1.0.0")
        };
        info.methods.extend([Hook::AfterTurn, Hook::Dispose]);
        info
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: false })
    }

    /// The whole view as one range. The in-process original reports 0 tokens; over a wire the
    /// host cannot look at the result for free, so the estimate is honest.
    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, cx: &HookContext, request: Compact) -> Result<Compacted, EngineError> {
        self.route(cx, request).await
    }

    async fn after_turn(&self, _: &HookContext, _: AfterTurn) -> Result<(), EngineError> {
        Ok(())
    }

    async fn dispose(&self, _: &HookContext, _: Dispose) -> Result<(), EngineError> {
        Ok(())
    }
}
