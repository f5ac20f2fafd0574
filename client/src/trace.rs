//! Layer: one span and one line for each call. Never content, never a session key.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower::{Layer, Service};
use tracing::{Instrument, debug_span};

use crate::call::{Answer, Call};
use crate::error::CallError;

/// Wraps a service of calls in [`Trace`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}

/// Records who answered each call, and how fast.
#[derive(Clone, Debug)]
pub(crate) struct Trace<S> {
    inner: S,
}

impl<S> Service<Call> for Trace<S>
where
    S: Service<Call, Response = Answer, Error = CallError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let span =
            debug_span!("contextwire.client.call", hook = %call.hook(), hook_id = %call.hook_id);
        let started = tokio::time::Instant::now();
        let answer = self.inner.call(call);
        let record = async move {
            let outcome = answer.await;
            let elapsed = started.elapsed();
            match &outcome {
                Ok(served) => {
                    let reason = served.reason.as_ref().map_or("", |reason| reason.code());
                    tracing::debug!(served_by = %served.by, reason, ?elapsed, "answered");
                }
                Err(error) => tracing::debug!(code = error.code(), ?elapsed, "failed"),
            }
            outcome
        };
        Box::pin(record.instrument(span))
    }
}
