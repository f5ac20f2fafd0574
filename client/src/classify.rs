//! A status of the wire as a failure of the call; the only place that looks at codes (R6.2).

use std::error::Error;
use std::time::Duration;

use contextwire_engine::Order;
use contextwire_proto::status::{metadata, retry_delay};
use contextwire_proto::{Reason, reason_of};
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::error::CallError;

/// What the status means. Without our `ErrorInfo` only four codes are judged; all others may come
/// from a dying connection.
pub(crate) fn classify(status: Status, share_ends: Instant) -> CallError {
    if let Some(reason) = reason_of(&status) {
        if let Some(recorded) = recorded(reason, &status) {
            return CallError::Overtaken { recorded };
        }
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

/// The pair that a lower one lost to (R7.9).
fn recorded(reason: Reason, status: &Status) -> Option<Order> {
    if reason != Reason::GenerationConflict {
        return None;
    }
    let carried = metadata(status);
    let number = |key| carried.get(key)?.parse().ok();
    Some(Order {
        host_epoch: number("host_epoch")?,
        session_seq: Some(number("session_seq")?),
    })
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
    use contextwire_proto::Refusal;
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
    async fn r7_9_a_generation_conflict_carries_the_recorded_pair() {
        let refusal = Refusal::new(Reason::GenerationConflict, "too late")
            .with("host_epoch", &7)
            .with("session_seq", &9);
        let CallError::Overtaken { recorded } = classify(refusal.into_status(), later()) else {
            panic!("overtaken");
        };
        assert_eq!((recorded.host_epoch, recorded.session_seq), (7, Some(9)));
        // Without a pair there is nothing to raise above.
        let bare = classify(status(Reason::GenerationConflict, "too late"), later());
        assert_eq!(bare.code(), "GENERATION_CONFLICT");
    }

    #[tokio::test]
    async fn codes_that_mean_the_same_without_details_are_judged() {
        let absent = classify(Status::unimplemented(""), later());
        assert_eq!(absent.code(), "METHOD_ABSENT");
        let denied = classify(Status::permission_denied("no"), later());
        assert_eq!(denied.code(), "PERMISSION_DENIED");
    }
}
