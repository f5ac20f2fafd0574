//! Layer: lists become what changed, and results become the caller's own objects (PROTOCOL 3).

mod book;
mod upload;

use std::sync::Arc;
use std::task::{Context, Poll};

use contextwire_engine::{Assemble, AssembleOutcome, TranscriptSync};
use contextwire_proto::CallContext;
use contextwire_proto::convert::{AssembleStart, CompactStart, IngestRequest};
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::sync::PartLimits;
use futures_util::future::BoxFuture;
use tower::{Layer, Service};

pub(crate) use book::Book;
pub(crate) use upload::Upload;

use crate::call::{Answer, Call, EngineReply, EngineRequest, Served, ServedBy};
use crate::describe::KnownCall;
use crate::error::CallError;
use crate::transport::{WireCall, WireReply, WireRequest};

/// Room in the first frame for everything beside the transcript and the texts counted below.
const START_ROOM: usize = 16 << 10;

/// Wraps a service of wire calls in [`Sync`].
#[derive(Clone, Debug)]
pub(crate) struct SyncLayer {
    book: Arc<Book>,
    max_message_bytes: usize,
}

impl SyncLayer {
    pub(crate) fn new(max_message_bytes: usize) -> Self {
        Self {
            book: Arc::new(Book::new()),
            max_message_bytes,
        }
    }
}

impl<S> Layer<S> for SyncLayer {
    type Service = Sync<S>;

    fn layer(&self, inner: S) -> Sync<S> {
        Sync {
            inner,
            layer: self.clone(),
        }
    }
}

/// Translates calls to wire calls against what the engine acknowledged, and answers back.
#[derive(Clone, Debug)]
pub(crate) struct Sync<S> {
    inner: S,
    layer: SyncLayer,
}

impl<S> Service<KnownCall> for Sync<S>
where
    S: Service<WireCall, Response = WireReply, Error = CallError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, KnownCall { call, engine }: KnownCall) -> Self::Future {
        let view_len = match &call.request {
            EngineRequest::Assemble(request) => request.transcript.len(),
            EngineRequest::Ingest(_) | EngineRequest::Compact(_) => 0,
        };
        let traffic = call.traffic.clone();
        let answer = self.inner.call(self.layer.wire_call(call, &engine));
        Box::pin(async move {
            let result = match answer.await? {
                WireReply::Assembled(outcome) => {
                    EngineReply::Assembled(checked(outcome, view_len)?)
                }
                WireReply::Compacted(compacted) => EngineReply::Compacted(compacted),
                WireReply::Ingested(ingested) => EngineReply::Ingested(ingested),
            };
            let by = ServedBy::Engine(engine.info.id.clone());
            Ok(Served {
                result,
                by,
                reason: None,
                traffic,
            })
        })
    }
}

impl SyncLayer {
    fn wire_call(&self, call: Call, engine: &EngineDescription) -> WireCall {
        let mut cx = CallContext::new(call.hook_id, call.session.clone());
        cx.attempt = call.attempt;
        cx.budget = Some(call.share());
        let max_bytes = self.max_bytes(engine);
        let request = match call.request {
            EngineRequest::Assemble(request) => self.assemble(cx, request, engine, max_bytes),
            EngineRequest::Ingest(request) => {
                WireRequest::Ingest(Box::new(IngestRequest { call: cx, request }))
            }
            EngineRequest::Compact(request) => {
                WireRequest::Compact(Box::new(CompactStart { call: cx, request }))
            }
        };
        WireCall {
            request,
            share_ends: call.share_ends,
            max_bytes,
            traffic: call.traffic,
        }
    }

    fn assemble(
        &self,
        call: CallContext,
        request: Assemble,
        engine: &EngineDescription,
        max_bytes: usize,
    ) -> WireRequest {
        let texts =
            [&request.prompt, &request.memory_prompt].map(|t| t.as_ref().map_or(0, String::len));
        let beside = START_ROOM + texts.iter().sum::<usize>();
        let limits = PartLimits {
            first: max_bytes.saturating_sub(beside),
            rest: max_bytes,
        };
        let (upload, update) = Upload::begin(
            Arc::clone(&self.book),
            call.session.id.clone(),
            (
                request.site,
                engine.info.transcript_sync == TranscriptSync::Full,
            ),
            request.transcript.clone(),
            limits,
        );
        WireRequest::Assemble(
            Box::new(AssembleStart {
                call,
                request,
                update,
            }),
            Box::new(upload),
        )
    }

    /// Both sides advertise limits, the smaller holds.
    fn max_bytes(&self, engine: &EngineDescription) -> usize {
        let theirs = engine
            .limits
            .max_message_bytes
            .and_then(|bytes| usize::try_from(bytes).ok());
        theirs.unwrap_or(usize::MAX).min(self.max_message_bytes)
    }
}

/// A result that points outside the list never reaches the caller (R7.7).
fn checked(outcome: AssembleOutcome, view_len: usize) -> Result<AssembleOutcome, CallError> {
    if let AssembleOutcome::Messages(reply) = &outcome {
        let problem = |error| CallError::ContractViolation(format!("messages: {error}"));
        reply.messages.check(view_len).map_err(problem)?;
    }
    Ok(outcome)
}
