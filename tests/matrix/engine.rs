//! The engine of the other process: it has every method, and in each does what the first word of the
//! session's id says.

use std::time::Duration;

use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted,
    ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo, HookContext, Ingest, IngestBatch,
    Ingested, IngestedBatch, Maintain, Maintained, PrepareSubagentSpawn, ResolveSubagentSpawn,
    SpawnPrepared, TurnCommitted,
};

use super::child::say;
use crate::harness::Gate;

/// How long a host is to bear its silence: longer than the deadline of any test.
pub(super) const SILENCE: Duration = Duration::from_mins(5);

/// The engine.
#[derive(Debug)]
pub(super) struct Misbehaving {
    well: RecordingEngine,
    gate: Gate,
}

impl Misbehaving {
    pub(super) fn new() -> Self {
        Self {
            well: RecordingEngine::new(),
            gate: Gate::new(),
        }
    }

    async fn first(&self, cx: &HookContext) -> Result<(), EngineError> {
        let id = cx.session.id.as_str();
        match id.split(' ').next().unwrap() {
            "panics" => panic!("as the test wants"),
            "transient" => return Err(EngineError::transient("the database restarts")),
            // Nothing ends it but the other side.
            "hangs" => {
                say("arrived");
                std::future::pending::<()>().await;
            }
            // It does not stop when it is told to, and is done then.
            "late" => cx.cancellation.cancelled().await,
            "held" => {
                say("arrived");
                self.gate.pass().await;
            }
            "release" => self.gate.open(),
            _ => {}
        }
        Ok(())
    }
}

macro_rules! methods {
    ($($method:ident: $request:ty => $answer:ty;)*) => {
        impl ContextEngine for Misbehaving {
            fn info(&self) -> EngineInfo {
                EngineInfo {
                    max_silence: Some(SILENCE),
                    ..self.well.info()
                }
            }

            $(async fn $method(
                &self,
                cx: &HookContext,
                request: $request,
            ) -> Result<$answer, EngineError> {
                self.first(cx).await?;
                self.well.$method(cx, request).await
            })*
        }
    };
}

methods! {
    ingest: Ingest => Ingested;
    assemble: Assemble => AssembleOutcome;
    compact: Compact => Compacted;
    ingest_batch: IngestBatch => IngestedBatch;
    bootstrap: Bootstrap => Bootstrapped;
    after_turn: AfterTurn => ();
    commit_turn: CommitTurn => TurnCommitted;
    maintain: Maintain => Maintained;
    prepare_subagent_spawn: PrepareSubagentSpawn => SpawnPrepared;
    resolve_subagent_spawn: ResolveSubagentSpawn => ();
    end_subagent: EndSubagent => ();
    dispose: Dispose => ();
}
