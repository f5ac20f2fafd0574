//! `traceparent` of W3C Trace Context: which trace a call belongs to (R1.10).

use std::fmt;
use std::str::FromStr;

use contextwire_engine::HookId;

/// A span of a trace, as callers name it to whom they call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

/// A text that is no `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no traceparent: write 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, ids not zero")]
pub struct InvalidTraceParent;

const SAMPLED: u8 = 1;

impl TraceParent {
    /// The root of a trace of its own: a host that traces nothing still lets an engine's records be
    /// found by the call.
    pub(crate) fn of_hook(hook_id: HookId) -> Self {
        Self {
            trace_id: hook_id.to_u128(),
            span_id: mint_span_id(),
            flags: SAMPLED,
        }
    }

    /// A new span below this one.
    #[must_use]
    pub fn child(self) -> Self {
        Self {
            span_id: mint_span_id(),
            ..self
        }
    }

    /// The trace as 32 hex digits.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace_id)
    }

    /// The span as 16 hex digits.
    pub fn span_id(self) -> String {
        format!("{:016x}", self.span_id)
    }
}

/// The random part of an id; never zero.
fn mint_span_id() -> u64 {
    let (_, random) = uuid::Uuid::now_v7().as_u64_pair();
    random.max(1)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    /// Later versions may append fields, and are read as far as they are known.
    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let mut fields = text.split('-');
        let mut field = |len| {
            let field = fields.next().filter(|field| field.len() == len);
            let is_hex = |text: &&str| {
                let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                text.bytes().all(hex)
            };
            field.filter(is_hex).ok_or(InvalidTraceParent)
        };
        let (version, trace_id, span_id, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        let is_more = fields.next().is_some();
        let parsed = Self {
            trace_id: u128::from_str_radix(trace_id, 16).map_err(|_| InvalidTraceParent)?,
            span_id: u64::from_str_radix(span_id, 16).map_err(|_| InvalidTraceParent)?,
            flags: u8::from_str_radix(flags, 16).map_err(|_| InvalidTraceParent)?,
        };
        let bad = version == "ff" || (version == "00" && is_more);
        if bad || parsed.trace_id == 0 || parsed.span_id == 0 {
            return Err(InvalidTraceParent);
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_written_alike() {
        let parsed: TraceParent = EXAMPLE.parse().unwrap();
        assert_eq!(parsed.to_string(), EXAMPLE);
        assert_eq!(parsed.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let child = parsed.child();
        assert_eq!(child.trace_id(), parsed.trace_id());
        assert_ne!(child.span_id(), parsed.span_id());
    }

    #[test]
    fn what_is_none_is_refused() {
        let long = format!("{EXAMPLE}-more");
        let upper = EXAMPLE.to_uppercase();
        let zero = EXAMPLE.replace("00f067aa0ba902b7", "0000000000000000");
        for text in [
            "",
            "00",
            &long,
            &upper,
            &zero,
            &EXAMPLE.replace("00-4", "ff-4"),
        ] {
            assert_eq!(
                text.parse::<TraceParent>(),
                Err(InvalidTraceParent),
                "{text}"
            );
        }
        let later = long.replace("00-4", "01-4");
        assert!(later.parse::<TraceParent>().is_ok());
    }

    #[test]
    fn a_call_without_a_trace_is_one_by_its_own_id() {
        let hook_id = HookId::mint();
        let trace = TraceParent::of_hook(hook_id);
        assert_eq!(trace.trace_id(), hook_id.to_string().replace('-', ""));
        assert!(trace.to_string().parse::<TraceParent>().is_ok());
    }
}
