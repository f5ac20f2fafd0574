//! The leaf: one call on the wire, by a stub.

mod exchange;
mod linger;
mod rpc;
mod timeout;

use std::task::{Context, Poll};

use contextwire_engine::{AssembleOutcome, Compacted, Ingested};
use contextwire_proto::convert::{AssembleStart, CompactStart, IngestRequest, IngestResponse};
use contextwire_proto::v1;
use futures_util::future::BoxFuture;
use prost::Message as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Request;
use tower::Service;

use crate::call::Traffic;
use crate::classify::classify;
use crate::connect::Stub;
use crate::error::CallError;
use crate::sync::Upload;

use exchange::Exchange;
use linger::Linger;
use rpc::{AssembleRpc, CompactRpc};

/// A call in the wire's terms.
#[derive(Debug)]
pub(crate) struct WireCall {
    pub(crate) request: WireRequest,
    pub(crate) share_ends: Instant,
    /// Largest message that may be sent, in bytes.
    pub(crate) max_bytes: usize,
    pub(crate) traffic: Traffic,
}

/// What goes out; one variant an RPC.
#[derive(Debug)]
pub(crate) enum WireRequest {
    Assemble(Box<AssembleStart>, Box<Upload>),
    Compact(Box<CompactStart>),
    Ingest(Box<IngestRequest>),
}

/// What comes back; one variant an RPC.
#[derive(Debug)]
pub(crate) enum WireReply {
    Assembled(AssembleOutcome),
    Compacted(Compacted),
    Ingested(Ingested),
}

/// Sends calls through a stub; calls that their caller gives up are cancelled in band.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    stub: Stub,
    /// Calls that were given up and are being closed.
    closing: TaskTracker,
}

impl Transport {
    pub(crate) fn new(stub: Stub) -> Self {
        Self {
            stub,
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
            share_ends,
            max_bytes,
            traffic,
        } = call;
        let exchange = Exchange {
            stub: self.stub.clone(),
            stop: stop.clone(),
            share_ends,
            max_bytes,
            traffic,
        };
        let work: BoxFuture<'static, _> = match request {
            WireRequest::Assemble(start, upload) => Box::pin(async move {
                let result = exchange.run::<AssembleRpc>(start, Some(upload)).await?;
                Ok(WireReply::Assembled(result.outcome))
            }),
            WireRequest::Compact(start) => Box::pin(async move {
                let result = exchange.run::<CompactRpc>(start, None).await?;
                Ok(WireReply::Compacted(result.compacted))
            }),
            WireRequest::Ingest(request) => Box::pin(ingest(exchange, request)),
        };
        Box::pin(Linger::new(work, stop, self.closing.clone()))
    }
}

async fn ingest(exchange: Exchange, request: Box<IngestRequest>) -> Result<WireReply, CallError> {
    let Exchange {
        mut stub,
        stop: _,
        share_ends,
        max_bytes,
        traffic,
    } = exchange;
    let request = v1::IngestRequest::from(*request);
    let bytes = request.encoded_len();
    check_size(bytes, max_bytes)?;
    traffic.count_sent(bytes);
    let mut request = Request::new(request);
    timeout::set(
        &mut request,
        share_ends.saturating_duration_since(Instant::now()),
    );
    let answer = stub
        .ingest(request)
        .await
        .map_err(|status| classify(status, share_ends))?;
    let answer = answer.into_inner();
    traffic.count_received(answer.encoded_len());
    let IngestResponse { reply: _, ingested } = answer
        .try_into()
        .map_err(|error| CallError::ContractViolation(format!("Ingest: {error}")))?;
    Ok(WireReply::Ingested(ingested))
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
