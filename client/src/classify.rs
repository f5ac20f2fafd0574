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

/// What the status means. Without our `ErrorInfo` only the codes are judged that no dying connection
/// makes: the four of R6.2, and `ALREADY_EXISTS`, which is final for a row of an outbox (R7.11).
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
        Code::AlreadyExists => refused(Reason::IdempotencyConflict, &status),
        Code::FailedPrecondition | Code::NotFound => {
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
mod tests;
