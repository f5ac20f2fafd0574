//! Why a call failed: the closed set of reasons that an `ErrorInfo` of ours names (PROTOCOL 6).

use std::fmt;
use std::time::Duration;

use tonic::Code;

/// Domain of every `ErrorInfo` of this protocol.
pub const DOMAIN: &str = "contextengine.v1";

/// Why a call failed. Names are stable for ever; `docs/errors.md` has a heading for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A strict engine does not know fields that the request carries (R5.3).
    UnknownField,
    /// The request cannot mean anything: malformed, out of range, missing.
    InvalidRequest,
    /// The protocol or settings versions have nothing in common.
    VersionUnsupported,
    /// The host lacks what the engine requires for this operation.
    CapabilityRequired,
    /// The engine does not know a name in `must_understand` (R5.4).
    NotUnderstood,
    /// The hook needs a call back that this host does not serve (R1.4).
    HostCallUnavailable,
    /// The engine lacks the list and cannot ask for it any more (R3.6).
    TranscriptUnavailable,
    /// The spawn's preparation had expired (R9.2).
    PreparationExpired,
    /// The same key is being worked on right now (R7.10).
    InProgress,
    /// The call is behind the recorded order; the metadata carries the recorded pair (R7.9).
    GenerationConflict,
    /// The hook was abandoned by its host (R7.2).
    HookClosed,
    /// The key was used with other content (R7.10).
    IdempotencyConflict,
    /// The method is not implemented (R1.1).
    MethodAbsent,
    /// The engine is going away.
    Draining,
    /// The engine has too much to do.
    Overloaded,
    /// Something that the engine depends on is away (R6.5).
    DependencyUnavailable,
    /// A message is over the size limit.
    MessageTooLarge,
    /// The tenant has used up what it may use.
    Quota,
    /// The caller did not prove who it is.
    Unauthenticated,
    /// The caller may not do this.
    PermissionDenied,
    /// A list sent from zero does not have the announced state (R3.7).
    TranscriptDigestMismatch,
    /// One side broke the contract in this call.
    ContractViolation,
    /// The engine threw or panicked; the only reason that can quarantine it (R6.2).
    EngineFailure,
    /// The call was stopped before its effect (R1.5).
    Cancelled,
    /// The engine's share of the deadline ran out.
    DeadlineExceeded,
}

impl Reason {
    /// Every reason, in the order of `docs/errors.md`.
    pub const ALL: [Self; 25] = [
        Self::UnknownField,
        Self::InvalidRequest,
        Self::VersionUnsupported,
        Self::CapabilityRequired,
        Self::NotUnderstood,
        Self::HostCallUnavailable,
        Self::TranscriptUnavailable,
        Self::PreparationExpired,
        Self::InProgress,
        Self::GenerationConflict,
        Self::HookClosed,
        Self::IdempotencyConflict,
        Self::MethodAbsent,
        Self::Draining,
        Self::Overloaded,
        Self::DependencyUnavailable,
        Self::MessageTooLarge,
        Self::Quota,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::TranscriptDigestMismatch,
        Self::ContractViolation,
        Self::EngineFailure,
        Self::Cancelled,
        Self::DeadlineExceeded,
    ];

    /// The reason's name on the wire.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The status code that carries it.
    pub const fn code(self) -> Code {
        self.row().1
    }

    /// How long a host should wait before it tries the same again, for the reasons that come with a
    /// `RetryInfo`; the engine may name another delay.
    pub const fn retry_delay(self) -> Option<Duration> {
        match self {
            Self::InProgress => Some(Duration::from_millis(250)),
            Self::Draining | Self::Overloaded | Self::DependencyUnavailable => {
                Some(Duration::from_secs(1))
            }
            Self::UnknownField
            | Self::InvalidRequest
            | Self::VersionUnsupported
            | Self::CapabilityRequired
            | Self::NotUnderstood
            | Self::HostCallUnavailable
            | Self::TranscriptUnavailable
            | Self::PreparationExpired
            | Self::GenerationConflict
            | Self::HookClosed
            | Self::IdempotencyConflict
            | Self::MethodAbsent
            | Self::MessageTooLarge
            | Self::Quota
            | Self::Unauthenticated
            | Self::PermissionDenied
            | Self::TranscriptDigestMismatch
            | Self::ContractViolation
            | Self::EngineFailure
            | Self::Cancelled
            | Self::DeadlineExceeded => None,
        }
    }

    /// The reason of that name; `None` for one that a newer peer introduced.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    const fn row(self) -> (&'static str, Code) {
        match self {
            Self::UnknownField => ("UNKNOWN_FIELD", Code::InvalidArgument),
            Self::InvalidRequest => ("INVALID_REQUEST", Code::InvalidArgument),
            Self::VersionUnsupported => ("VERSION_UNSUPPORTED", Code::FailedPrecondition),
            Self::CapabilityRequired => ("CAPABILITY_REQUIRED", Code::FailedPrecondition),
            Self::NotUnderstood => ("NOT_UNDERSTOOD", Code::FailedPrecondition),
            Self::HostCallUnavailable => ("HOST_CALL_UNAVAILABLE", Code::FailedPrecondition),
            Self::TranscriptUnavailable => ("TRANSCRIPT_UNAVAILABLE", Code::FailedPrecondition),
            Self::PreparationExpired => ("PREPARATION_EXPIRED", Code::FailedPrecondition),
            Self::InProgress => ("IN_PROGRESS", Code::Aborted),
            Self::GenerationConflict => ("GENERATION_CONFLICT", Code::Aborted),
            Self::HookClosed => ("HOOK_CLOSED", Code::Aborted),
            Self::IdempotencyConflict => ("IDEMPOTENCY_CONFLICT", Code::AlreadyExists),
            Self::MethodAbsent => ("METHOD_ABSENT", Code::Unimplemented),
            Self::Draining => ("DRAINING", Code::Unavailable),
            Self::Overloaded => ("OVERLOADED", Code::Unavailable),
            Self::DependencyUnavailable => ("DEPENDENCY_UNAVAILABLE", Code::Unavailable),
            Self::MessageTooLarge => ("MESSAGE_TOO_LARGE", Code::ResourceExhausted),
            Self::Quota => ("QUOTA", Code::ResourceExhausted),
            Self::Unauthenticated => ("UNAUTHENTICATED", Code::Unauthenticated),
            Self::PermissionDenied => ("PERMISSION_DENIED", Code::PermissionDenied),
            Self::TranscriptDigestMismatch => ("TRANSCRIPT_DIGEST_MISMATCH", Code::DataLoss),
            Self::ContractViolation => ("CONTRACT_VIOLATION", Code::Internal),
            Self::EngineFailure => ("ENGINE_FAILURE", Code::Internal),
            Self::Cancelled => ("CANCELLED", Code::Cancelled),
            Self::DeadlineExceeded => ("DEADLINE_EXCEEDED", Code::DeadlineExceeded),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back_to_their_reasons() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.name()), Some(reason));
        }
        assert_eq!(Reason::from_name("FROM_A_NEWER_PEER"), None);
    }

    #[test]
    fn every_reason_has_a_heading_and_every_heading_a_reason() {
        let headings: Vec<_> = include_str!("../../docs/errors.md")
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .filter(|heading| heading.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            .collect();
        assert_eq!(headings, Reason::ALL.map(Reason::name));
    }
}
