//! A call back to the host within a hook, beside an echo on an open stream of the same bytes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use contextwire_client::EngineClient;
use contextwire_engine::{
    Assemble, AssembleOutcome, Compact, Compacted, ContextEngine, EngineError, EngineInfo,
    HookContext, HookId, Host, HostAnswer, HostCall, HostCalls, HostReply, Ingest, Ingested,
    LlmComplete, LlmCompleted,
};
use contextwire_proto::frame::{EngineFrame, HostCallRequest, HostCallResult, HostFrame};
use contextwire_proto::{CallIds, v1};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::bench::apart::Apart;
use crate::bench::bare::{self, Bare};
use crate::bench::conversation::session;
use crate::bench::engine::KeepAll;
use crate::bench::measure::Subject;

/// Text in each direction, in bytes.
const TEXT_BYTES: usize = 256;

fn asked() -> LlmComplete {
    LlmComplete {
        messages: vec![("user".to_owned(), "a".repeat(TEXT_BYTES))],
        ..LlmComplete::default()
    }
}

fn answered() -> HostReply {
    HostReply::Completed(LlmCompleted {
        text: "b".repeat(TEXT_BYTES),
        ..LlmCompleted::default()
    })
}

/// Wants one call made, and how long it took.
type Order = oneshot::Sender<Result<Duration, EngineError>>;

/// Calls its host back as often as it is told to, all in one hook.
#[derive(Clone, Debug)]
struct Calling {
    orders: Arc<Mutex<mpsc::Receiver<Order>>>,
}

impl ContextEngine for Calling {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("bench-call", "Calls its host back", "1.0.0")
    }

    async fn ingest(&self, cx: &HookContext, request: Ingest) -> Result<Ingested, EngineError> {
        KeepAll.ingest(cx, request).await
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        KeepAll.assemble(cx, request).await
    }

    async fn compact(&self, cx: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        while let Some(order) = self.orders.lock().await.recv().await {
            let started = Instant::now();
            let called = cx.host.complete(asked()).await;
            let took = called
                .map(|_| started.elapsed())
                .map_err(|error| EngineError::rejected(error.to_string()));
            let _gone = order.send(took).is_err();
        }
        Ok(Compacted::declined("nothing more is measured"))
    }
}

/// Answers at once.
struct Prompt;

impl HostCalls for Prompt {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        Box::pin(async { Ok(answered()) })
    }
}

/// The candidate: our engine's view of a call.
pub(super) struct Calls {
    orders: mpsc::Sender<Order>,
    _server: Apart,
    _hook: JoinHandle<()>,
}

impl Calls {
    pub(super) async fn open() -> anyhow::Result<Self> {
        let (orders, receiver) = mpsc::channel(1);
        let server = Apart::engine(Calling {
            orders: Arc::new(Mutex::new(receiver)),
        })
        .await?;
        let client = EngineClient::new(server.target())?.with_host(Host::new(Arc::new(Prompt)));
        let session = session("host-call")?;
        let hook = tokio::spawn(async move {
            let _ended = client.compact(&session, Compact::default()).await.is_ok();
        });
        Ok(Self {
            orders,
            _server: server,
            _hook: hook,
        })
    }
}

impl Subject for Calls {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let (order, took) = oneshot::channel();
        self.orders
            .send(order)
            .await
            .ok()
            .context("the hook has ended")?;
        Ok(took.await??)
    }
}

/// The baseline: the same two messages over an open stream of bare tonic.
pub(super) struct Echo {
    sent: v1::CompactRequest,
    frames: mpsc::Sender<v1::CompactRequest>,
    answers: Streaming<v1::CompactResponse>,
    _server: Apart,
}

impl Echo {
    pub(super) async fn open() -> anyhow::Result<Self> {
        let call = HostCall::Complete(asked());
        let call_id = CallIds::new(HookId::mint()).next(&call);
        let request = HostCallRequest {
            call_id: call_id.clone(),
            timeout: Duration::from_secs(100),
            call: Some(call),
        };
        let result = HostCallResult {
            call_id,
            outcome: Ok(answered()),
        };
        let server = Apart::bare(Bare {
            called: EngineFrame::HostCall(Box::new(request)).into(),
            ..Bare::default()
        })
        .await?;
        let (frames, outgoing) = mpsc::channel(1);
        let sent: v1::CompactRequest = HostFrame::HostCallResult(Box::new(result)).into();
        frames.send(sent.clone()).await?;
        let mut stub = bare::connect(&server).await?;
        let answers = stub.compact(ReceiverStream::new(outgoing)).await?;
        let mut answers = answers.into_inner();
        answers.message().await?;
        Ok(Self {
            sent,
            frames,
            answers,
            _server: server,
        })
    }
}

impl Subject for Echo {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let frame = self.sent.clone();
        let started = Instant::now();
        self.frames.send(frame).await?;
        self.answers
            .message()
            .await?
            .context("the echo has ended")?;
        Ok(started.elapsed())
    }
}
