//! Layer: one span and one line for each call. Never content, never a session key.

use std::sync::Arc;

use tracing::{Instrument, debug_span};

use crate::call::Call;
use crate::layer::{Below, Pending, Wrap, layer};
use crate::observer::Observer;
use crate::trace_parent::TraceParent;

/// Records who answered each call, and how fast.
#[derive(Clone, Debug)]
pub(crate) struct Trace(pub(crate) Arc<Observer>);

layer!(Trace);

impl Wrap for Trace {
    fn call<S: Below>(&self, below: &mut S, mut call: Call) -> Pending {
        let (hook, hook_id) = (call.hook(), call.hook_id);
        let trace = call
            .trace
            .map_or_else(|| TraceParent::of_hook(hook_id), TraceParent::child);
        call.trace = Some(trace);
        let span = debug_span!(
            "contextwire.client.call",
            %hook,
            %hook_id,
            trace_id = tracing::field::Empty,
            span_id = tracing::field::Empty,
        );
        if !span.is_disabled() {
            span.record("trace_id", trace.trace_id());
            span.record("span_id", trace.span_id());
        }
        let observer = Arc::clone(&self.0);
        let started = tokio::time::Instant::now();
        let answer = span.in_scope(|| below.call(call));
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
            observer.call_ended(hook, &outcome, elapsed);
            outcome
        };
        Box::pin(record.instrument(span))
    }
}
