//! Engine errors as statuses: an engine never forwards the status of something it called (R6.5).

use contextwire_engine::{EngineError, ErrorKind, Hook};
use contextwire_proto::{Reason, Refusal};
use tonic::Status;

/// The status of an engine's error. Its cause goes to the log, not over the wire.
pub(crate) fn engine_error(hook: Hook, error: &EngineError) -> Status {
    let reason = match error.kind() {
        ErrorKind::Transient => Reason::DependencyUnavailable,
        ErrorKind::Rejected => Reason::InvalidRequest,
        ErrorKind::Cancelled => Reason::Cancelled,
        ErrorKind::Unsupported => Reason::MethodAbsent,
        ErrorKind::Failure | _ => Reason::EngineFailure,
    };
    if reason == Reason::Cancelled {
        tracing::debug!(%hook, "the engine stopped on request");
    } else if reason == Reason::MethodAbsent {
        // Only methods that it advertises get as far as the engine.
        tracing::error!(%hook, "the engine advertises a method and answers that it is absent");
    } else {
        tracing::warn!(%hook, reason = reason.name(), error = %chain(error), "the engine failed");
    }
    Refusal::new(reason, error.message())
        .with("hook", hook.name())
        .into_status()
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

/// Ours as they are; what tonic says of a message, in the contract's words (PROTOCOL 6).
pub(crate) fn from_transport(status: Status) -> Status {
    if contextwire_proto::reason_of(&status).is_some() {
        return status;
    }
    if status.code() == tonic::Code::OutOfRange {
        return Refusal::new(Reason::MessageTooLarge, status.message()).into_status();
    }
    status
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
    use contextwire_proto::reason_of;

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
    fn causes_stay_in_the_log() {
        let error = EngineError::transient("store away").with_source("password=hunter2");
        let status = engine_error(Hook::Ingest, &error);
        assert!(!format!("{status:?}").contains("hunter2"));
    }
}
