//! A status of the wire as a failure of the call, and what a failure counts towards; the only place
//! that looks at codes (R6.1, R6.2).

use std::error::Error;
use std::time::Duration;

use contextwire_proto::status::retry_delay;
use contextwire_proto::{Reason, reason_of};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::error::CallError;

/// What the status means. Without our `ErrorInfo` only four codes are judged; all others may come
/// from a dying connection.
pub(crate) fn classify(status: Status, share_ends: Instant) -> CallError {
    if let Some(reason) = reason_of(&status) {
        return refused(reason, &status);
    }
    match status.code() {
        Code::Unimplemented => refused(Reason::MethodAbsent, &status),
        Code::InvalidArgument => refused(Reason::InvalidRequest, &status),
        Code::Unauthenticated => refused(Reason::Unauthenticated, &status),
        Code::PermissionDenied => refused(Reason::PermissionDenied, &status),
        Code::FailedPrecondition | Code::NotFound | Code::AlreadyExists => {
            CallError::Unsupported(status.message().to_owned())
        }
        Code::Ok => CallError::ContractViolation("an answer without a result".to_owned()),
        // tonic reports every timer that fired as CANCELLED.
        Code::Cancelled | Code::DeadlineExceeded if Instant::now() >= share_ends => {
            CallError::DeadlineExceeded {
                share: Duration::ZERO,
            }
        }
        Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::OutOfRange
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => CallError::Unreachable {
            detail: innermost(&status),
            status: Box::new(status),
        },
    }
}

fn refused(reason: Reason, status: &Status) -> CallError {
    CallError::Refused {
        reason,
        message: status.message().to_owned(),
        retry_after: retry_delay(status),
    }
}

/// What a failure counts towards (R6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountsAs {
    /// Nobody is to blame, or the caller.
    Nothing,
    /// The way to the engine, which may stay down.
    Breaker,
    /// An engine that keeps breaking the contract.
    SlowBreaker,
    /// The engine's own failure.
    Quarantine,
}

/// The last column of the table of failures.
pub(crate) fn counts_as(error: &CallError) -> CountsAs {
    match error {
        CallError::DeadlineExceeded { .. } | CallError::Unreachable { .. } => CountsAs::Breaker,
        CallError::Refused { reason, .. } => reason_counts_as(*reason),
        CallError::ContractViolation(_) => CountsAs::SlowBreaker,
        CallError::Incompatible { .. }
        | CallError::Absent { .. }
        | CallError::Unsupported(_)
        | CallError::BreakerOpen { .. }
        | CallError::MessageTooLarge { .. }
        | CallError::Abandoned => CountsAs::Nothing,
    }
}

fn reason_counts_as(reason: Reason) -> CountsAs {
    match reason {
        Reason::EngineFailure => CountsAs::Quarantine,
        Reason::TranscriptDigestMismatch | Reason::ContractViolation => CountsAs::SlowBreaker,
        // Only declared methods are called.
        Reason::MethodAbsent
        | Reason::Draining
        | Reason::Overloaded
        | Reason::DependencyUnavailable
        | Reason::DeadlineExceeded => CountsAs::Breaker,
        Reason::UnknownField
        | Reason::InvalidRequest
        | Reason::VersionUnsupported
        | Reason::CapabilityRequired
        | Reason::NotUnderstood
        | Reason::HostCallUnavailable
        | Reason::TranscriptUnavailable
        | Reason::PreparationExpired
        | Reason::InProgress
        | Reason::GenerationConflict
        | Reason::HookClosed
        | Reason::IdempotencyConflict
        | Reason::MessageTooLarge
        | Reason::Quota
        | Reason::Unauthenticated
        | Reason::PermissionDenied
        | Reason::Cancelled => CountsAs::Nothing,
    }
}

/// The transport's last word, which is the one that helps: "connection refused".
fn innermost(status: &Status) -> String {
    let mut cause: &dyn Error = status;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if cause.source().is_none() && std::ptr::addr_eq(cause, status) {
        return status.message().to_owned();
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use contextwire_proto::status::status;

    use super::*;
    use crate::error::FailureClass;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn only_our_engine_failure_is_the_engines_fault() {
        let ours = classify(status(Reason::EngineFailure, "bug"), later());
        assert_eq!(ours.class(), FailureClass::Engine);
        for code in [
            Code::Internal,
            Code::Unknown,
            Code::DataLoss,
            Code::ResourceExhausted,
        ] {
            let bare = classify(Status::new(code, "h2 protocol error"), later());
            assert_eq!(bare.class(), FailureClass::Transient, "{code:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn br_146_cancelled_after_the_own_timer_is_a_deadline_and_before_it_is_not() {
        let fired = classify(Status::cancelled("Timeout expired"), Instant::now());
        assert_eq!(fired.code(), "DEADLINE_EXCEEDED");
        let early = classify(Status::cancelled("operation was canceled"), later());
        assert_eq!(early.code(), "UNREACHABLE");
    }

    #[tokio::test]
    async fn r6_1_each_reason_counts_as_the_table_says() {
        let counts = |reason| counts_as(&classify(status(reason, ""), later()));
        for reason in Reason::ALL {
            let expected = match reason.name() {
                "ENGINE_FAILURE" => CountsAs::Quarantine,
                "TRANSCRIPT_DIGEST_MISMATCH" | "CONTRACT_VIOLATION" => CountsAs::SlowBreaker,
                "METHOD_ABSENT"
                | "DRAINING"
                | "OVERLOADED"
                | "DEPENDENCY_UNAVAILABLE"
                | "DEADLINE_EXCEEDED" => CountsAs::Breaker,
                _ => CountsAs::Nothing,
            };
            assert_eq!(counts(reason), expected, "{reason}");
        }
    }

    #[tokio::test]
    async fn r6_2_without_our_reason_four_codes_are_judged_and_the_rest_is_the_way() {
        let counts = |code| counts_as(&classify(Status::new(code, "h2 protocol error"), later()));
        for code in [
            Code::Cancelled,
            Code::Unknown,
            Code::Internal,
            Code::DataLoss,
            Code::ResourceExhausted,
            Code::OutOfRange,
            Code::Aborted,
            Code::Unavailable,
            Code::DeadlineExceeded,
            Code::Unimplemented,
        ] {
            assert_eq!(counts(code), CountsAs::Breaker, "{code:?}");
        }
        for code in [
            Code::Unauthenticated,
            Code::PermissionDenied,
            Code::InvalidArgument,
        ] {
            assert_eq!(counts(code), CountsAs::Nothing, "{code:?}");
        }
    }

    #[tokio::test]
    async fn codes_that_mean_the_same_without_details_are_judged() {
        let absent = classify(Status::unimplemented(""), later());
        assert_eq!(absent.code(), "METHOD_ABSENT");
        let denied = classify(Status::permission_denied("no"), later());
        assert_eq!(denied.code(), "PERMISSION_DENIED");
    }
}
