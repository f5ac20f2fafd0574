//! Engine errors as statuses: an engine never forwards the status of something it called (R6.5).

use contextwire_engine::{EngineError, ErrorKind, Hook, SegmentError};
use contextwire_proto::sync::List;
use contextwire_proto::{Reason, Refusal};
use tonic::Status;

use crate::load::NoRoom;

/// The status of an engine's error. Its cause goes to the log, not over the wire.
pub(crate) fn engine_error(hook: Hook, error: &EngineError) -> Status {
    let refusal = refusal("hook", hook.name(), error);
    note(hook, refusal.reason(), error);
    refusal.into_status()
}

/// The status of an error of the engine's operator's side.
pub(crate) fn admin_error(method: &'static str, error: &EngineError) -> Status {
    let refusal = refusal("method", method, error);
    let reason = refusal.reason().name();
    tracing::warn!(method, reason, error = %chain(error), "the engine failed");
    refusal.into_status()
}

/// The status of a look that would hold one log more in memory.
pub(crate) fn enough_looks(limit: usize) -> Status {
    let text = format!("{limit} inspections run already");
    Refusal::new(Reason::Overloaded, text)
        .with("limit", &limit)
        .into_status()
}

fn refusal(what: &'static str, name: &'static str, error: &EngineError) -> Refusal {
    let refuse = |reason| Refusal::new(reason, error.message()).with(what, name);
    match error.kind() {
        ErrorKind::Transient => refuse(Reason::DependencyUnavailable),
        ErrorKind::Rejected => refuse(Reason::InvalidRequest),
        ErrorKind::Cancelled => refuse(Reason::Cancelled),
        ErrorKind::Unsupported => refuse(Reason::MethodAbsent),
        ErrorKind::IdempotencyConflict => refuse(Reason::IdempotencyConflict),
        ErrorKind::InProgress { retry_after } => {
            refuse(Reason::InProgress).retry_after(retry_after)
        }
        ErrorKind::GenerationConflict { recorded } => refuse(Reason::GenerationConflict)
            .with("host_epoch", &recorded.host_epoch)
            .with("session_seq", &recorded.session_seq),
        ErrorKind::HookClosed => refuse(Reason::HookClosed),
        ErrorKind::PreparationExpired => refuse(Reason::PreparationExpired),
        ErrorKind::Failure | _ => refuse(Reason::EngineFailure),
    }
}

/// A line in the log, as loud as an operator can do something about it.
fn note(hook: Hook, reason: Reason, error: &EngineError) {
    let text = chain(error);
    match error.kind() {
        ErrorKind::Cancelled | ErrorKind::InProgress { .. } | ErrorKind::HookClosed => {
            tracing::debug!(%hook, reason = reason.name(), error = %text, "the engine did not act");
        }
        // Only methods that it advertises get as far as the engine.
        ErrorKind::Unsupported => {
            tracing::error!(%hook, "the engine advertises a method and answers that it is absent");
        }
        ErrorKind::Rejected
        | ErrorKind::IdempotencyConflict
        | ErrorKind::GenerationConflict { .. }
        | ErrorKind::PreparationExpired => {
            tracing::info!(%hook, reason = reason.name(), error = %text, "the engine refused a call");
        }
        ErrorKind::Transient | ErrorKind::Failure | _ => {
            tracing::warn!(%hook, reason = reason.name(), error = %text, "the engine failed");
        }
    }
}

/// The status of a panic; it ends its call only (R6.4).
pub(crate) fn panicked(hook: Hook) -> Status {
    tracing::error!(%hook, "the engine panicked");
    Refusal::new(
        Reason::EngineFailure,
        format!("the engine panicked in {hook}"),
    )
    .with("hook", hook.name())
    .into_status()
}

/// The status of a method that this engine does not have (R1.1).
pub(crate) fn absent(hook: Hook) -> Status {
    Refusal::new(Reason::MethodAbsent, format!("{hook} is not implemented"))
        .with("method", hook.name())
        .into_status()
}

/// The status of a server that goes away.
pub(crate) fn draining() -> Status {
    Refusal::new(
        Reason::Draining,
        "the engine is going away: use another replica, or wait",
    )
    .into_status()
}

/// The status of a call that there is no room for.
pub(crate) fn no_room(why: NoRoom) -> Status {
    let (reason, limit) = match why {
        NoRoom::Hook(limit) | NoRoom::SessionHook(limit) | NoRoom::Bytes(limit) => {
            (Reason::Overloaded, limit)
        }
        NoRoom::Call(limit) => (Reason::Quota, limit),
    };
    Refusal::new(reason, why.to_string())
        .with("limit", &limit)
        .into_status()
}

/// The status of a request whose host stopped in the middle of it.
pub(crate) fn unfinished(hook: Hook) -> Status {
    Refusal::new(
        Reason::DeadlineExceeded,
        format!("the request of {hook} did not arrive whole"),
    )
    .with("hook", hook.name())
    .into_status()
}

/// The status of a call that ran out of its budget.
pub(crate) fn deadline(hook: Hook) -> Status {
    Refusal::new(
        Reason::DeadlineExceeded,
        format!("{hook} ran out of its budget"),
    )
    .with("hook", hook.name())
    .into_status()
}

/// The status of a call that was stopped before its effect (R1.5).
pub(crate) fn cancelled(hook: Hook) -> Status {
    Refusal::new(Reason::Cancelled, format!("{hook} was stopped on request"))
        .with("hook", hook.name())
        .into_status()
}

/// The status of frames that do not keep the contract (R1.3).
pub(crate) fn violation(problem: impl Into<String>) -> Status {
    Refusal::new(Reason::ContractViolation, problem).into_status()
}

/// The status of a hook that was sent another list than it carries (R3.1).
pub(crate) fn other_list(hook: Hook, list: List) -> Status {
    let refusal = Refusal::new(
        Reason::ContractViolation,
        format!("{hook} carries the {list:?}"),
    );
    refusal.with("hook", hook.name()).into_status()
}

/// The status of an update whose segments make no list (R3.5).
pub(crate) fn update(error: &SegmentError) -> Status {
    let text = format!("the transcript update makes no list: {error}");
    of_segment(Refusal::new(Reason::InvalidRequest, text), error)
        .violation("transcript.segments", error.to_string())
        .into_status()
}

/// The status of a turn that begins behind the end of the log that came with it: whoever counted in
/// another list must not be stored from a wrong place.
pub(crate) fn beyond_the_log(counted: u64, len: usize) -> Status {
    let text = format!("{counted} messages before the prompt of a log of {len}");
    Refusal::new(Reason::InvalidRequest, text)
        .with("counted", &counted)
        .with("messages", &len)
        .violation(
            "pre_prompt_message_count",
            "count the messages of the log that is sent",
        )
        .into_status()
}

/// The status of an engine whose context is none over the list that it got (R7.7).
pub(crate) fn context(error: &SegmentError) -> Status {
    let text = format!("the assembled context: {error}");
    of_segment(Refusal::new(Reason::ContractViolation, text), error).into_status()
}

fn of_segment(refusal: Refusal, error: &SegmentError) -> Refusal {
    match error {
        SegmentError::Empty { segment } => refusal.with("segment", segment),
        SegmentError::OutOfRange { segment, end, base } => refusal
            .with("segment", segment)
            .with("end", end)
            .with("base", base),
        SegmentError::Repeated { segment, index } => {
            refusal.with("segment", segment).with("index", index)
        }
        _ => refusal,
    }
}

/// Ours as they are; what tonic says of a message, in the contract's words (PROTOCOL 6).
pub(crate) fn from_transport(status: Status) -> Status {
    if contextwire_proto::reason_of(&status).is_some() {
        return status;
    }
    if status.code() == tonic::Code::OutOfRange {
        return too_large(status.message());
    }
    status
}

/// tonic says both sizes in its text and nowhere else; where it says it differently, its text is
/// passed on.
fn too_large(said: &str) -> Status {
    let mut numbers = said
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    let (Some(bytes), Some(limit), None) = (numbers.next(), numbers.next(), numbers.next()) else {
        return Refusal::new(Reason::MessageTooLarge, said)
            .with("said", said)
            .into_status();
    };
    let text = format!("a message of {bytes} bytes exceeds the limit of {limit}");
    Refusal::new(Reason::MessageTooLarge, text)
        .with("bytes", bytes)
        .with("limit", limit)
        .into_status()
}

fn chain(error: &EngineError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::durable::Pair;
    use contextwire_proto::reason_of;
    use contextwire_proto::status::{metadata, retry_delay};

    use super::*;

    #[test]
    fn only_a_failure_of_the_engine_itself_can_quarantine_it() {
        for (error, reason) in [
            (
                EngineError::transient("database away"),
                Reason::DependencyUnavailable,
            ),
            (
                EngineError::rejected("no such entry"),
                Reason::InvalidRequest,
            ),
            (EngineError::cancelled(), Reason::Cancelled),
            (EngineError::unsupported("Maintain"), Reason::MethodAbsent),
            (
                EngineError::idempotency_conflict(Hook::Maintain),
                Reason::IdempotencyConflict,
            ),
            (EngineError::hook_closed(), Reason::HookClosed),
            (
                EngineError::preparation_expired(),
                Reason::PreparationExpired,
            ),
            (
                EngineError::new(ErrorKind::Failure, "bug"),
                Reason::EngineFailure,
            ),
        ] {
            let status = engine_error(Hook::Assemble, &error);
            assert_eq!(reason_of(&status), Some(reason));
            assert_eq!(status.code(), reason.code());
        }
    }

    #[test]
    fn a_generation_conflict_carries_the_recorded_pair() {
        let recorded = Pair {
            host_epoch: 7,
            session_seq: 9,
        };
        let status = engine_error(Hook::Ingest, &EngineError::generation_conflict(recorded));
        assert_eq!(reason_of(&status), Some(Reason::GenerationConflict));
        let carried = metadata(&status);
        assert_eq!(
            (
                carried["host_epoch"].as_str(),
                carried["session_seq"].as_str()
            ),
            ("7", "9")
        );
    }

    #[test]
    fn a_running_key_says_when_to_come_back() {
        let wait = Duration::from_millis(1500);
        let status = engine_error(Hook::Compact, &EngineError::in_progress(wait));
        assert_eq!(reason_of(&status), Some(Reason::InProgress));
        assert_eq!(retry_delay(&status), Some(wait));
    }

    #[test]
    fn causes_stay_in_the_log() {
        let error = EngineError::transient("store away").with_source("password=hunter2");
        let status = engine_error(Hook::Ingest, &error);
        assert!(!format!("{status:?}").contains("hunter2"));
    }
}
