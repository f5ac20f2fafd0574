//! What travels beside a request: whose trace it is in, and which replica it belongs to (R1.10).

use tonic::Request;
use tonic::metadata::MetadataValue;
use tracing::{Span, debug_span};

use crate::trace_parent::TraceParent;

/// The metadata of one try.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    /// The try's own span.
    pub(crate) trace: Option<TraceParent>,
    /// The keyed hash of the session's name.
    pub(crate) affinity: String,
}

impl Metadata {
    /// Both keys are short: the 8 KiB that a call may carry are far.
    pub(super) fn set<T>(&self, request: &mut Request<T>) {
        let trace = self.trace.map(|trace| trace.to_string());
        let entries = [
            ("traceparent", trace),
            ("contextengine-affinity", Some(self.affinity.clone())),
        ];
        for (key, value) in entries {
            // Hex digits and dashes are always a value.
            let value = value.and_then(|value| MetadataValue::try_from(value).ok());
            if let Some(value) = value {
                request.metadata_mut().insert(key, value);
            }
        }
    }

    /// The span of the try.
    pub(super) fn span(&self, attempt: u32) -> Span {
        let span = debug_span!(
            "contextwire.client.attempt",
            attempt,
            span_id = tracing::field::Empty,
        );
        if let Some(trace) = self.trace.filter(|_| !span.is_disabled()) {
            span.record("span_id", trace.span_id());
        }
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_10_trace_and_affinity_travel_under_the_names_of_the_contract() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let metadata = Metadata {
            trace: text.parse().ok(),
            affinity: "0a1b".to_owned(),
        };
        let mut request = Request::new(());
        metadata.set(&mut request);
        assert_eq!(request.metadata().get("traceparent").unwrap(), text);
        let affinity = request.metadata().get("contextengine-affinity");
        assert_eq!(affinity.unwrap(), "0a1b");
    }
}
