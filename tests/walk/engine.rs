//! An engine that remembers the lists that reached it, each under its call's own mark.

use std::sync::{Arc, Mutex};

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Assembled, Bootstrap, Bootstrapped, Compact, Compacted,
    ContextEngine, EngineError, EngineInfo, Hook, HookContext, Ingest, Ingested, RuntimeContext,
    Transcript, TranscriptSync,
};

/// What a call asks of the engine besides: to fetch the host's log.
pub(super) const BEHIND: &str = "behind";

/// The lists of one call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    mark: String,
    /// What the hook carried.
    pub(super) carried: Transcript,
    /// The host's log, where the engine asked for it.
    pub(super) log: Option<Transcript>,
    /// Whether the call named hooks that must have no effect any more.
    pub(super) names_closed_hooks: bool,
}

/// The engine; clones share what they saw.
#[derive(Clone, Debug)]
pub(super) struct Walker {
    pub(super) sync: TranscriptSync,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Walker {
    pub(super) fn new() -> Self {
        Self {
            sync: TranscriptSync::Delta,
            seen: Arc::default(),
        }
    }

    /// What it saw under this mark.
    pub(super) fn saw(&self, mark: &str) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|seen| seen.mark == mark)
            .cloned()
            .collect()
    }

    async fn see(&self, cx: &HookContext, context: Option<RuntimeContext>, carried: Transcript) {
        let context = context.unwrap_or_default();
        let log = match context.trigger.as_deref() {
            Some(BEHIND) => cx.log.fetch().await,
            _ => None,
        };
        let mark = context.cwd.unwrap_or_default();
        self.seen.lock().unwrap().push(Seen {
            mark,
            carried,
            log,
            names_closed_hooks: !cx.abandoned_hooks.is_empty(),
        });
    }
}

/// What it answers: the newer half first, so that a list in order is none by accident.
pub(super) fn halves(list: &Transcript) -> Assembled {
    let middle = list.len() / 2;
    let mut halves = Assembled::keep(middle..list.len());
    halves.push_keep(0..middle);
    halves
}

impl ContextEngine for Walker {
    fn info(&self) -> EngineInfo {
        let mut info = EngineInfo::new("walker", "Walker", "1.0.0");
        info.methods.extend([Hook::Bootstrap, Hook::AfterTurn]);
        info.transcript_sync = self.sync;
        info
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: true })
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("nothing to make room for"))
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let list = request.transcript.clone();
        self.see(cx, request.runtime_context.clone(), list.clone())
            .await;
        Ok(request.reply(halves(&list)))
    }

    async fn bootstrap(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> Result<Bootstrapped, EngineError> {
        self.see(cx, request.runtime_context, request.transcript)
            .await;
        Ok(Bootstrapped {
            bootstrapped: true,
            ..Bootstrapped::default()
        })
    }

    async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Result<(), EngineError> {
        self.see(cx, request.runtime_context, request.transcript)
            .await;
        Ok(())
    }
}
