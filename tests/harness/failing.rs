//! An engine that has the methods which a test names, and fails or waits where the test says so.

use std::sync::{Arc, Mutex};

use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted,
    ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo, ErrorKind, Hook, HookContext,
    Ingest, IngestBatch, Ingested, IngestedBatch, Maintain, Maintained, PrepareSubagentSpawn,
    ResolveSubagentSpawn, SpawnPrepared, TurnCommitted,
};

use super::Gate;

/// An engine that remembers its calls, and fails the next ones that a test names. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    /// What it took.
    pub(crate) seen: RecordingEngine,
    /// Each with how many calls of that hook come before.
    fails: Arc<Mutex<Vec<(Hook, usize)>>>,
    held: Option<(Hook, Gate)>,
}

impl Failing {
    /// An engine with the required methods and these.
    pub(crate) fn with(methods: &[Hook]) -> Self {
        Self::of(RecordingEngine::new().with_methods(methods.iter().copied()))
    }

    /// The same over an engine of the test's own.
    pub(crate) fn of(seen: RecordingEngine) -> Self {
        Self {
            seen,
            fails: Arc::default(),
            held: None,
        }
    }

    /// The same, whose calls of this hook wait at a gate.
    pub(crate) fn holding(self, hook: Hook, gate: &Gate) -> Self {
        Self {
            held: Some((hook, gate.clone())),
            ..self
        }
    }

    /// The next call of this hook fails.
    pub(crate) fn fail_next(&self, hook: Hook) {
        self.fail_after(hook, 0);
    }

    /// The call of this hook fails that so many others come before.
    pub(crate) fn fail_after(&self, hook: Hook, before: usize) {
        self.fails.lock().unwrap().push((hook, before));
    }

    /// The hooks that it took, in order.
    pub(crate) fn hooks(&self) -> Vec<Hook> {
        self.seen.hooks()
    }

    async fn first(&self, hook: Hook) -> Result<(), EngineError> {
        if let Some((_, gate)) = self.held.as_ref().filter(|held| held.0 == hook) {
            gate.pass().await;
        }
        self.due(hook)
    }

    fn due(&self, hook: Hook) -> Result<(), EngineError> {
        let mut fails = self.fails.lock().unwrap();
        let Some(place) = fails.iter().position(|it| it.0 == hook) else {
            return Ok(());
        };
        if let Some(before) = fails[place].1.checked_sub(1) {
            fails[place].1 = before;
            return Ok(());
        }
        fails.remove(place);
        Err(EngineError::new(ErrorKind::Failure, "as the test wants"))
    }
}

macro_rules! methods {
    ($($method:ident $hook:ident: $request:ty => $answer:ty;)*) => {
        impl ContextEngine for Failing {
            fn info(&self) -> EngineInfo {
                self.seen.info()
            }

            $(async fn $method(
                &self,
                cx: &HookContext,
                request: $request,
            ) -> Result<$answer, EngineError> {
                self.first(Hook::$hook).await?;
                self.seen.$method(cx, request).await
            })*
        }
    };
}

methods! {
    ingest Ingest: Ingest => Ingested;
    assemble Assemble: Assemble => AssembleOutcome;
    compact Compact: Compact => Compacted;
    ingest_batch IngestBatch: IngestBatch => IngestedBatch;
    bootstrap Bootstrap: Bootstrap => Bootstrapped;
    after_turn AfterTurn: AfterTurn => ();
    commit_turn CommitTurn: CommitTurn => TurnCommitted;
    maintain Maintain: Maintain => Maintained;
    prepare_subagent_spawn PrepareSubagentSpawn: PrepareSubagentSpawn => SpawnPrepared;
    resolve_subagent_spawn ResolveSubagentSpawn: ResolveSubagentSpawn => ();
    end_subagent EndSubagent: EndSubagent => ();
    dispose Dispose: Dispose => ();
}
