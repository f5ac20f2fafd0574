//! A status of the wire as a failure of the call, and what a failure counts towards; the only place
//! that looks at codes (R6.1, R6.2).

use std::error::Error;
use std::time::Duration;

use contextwire_engine::Order;
use contextwire_proto::limits::TEXT_BYTES;
use contextwire_proto::status::{Violation, metadata, retry_delay, violations};
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
            CallError::Unsupported(readable(status.message()))
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
        message: readable(status.message()),
        retry_after: retry_delay(status),
        violations: violations(status),
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
        CallError::DeadlineExceeded { .. }
        | CallError::Silent { .. }
        | CallError::Unreachable { .. } => CountsAs::Breaker,
        CallError::Refused { reason, .. } => reason_counts_as(*reason),
        CallError::ContractViolation(_) => CountsAs::SlowBreaker,
        CallError::Malformed(_) | CallError::Undescribed(_) => CountsAs::Quarantine,
        CallError::OverBudget { .. }
        | CallError::Syncing { .. }
        | CallError::SyncTooLarge { .. }
        | CallError::Overtaken { .. }
        | CallError::Quarantined { .. }
        | CallError::Incompatible { .. }
        | CallError::NotUnderstood { .. }
        | CallError::Absent { .. }
        | CallError::Unsupported(_)
        | CallError::BreakerOpen { .. }
        | CallError::TurnDegraded { .. }
        | CallError::DiscoveryOnly { .. }
        | CallError::Unmet(_)
        | CallError::Busy { .. }
        | CallError::TurnOver
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

/// Whether a call may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// Its failure is an answer, or another try would find nobody.
    Never,
    /// Not before this, and not for ever.
    After(Duration),
    /// Not before this: the engine works under the call's key, and will know the outcome.
    Poll(Duration),
}

/// The host's move after a failure, as far as it is another try (R7.8).
pub(crate) fn again(error: &CallError) -> Again {
    if let CallError::Refused {
        reason,
        retry_after,
        ..
    } = error
    {
        let delay = retry_after.or(reason.retry_delay()).unwrap_or_default();
        if *reason == Reason::InProgress {
            return Again::Poll(delay);
        }
        let passes = [
            Reason::Draining,
            Reason::Overloaded,
            Reason::DependencyUnavailable,
        ];
        if passes.contains(reason) {
            return Again::After(delay);
        }
    }
    if let CallError::Unreachable { status, .. } = error
        && broke_on_the_way(status)
    {
        return Again::After(retry_delay(status).unwrap_or_default());
    }
    Again::Never
}

/// Whether another endpoint of the same engine may answer what this one did not. The call is a read
/// or has a key, so that what may have happened at this one happens once.
pub(crate) fn is_of_its_endpoint(error: &CallError) -> bool {
    if let CallError::Refused { reason, .. } = error {
        return matches!(
            reason,
            Reason::Draining
                | Reason::Overloaded
                | Reason::DependencyUnavailable
                | Reason::DeadlineExceeded
        );
    }
    matches!(
        error,
        CallError::Unreachable { .. }
            | CallError::BreakerOpen { .. }
            | CallError::DeadlineExceeded { .. }
            // One of them may be of another age.
            | CallError::Absent { .. }
            | CallError::NotUnderstood { .. }
            | CallError::Incompatible { .. }
    )
}

/// Whether the call cannot have reached the engine: nobody listened.
pub(crate) fn never_arrived(error: &CallError) -> bool {
    if let CallError::Unreachable { status, .. } = error {
        return causes(status).any(<dyn Error>::is::<tonic::ConnectError>);
    }
    false
}

/// Whether a connection was there and broke, or somebody on the way says that nobody is. What a peer
/// itself throws it would throw again, and where nothing listens there is nothing to wait for.
fn broke_on_the_way(status: &Status) -> bool {
    let was_connected = !causes(status).any(<dyn Error>::is::<tonic::ConnectError>);
    let is_our_own = status.source().is_some();
    was_connected && (is_our_own || status.code() == Code::Unavailable)
}

/// What an error may say about fields of the request.
#[derive(Debug)]
pub(crate) struct Complaint<'a> {
    /// It says so by its reason; otherwise its words have to.
    pub(crate) is_about_fields: bool,
    pub(crate) message: &'a str,
    pub(crate) violations: Vec<Violation>,
}

/// The complaint that an error may be (R5.3): of an engine that does not know a field, or of
/// whatever validates there. Some server libraries make UNKNOWN of all that is thrown.
pub(crate) fn complaint(error: &CallError) -> Option<Complaint<'_>> {
    if let CallError::Refused {
        reason: reason @ (Reason::UnknownField | Reason::InvalidRequest),
        message,
        violations,
        ..
    } = error
    {
        return Some(Complaint {
            is_about_fields: *reason == Reason::UnknownField,
            message,
            violations: violations.clone(),
        });
    }
    if let CallError::Unreachable { status, .. } = error
        && status.code() == Code::Unknown
    {
        return Some(Complaint {
            is_about_fields: false,
            message: status.message(),
            violations: violations(status),
        });
    }
    None
}

/// The transport's last word, which is the one that helps: "connection refused".
fn innermost(status: &Status) -> String {
    let innermost = causes(status).last();
    let said = innermost.map_or_else(|| status.message().to_owned(), ToString::to_string);
    readable(&said)
}

/// A peer's words as they may be shown: nothing that moves a terminal's cursor, and no longer than
/// a text of ours.
fn readable(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        let letter = if letter.is_control() { ' ' } else { letter };
        if shown.len() + letter.len_utf8() > TEXT_BYTES {
            shown.push('…');
            break;
        }
        shown.push(letter);
    }
    shown
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(status.source(), |&cause| cause.source())
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
    async fn a_peers_words_move_no_cursor_and_are_cut() {
        let long = format!("boom \u{1b}[31m\n{}", "ü".repeat(3000));
        let statuses = [
            Status::new(Code::Unavailable, long.clone()),
            Status::new(Code::NotFound, long.clone()),
            Status::new(Code::InvalidArgument, long),
        ];
        for status in statuses {
            let shown = classify(status, later()).to_string();
            assert!(shown.contains("boom  [31m ü"), "{shown}");
            assert!(shown.len() < TEXT_BYTES + 100, "{}", shown.len());
        }
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
    async fn r7_8_where_nobody_listens_nothing_is_tried_again() {
        let known = crate::describe::Acquaintance::of_nobody();
        let error = known.ask(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(error.code(), "UNREACHABLE");
        assert_eq!(again(&error), Again::Never);
        let gone = Status::from_error(Box::new(std::io::Error::from(
            std::io::ErrorKind::BrokenPipe,
        )));
        assert_eq!(
            again(&classify(gone, later())),
            Again::After(Duration::ZERO)
        );
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
