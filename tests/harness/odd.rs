//! An engine that has every method, and in each does what the id of the session says first.

use std::sync::{Arc, Mutex};

use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted,
    ContextEngine, Dispose, EndSubagent, EngineError, EngineInfo, HookContext, Ingest, IngestBatch,
    Ingested, IngestedBatch, LlmComplete, Maintain, Maintained, PrepareSubagentSpawn,
    ReadTranscript, ResolveSubagentSpawn, RewriteEntries, SpawnPrepared, TurnCommitted,
};

use super::Gate;

/// The engine; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Odd {
    pub(crate) seen: RecordingEngine,
    /// Where calls of the sessions `held` and `committed` wait, and where those of `finishes` arrive.
    pub(crate) gate: Gate,
    /// Why its calls to hosts failed.
    pub(crate) refused: Arc<Mutex<Vec<String>>>,
}

impl Odd {
    pub(crate) fn new() -> Self {
        Self {
            seen: RecordingEngine::new(),
            gate: Gate::new(),
            refused: Arc::default(),
        }
    }

    async fn first(&self, cx: &HookContext) {
        match cx.session.id.as_str() {
            "panics" => panic!("as the test wants"),
            "held" => self.gate.pass().await,
            "committed" => {
                cx.cancellation.commit().unwrap();
                self.gate.pass().await;
            }
            "calls" => self.call_the_host(cx).await,
            "asks" => drop(cx.log.fetch().await),
            "finishes" => self.finish(cx).await,
            _ => {}
        }
    }

    /// Works until somebody asks it to stop, and is done all the same.
    async fn finish(&self, cx: &HookContext) {
        self.gate.arrive();
        cx.cancellation.cancelled().await;
    }

    /// Every call that there is; none of them is needed.
    async fn call_the_host(&self, cx: &HookContext) {
        let reasons = [
            cx.host.rewrite(RewriteEntries::default()).await.err(),
            cx.host.complete(LlmComplete::default()).await.err(),
            cx.host
                .read_transcript(ReadTranscript::default())
                .await
                .err(),
            cx.host.delegate_compaction(Compact::default()).await.err(),
        ];
        let reasons = reasons.map(|error| error.expect("a host that serves nothing").reason);
        self.refused.lock().unwrap().extend(reasons);
    }
}

macro_rules! methods {
    ($($method:ident: $request:ty => $answer:ty;)*) => {
        impl ContextEngine for Odd {
            fn info(&self) -> EngineInfo {
                self.seen.info()
            }

            $(async fn $method(
                &self,
                cx: &HookContext,
                request: $request,
            ) -> Result<$answer, EngineError> {
                self.first(cx).await;
                self.seen.$method(cx, request).await
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
