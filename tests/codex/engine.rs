//! An engine that shows a summary once an epoch.

use std::sync::{Arc, Mutex};

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    ContextProjection, EngineError, EngineInfo, HookContext, Ingest, Ingested, KnownProjection,
    Message, ProjectionMode, Unchanged,
};

/// What is shown, and what was heard.
#[derive(Debug, Default)]
struct State {
    epoch: String,
    known: Vec<Option<KnownProjection>>,
    ingested: usize,
}

/// The engine. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct EpochEngine(Arc<Mutex<State>>);

impl EpochEngine {
    pub(crate) fn show(&self, epoch: &str) {
        epoch.clone_into(&mut self.0.lock().unwrap().epoch);
    }

    /// What it heard of threads, as epochs, call by call.
    pub(crate) fn known(&self) -> Vec<Option<String>> {
        let known = self.0.lock().unwrap().known.clone();
        let epoch = |known: KnownProjection| known.epoch;
        known.into_iter().map(|known| known.map(epoch)).collect()
    }

    /// How many messages it was told.
    pub(crate) fn ingested(&self) -> usize {
        self.0.lock().unwrap().ingested
    }
}

impl ContextEngine for EpochEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("epochs", "Epochs", "1")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        self.0.lock().unwrap().ingested += 1;
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let mut state = self.0.lock().unwrap();
        let known = request.known_projection;
        state.known.push(known.clone());
        if known.is_some_and(|known| known.epoch == state.epoch) {
            return Ok(AssembleOutcome::Unchanged(Unchanged::default()));
        }
        let mut messages = Assembled::new();
        let summary = format!(
            r#"{{"role":"user","content":"summary of {}"}}"#,
            state.epoch
        );
        messages.push_insert(Message::from_payload(summary));
        Ok(AssembleReply {
            messages,
            context_projection: Some(ContextProjection {
                mode: ProjectionMode::ThreadBootstrap,
                epoch: Some(state.epoch.clone()),
                fingerprint: None,
            }),
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("there is nothing to compact"))
    }
}
