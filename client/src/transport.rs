//! The leaf: one call on the wire, by a stub.

mod ask;
mod exchange;
mod linger;
mod metadata;
mod rpc;
mod silence;
mod timeout;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use contextwire_engine::{Hook, HookId, Host, Reply};
use contextwire_proto::convert::{
    AfterTurnStart, AssembleStart, BootstrapStart, CommitTurnRequest, CompactStart, DisposeRequest,
    EndSubagentRequest, IngestBatchRequest, IngestRequest, MaintainStart,
    PrepareSubagentSpawnRequest, ResolveSubagentSpawnRequest,
};
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;
use tracing::Instrument;

use crate::call::Traffic;
use crate::compat::Adaptation;
use crate::connect::{Passage, Stub};
use crate::error::CallError;
use crate::host_call::{AttemptCalls, HostCallBook};
use crate::observer::Observer;
use crate::request::EngineReply;
use crate::sync::Upload;

pub(crate) use metadata::Metadata;

use exchange::Exchange;
use linger::Linger;
use rpc::{
    AfterTurnRpc, AssembleRpc, BootstrapRpc, CommitTurnRpc, CompactRpc, DisposeRpc, EndSubagentRpc,
    IngestBatchRpc, IngestRpc, MaintainRpc, PrepareSubagentSpawnRpc, ResolveSubagentSpawnRpc,
};
use silence::Silence;

/// A call in the wire's terms.
#[derive(Debug)]
pub(crate) struct WireCall {
    pub(crate) request: WireRequest,
    pub(crate) hook: Hook,
    pub(crate) hook_id: HookId,
    pub(crate) attempt: u32,
    pub(crate) metadata: Metadata,
    /// Who serves what the engine asks meanwhile.
    pub(crate) host: Host,
    pub(crate) share_ends: Instant,
    /// Longest silence of the engine while the host owes it nothing.
    pub(crate) idle: Option<Duration>,
    /// Largest message that may be sent, in bytes.
    pub(crate) max_bytes: usize,
    pub(crate) traffic: Traffic,
    pub(crate) adaptation: Adaptation,
}

/// What goes out; one variant an RPC.
#[derive(Debug)]
pub(crate) enum WireRequest {
    Assemble(Box<AssembleStart>, Box<Upload>),
    Bootstrap(Box<BootstrapStart>, Box<Upload>),
    AfterTurn(Box<AfterTurnStart>, Box<Upload>),
    Compact(Box<CompactStart>, Box<Upload>),
    Maintain(Box<MaintainStart>, Box<Upload>),
    Ingest(Box<IngestRequest>),
    IngestBatch(Box<IngestBatchRequest>),
    CommitTurn(Box<CommitTurnRequest>),
    PrepareSubagentSpawn(Box<PrepareSubagentSpawnRequest>),
    ResolveSubagentSpawn(Box<ResolveSubagentSpawnRequest>),
    EndSubagent(Box<EndSubagentRequest>),
    Dispose(Box<DisposeRequest>),
}

impl WireRequest {
    /// Which hook it calls.
    pub(crate) fn hook(&self) -> Hook {
        match self {
            Self::Assemble(..) => Hook::Assemble,
            Self::Bootstrap(..) => Hook::Bootstrap,
            Self::AfterTurn(..) => Hook::AfterTurn,
            Self::Compact(..) => Hook::Compact,
            Self::Maintain(..) => Hook::Maintain,
            Self::Ingest(_) => Hook::Ingest,
            Self::IngestBatch(_) => Hook::IngestBatch,
            Self::CommitTurn(_) => Hook::CommitTurn,
            Self::PrepareSubagentSpawn(_) => Hook::PrepareSubagentSpawn,
            Self::ResolveSubagentSpawn(_) => Hook::ResolveSubagentSpawn,
            Self::EndSubagent(_) => Hook::EndSubagent,
            Self::Dispose(_) => Hook::Dispose,
        }
    }
}

/// What comes back.
#[derive(Debug)]
pub(crate) struct WireReply {
    pub(crate) result: EngineReply,
    /// Beside the answer.
    pub(crate) said: Reply,
}

/// Sends calls through a stub; calls that their caller gives up are cancelled in band.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    stub: Stub,
    host_calls: Arc<HostCallBook>,
    observer: Arc<Observer>,
    /// Calls that were given up and are being closed.
    closing: TaskTracker,
}

impl Transport {
    pub(crate) fn new(stub: Stub, host_calls: Arc<HostCallBook>, observer: Arc<Observer>) -> Self {
        Self {
            stub,
            host_calls,
            observer,
            closing: TaskTracker::new(),
        }
    }
}

impl Service<WireCall> for Transport {
    type Response = WireReply;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<WireReply, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: WireCall) -> Self::Future {
        let stop = CancellationToken::new();
        let WireCall {
            request,
            hook,
            hook_id,
            attempt,
            metadata,
            host,
            share_ends,
            idle,
            max_bytes,
            traffic,
            adaptation,
        } = call;
        self.observer.attempt(hook);
        let span = metadata.span(attempt);
        let silence = Silence::of(idle);
        let exchange = Exchange {
            stub: self.stub.clone(),
            stop: stop.clone(),
            share_ends,
            silence: silence.clone(),
            max_bytes,
            traffic,
            adaptation,
            metadata,
            calls: AttemptCalls {
                book: Arc::clone(&self.host_calls),
                hook: request.hook(),
                observer: Arc::clone(&self.observer),
                hook_id,
                host,
                ends: share_ends,
            },
            passage: Passage::default(),
        };
        let work = Box::pin(send(exchange, request).instrument(span));
        let answer = Linger::new(work, stop, self.closing.clone());
        let host_calls = Arc::clone(&self.host_calls);
        Box::pin(async move {
            // Whoever stops waiting here lets the call be closed in band.
            let answer = tokio::select! {
                answer = answer => answer?,
                idle = silence.broken() => return Err(CallError::Silent { idle }),
            };
            host_calls.settled(hook_id);
            Ok(answer)
        })
    }
}

type Work = BoxFuture<'static, Result<WireReply, CallError>>;

fn send(exchange: Exchange, request: WireRequest) -> Work {
    use WireRequest as W;
    match request {
        W::Assemble(start, upload) => Box::pin(exchange.run::<AssembleRpc>(start, upload)),
        W::Bootstrap(start, upload) => Box::pin(exchange.run::<BootstrapRpc>(start, upload)),
        W::AfterTurn(start, upload) => Box::pin(exchange.run::<AfterTurnRpc>(start, upload)),
        W::Compact(start, upload) => Box::pin(exchange.run::<CompactRpc>(start, upload)),
        W::Maintain(start, upload) => Box::pin(exchange.run::<MaintainRpc>(start, upload)),
        W::Ingest(request) => Box::pin(exchange.ask::<IngestRpc>(request)),
        W::IngestBatch(request) => Box::pin(exchange.ask::<IngestBatchRpc>(request)),
        W::CommitTurn(request) => Box::pin(exchange.ask::<CommitTurnRpc>(request)),
        W::PrepareSubagentSpawn(request) => {
            Box::pin(exchange.ask::<PrepareSubagentSpawnRpc>(request))
        }
        W::ResolveSubagentSpawn(request) => {
            Box::pin(exchange.ask::<ResolveSubagentSpawnRpc>(request))
        }
        W::EndSubagent(request) => Box::pin(exchange.ask::<EndSubagentRpc>(request)),
        W::Dispose(request) => Box::pin(exchange.ask::<DisposeRpc>(request)),
    }
}

/// A transport would report a message over the limit as a broken connection.
fn check_size(bytes: usize, limit: usize) -> Result<(), CallError> {
    if bytes > limit {
        return Err(CallError::MessageTooLarge {
            bytes: bytes as u64,
            limit: limit as u64,
        });
    }
    Ok(())
}
