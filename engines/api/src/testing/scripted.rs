//! An engine that follows a script.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::assemble::{Assemble, AssembleOutcome};
use crate::compact::{Compact, Compacted};
use crate::context::{Cancellation, HookContext};
use crate::engine::ContextEngine;
use crate::error::EngineError;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, Ingested};
use crate::segment::Assembled;

/// What a [`ScriptedEngine`] does with an Assemble.
#[derive(Debug)]
pub enum Script {
    /// Keeps the whole view.
    Keep,
    /// Gives this list back, right or wrong.
    Answer(Assembled),
    /// Fails.
    Fail(EngineError),
    /// Panics.
    Panic,
    /// Waits until it is stopped, then notes that it was.
    Hang,
}

#[derive(Debug, Default)]
struct Notes {
    assembles: AtomicUsize,
    ingests: AtomicUsize,
    stopped: Cancellation,
    script: Mutex<Vec<Script>>,
}

/// An engine that follows a script, one line an Assemble, and keeps everything when it ran out.
#[derive(Clone, Debug, Default)]
pub struct ScriptedEngine(Arc<Notes>);

impl ScriptedEngine {
    /// An engine with these lines, first to last.
    pub fn new(script: impl IntoIterator<Item = Script>) -> Self {
        let mut lines: Vec<_> = script.into_iter().collect();
        lines.reverse();
        Self(Arc::new(Notes {
            script: Mutex::new(lines),
            ..Notes::default()
        }))
    }

    /// How often Assemble reached the engine.
    pub fn assembles(&self) -> usize {
        self.0.assembles.load(Ordering::SeqCst)
    }

    /// How often Ingest reached the engine.
    pub fn ingests(&self) -> usize {
        self.0.ingests.load(Ordering::SeqCst)
    }

    /// Ends when a hanging Assemble was really stopped.
    pub async fn stopped(&self) {
        self.0.stopped.cancelled().await;
    }
}

/// Notes the end of a hanging call, however it ends.
struct NoteOnDrop(Cancellation);

impl Drop for NoteOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ContextEngine for ScriptedEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("scripted", "Scripted engine", "1.0.0")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        self.0.ingests.fetch_add(1, Ordering::SeqCst);
        Ok(Ingested { ingested: true })
    }

    #[expect(clippy::panic, reason = "a test asks for it")]
    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.0.assembles.fetch_add(1, Ordering::SeqCst);
        let line = self
            .0
            .script
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match line.unwrap_or(Script::Keep) {
            Script::Keep => Ok(request.reply(Assembled::keep(0..request.transcript.len()))),
            Script::Answer(messages) => Ok(request.reply(messages)),
            Script::Fail(error) => Err(error),
            Script::Panic => panic!("the script says so"),
            Script::Hang => {
                let _note = NoteOnDrop(self.0.stopped.clone());
                std::future::pending().await
            }
        }
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("HOST_CALL_UNAVAILABLE"))
    }
}
