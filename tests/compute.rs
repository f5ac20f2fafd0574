//! Engines that compute without awaiting: stopped by the clock where they ask it, and in nobody's
//! way where they do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, HookContext, HookId, Ingest, Ingested,
};
use contextwire_proto::convert::IngestRequest;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::{CallContext, Reason, v1};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request};

use crate::harness::{
    Gate, Place, RawAssemble, message, refusal, session, soon, start, stub, transcript,
};

const OUT_OF_TIME: (Code, Option<Reason>) =
    (Code::DeadlineExceeded, Some(Reason::DeadlineExceeded));

/// Computes in every hook until it is told to stop.
#[derive(Clone)]
struct Computing {
    /// What tells it: the call, or else the test alone.
    asks: bool,
    stop: Arc<AtomicBool>,
    gate: Gate,
}

impl Computing {
    fn new(asks: bool) -> Self {
        let gate = Gate::new();
        gate.open();
        Self {
            asks,
            stop: Arc::default(),
            gate,
        }
    }

    async fn compute(&self, cx: &HookContext) -> Result<(), EngineError> {
        self.gate.pass().await;
        while !self.stop.load(Ordering::Relaxed) {
            if self.asks {
                cx.check()?;
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

impl ContextEngine for Computing {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("computing", "Computes", "1.0.0")
    }

    async fn ingest(&self, cx: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        self.compute(cx).await?;
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        if self.asks {
            self.compute(cx).await?;
        }
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, cx: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        self.compute(cx).await?;
        Ok(Compacted::declined("computed"))
    }
}

fn ingest(budget_ms: u64) -> v1::IngestRequest {
    let call = CallContext {
        budget: Some(Duration::from_millis(budget_ms)),
        ..CallContext::new(HookId::mint(), session("s"))
    };
    let request = Ingest {
        message: message(0),
        is_heartbeat: false,
    };
    IngestRequest { call, request }.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_01_an_engine_that_asks_stops_at_the_smaller_of_header_and_budget() {
    for place in Place::each() {
        let engine = Computing::new(true);
        let _running = place.serve(engine).await;
        let stub = stub(&place.target());
        for (header, budget_ms) in [(60_000, 200), (200, 60_000)] {
            let mut request = Request::new(ingest(budget_ms));
            request.set_timeout(Duration::from_millis(header));
            let status = soon(stub.clone().ingest(request)).await.unwrap_err();
            // tonic's own timer may be first to notice the header's.
            assert!(
                refusal(&status) == OUT_OF_TIME || header < budget_ms,
                "{status}"
            );

            let mut first = start(&transcript(3));
            first.call.as_mut().unwrap().budget_ms = budget_ms;
            let (frames, outgoing) = mpsc::channel(1);
            let frame = Some(HostFrame::Start(first));
            frames.send(v1::AssembleRequest { frame }).await.unwrap();
            let mut request = Request::new(ReceiverStream::new(outgoing));
            request.set_timeout(Duration::from_millis(header));
            let mut answers = soon(stub.clone().assemble(request)).await.unwrap();
            let status = soon(answers.get_mut().message()).await.unwrap_err();
            assert_eq!(refusal(&status), OUT_OF_TIME, "{status}");
        }
    }
}

/// More of them than the server has threads.
#[tokio::test(flavor = "multi_thread")]
async fn unary_hooks_that_never_ask_hold_up_nobody() {
    for place in Place::each() {
        let engine = Computing::new(false);
        let (stop, gate) = (Arc::clone(&engine.stop), engine.gate.clone());
        let _running = place.serve(engine).await;
        let stub = stub(&place.target());
        let mut calls = JoinSet::new();
        for _ in 0..4 {
            let mut stub = stub.clone();
            calls.spawn(async move { stub.ingest(ingest(60_000)).await });
        }
        gate.arrived(4).await;
        let mut hook = RawAssemble::start(&stub, start(&transcript(3))).await;
        assert_eq!(hook.kept().await, [(0, 3)]);
        stop.store(true, Ordering::Relaxed);
        for answer in soon(calls.join_all()).await {
            assert!(answer.unwrap().into_inner().ingested);
        }
    }
}
