//! A status of the wire as a failure of the call; the only place that looks at codes (R6.2).

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
            source: Box::new(status),
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
    async fn codes_that_mean_the_same_without_details_are_judged() {
        let absent = classify(Status::unimplemented(""), later());
        assert_eq!(absent.code(), "METHOD_ABSENT");
        let denied = classify(Status::permission_denied("no"), later());
        assert_eq!(denied.code(), "PERMISSION_DENIED");
    }
}
