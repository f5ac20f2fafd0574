//! An engine that does what a test says, and remembers what it saw.

use std::sync::{Arc, Mutex};

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Cancellation, Compact, Compacted,
    ContextEngine, EngineError, EngineInfo, HookContext, Ingest, Ingested, Transcript,
    TranscriptSync,
};
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::soon;

type Answer = BoxFuture<'static, Result<Assembled, EngineError>>;
type Behaviour = Arc<dyn Fn(HookContext, Transcript) -> Answer + Send + Sync>;

/// An engine with a behaviour of the test's own. Clones are one engine.
#[derive(Clone)]
pub(crate) struct TestEngine {
    behaviour: Behaviour,
    sync: TranscriptSync,
    compacting: Option<Gate>,
    ingesting: Option<Gate>,
    seen: Arc<Mutex<Vec<Assemble>>>,
}

impl TestEngine {
    /// An engine that keeps everything.
    pub(crate) fn keep() -> Self {
        Self::of(|_, list| async move { Ok(Assembled::keep(0..list.len())) })
    }

    /// An engine that answers Assemble by this function.
    pub(crate) fn of<F>(
        behaviour: impl Fn(HookContext, Transcript) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Assembled, EngineError>> + Send + 'static,
    {
        Self {
            behaviour: Arc::new(move |cx, list| Box::pin(behaviour(cx, list))),
            sync: TranscriptSync::Delta,
            compacting: None,
            ingesting: None,
            seen: Arc::default(),
        }
    }

    /// The same, declaring how it takes lists.
    pub(crate) fn with_sync(self, sync: TranscriptSync) -> Self {
        Self { sync, ..self }
    }

    /// The same, with a Compact that waits at this gate.
    pub(crate) fn with_compact_at(self, gate: &Gate) -> Self {
        Self {
            compacting: Some(gate.clone()),
            ..self
        }
    }

    /// The same, with an Ingest that waits at this gate.
    pub(crate) fn with_ingest_at(self, gate: &Gate) -> Self {
        Self {
            ingesting: Some(gate.clone()),
            ..self
        }
    }

    /// The lists that reached it, in order.
    pub(crate) fn seen(&self) -> Vec<Transcript> {
        self.requests()
            .into_iter()
            .map(|request| request.transcript)
            .collect()
    }

    /// The requests that reached it, in order.
    pub(crate) fn requests(&self) -> Vec<Assemble> {
        self.seen.lock().unwrap().clone()
    }
}

impl ContextEngine for TestEngine {
    fn info(&self) -> EngineInfo {
        let info = EngineInfo::new("test", "Test engine", "1.0.0");
        EngineInfo {
            transcript_sync: self.sync,
            ..info
        }
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        if let Some(gate) = &self.ingesting {
            gate.pass().await;
        }
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.seen.lock().unwrap().push(request.clone());
        let messages = (self.behaviour)(cx.clone(), request.transcript).await?;
        // Counting tokens is another engine's business.
        Ok(AssembleReply {
            messages,
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        if let Some(gate) = &self.compacting {
            gate.pass().await;
        }
        Ok(Compacted::declined("HOST_CALL_UNAVAILABLE"))
    }
}

/// Where calls wait until the test lets them go on, and where their ends are counted.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    open: Cancellation,
    left: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self {
            arrived: Arc::new(Semaphore::new(0)),
            open: Cancellation::new(),
            left: Arc::new(Semaphore::new(0)),
        }
    }

    /// An engine whose Assemble waits here, and keeps everything.
    pub(crate) fn engine(&self) -> TestEngine {
        let gate = self.clone();
        TestEngine::of(move |_, list| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(Assembled::keep(0..list.len()))
            }
        })
    }

    /// What a call does: arrives, waits until the gate opens, and leaves, also when it is stopped.
    pub(crate) async fn pass(&self) {
        let _leaves = AddOnDrop(Arc::clone(&self.left));
        self.arrive();
        self.open.cancelled().await;
    }

    /// Arrives without waiting.
    pub(crate) fn arrive(&self) {
        self.arrived.add_permits(1);
    }

    /// Ends when `calls` more have arrived.
    pub(crate) async fn arrived(&self, calls: u32) {
        soon(self.arrived.acquire_many(calls))
            .await
            .unwrap()
            .forget();
    }

    /// Ends when `calls` more have left.
    pub(crate) async fn left(&self, calls: u32) {
        soon(self.left.acquire_many(calls)).await.unwrap().forget();
    }

    /// How many have left and were not waited for.
    pub(crate) fn gone(&self) -> usize {
        self.left.available_permits()
    }

    /// Lets all calls go on, from now on.
    pub(crate) fn open(&self) {
        self.open.cancel();
    }
}

struct AddOnDrop(Arc<Semaphore>);

impl Drop for AddOnDrop {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}
