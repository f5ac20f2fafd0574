//! Why an engine did not answer a call.

use std::time::Duration;

use contextwire_engine::{Hook, Order};
use contextwire_proto::Reason;
use contextwire_proto::status::Violation;
use tonic::Status;

use crate::requirements::UnmetRequirement;

/// Who is at fault; the only thing that policies look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The caller stopped the call, or asked for something that cannot be.
    Caller,
    /// The way to the engine, or something that the engine depends on.
    Transient,
    /// The engine broke the contract of this call.
    Contract,
    /// The engine failed by its own word (R6.2).
    Engine,
}

/// A call that the engine did not answer. Each text is one clause without its cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The engine's share of the deadline passed, in whatever phase the call was.
    #[error("the engine did not answer within {share:?}")]
    DeadlineExceeded {
        /// The engine's share.
        share: Duration,
    },
    /// The engine said nothing for this long while the host owed it nothing (R7.1).
    #[error("the engine was silent for {idle:?}")]
    Silent {
        /// The longest silence that the call bore.
        idle: Duration,
    },
    /// The engine's share of the deadline passed while the host still had parts of a list to send;
    /// the rest goes on in the background and the failure counts nowhere (R3.4).
    #[error("the engine did not have the whole list after {share:?}")]
    Syncing {
        /// The engine's share.
        share: Duration,
    },
    /// The same for an engine that keeps no mirror and needs the whole list with every call: no
    /// deadline of this length will do.
    #[error("the list cannot be sent within {share:?}, and the engine keeps none of it")]
    SyncTooLarge {
        /// The engine's share.
        share: Duration,
    },
    /// The connection could not be made, or broke.
    #[error("the engine cannot be reached: {detail}")]
    Unreachable {
        /// What the transport said, innermost first.
        detail: String,
        /// The status that the transport made of it; not a source, its text repeats the detail.
        status: Box<Status>,
    },
    /// The engine answered with an error of the contract.
    #[error("the engine answered {reason}: {message}")]
    Refused {
        /// The contract's reason.
        reason: Reason,
        /// The engine's text; never transcript content.
        message: String,
        /// When to try again, where the engine said so.
        retry_after: Option<Duration>,
        /// The fields at fault, where it named them.
        violations: Vec<Violation>,
    },
    /// Another host's call, or a later one of this host, was recorded for the session already
    /// (R7.9). Nothing changed.
    #[error("the session is at {} of host epoch {} already", .recorded.session_seq.unwrap_or_default(), .recorded.host_epoch)]
    Overtaken {
        /// The highest recorded pair.
        recorded: Order,
    },
    /// The engine's answer does not keep the contract.
    #[error("the engine broke the contract: {0}")]
    ContractViolation(String),
    /// The engine's context is more than a tenth over its budget, by its own estimate (R7.7).
    #[error("the engine assembled {estimated} tokens for a budget of {budget}")]
    OverBudget {
        /// The engine's estimate.
        estimated: u64,
        /// What it was given.
        budget: u64,
    },
    /// What the engine says of itself breaks the contract (HOST-SEMANTICS 3.2).
    #[error("the engine's description breaks the contract: {0}")]
    Malformed(String),
    /// The engine failed by its own word when it was asked what it is: what the throw of a factory
    /// is in process (HOST-SEMANTICS 3.3).
    #[error("the engine failed to describe itself: {0}")]
    Undescribed(String),
    /// The engine failed before, by its own word, and is not asked any more (R7.3).
    #[error("the engine is barred since {operation} failed: {reason}")]
    Quarantined {
        /// What failed.
        operation: String,
        /// How.
        reason: String,
    },
    /// The engine speaks another major version of the protocol.
    #[error("the engine speaks protocol {theirs}, this host speaks {ours}")]
    Incompatible {
        /// The host's version.
        ours: String,
        /// The engine's version.
        theirs: String,
    },
    /// The request says something that this engine would lose, and must not; it was not sent (R5.4).
    #[error("the engine would ignore {field}, which must not be ignored")]
    NotUnderstood {
        /// Path of the field.
        field: String,
    },
    /// The engine failed this turn before: somebody else serves the rest of it (R7.4).
    #[error("the turn goes on without the engine: {reason}")]
    TurnDegraded {
        /// Why: the code of the first failure, or what made the turn begin so.
        reason: String,
    },
    /// The engine is registered for discovery only, and nobody uses it.
    #[error("the engine `{engine_id}` is registered for discovery only: register it for use")]
    DiscoveryOnly {
        /// The id that the slot names.
        engine_id: String,
    },
    /// The engine requires something that this host cannot do (HOST-SEMANTICS 5).
    #[error("{0}")]
    Unmet(Box<UnmetRequirement>),
    /// As many calls or bytes as the host allows are on their way to the engine already.
    #[error("{calls} calls or {bytes} bytes are on their way to the engine already")]
    Busy {
        /// Calls that may run at once.
        calls: usize,
        /// Bytes that they may bring.
        bytes: u64,
    },
    /// The turn is over.
    #[error("the turn is over: begin another one")]
    TurnOver,
    /// The engine does not have this method, by its own description (R1.1).
    #[error("the engine has no {hook}")]
    Absent {
        /// The method.
        hook: Hook,
    },
    /// The host does not know the reason for the engine's refusal, or cannot ask it at all.
    #[error("the engine refused the call: {0}")]
    Unsupported(String),
    /// Too many calls in a row failed on the way to the engine: this one was not sent (R7.4).
    #[error("the engine is not asked for another {retry_in:?}, after several failures")]
    BreakerOpen {
        /// When a call may try again; zero while one is trying.
        retry_in: Duration,
    },
    /// One message alone exceeds what may travel.
    #[error("a message of {bytes} bytes exceeds the limit of {limit}")]
    MessageTooLarge {
        /// Its size.
        bytes: u64,
        /// What may travel.
        limit: u64,
    },
    /// The client is gone or the runtime shuts down.
    #[error("the call was abandoned")]
    Abandoned,
}

impl CallError {
    /// Who is at fault.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::DeadlineExceeded { .. }
            | Self::Silent { .. }
            | Self::Syncing { .. }
            | Self::SyncTooLarge { .. }
            | Self::Unreachable { .. }
            | Self::BreakerOpen { .. }
            | Self::TurnDegraded { .. }
            | Self::Busy { .. } => FailureClass::Transient,
            Self::Refused { reason, .. } => class_of(*reason),
            Self::ContractViolation(_) | Self::Malformed(_) | Self::OverBudget { .. } => {
                FailureClass::Contract
            }
            Self::Undescribed(_) | Self::Quarantined { .. } => FailureClass::Engine,
            Self::Overtaken { .. }
            | Self::Incompatible { .. }
            | Self::NotUnderstood { .. }
            | Self::Absent { .. }
            | Self::Unsupported(_)
            | Self::MessageTooLarge { .. }
            | Self::DiscoveryOnly { .. }
            | Self::Unmet(_)
            | Self::TurnOver
            | Self::Abandoned => FailureClass::Caller,
        }
    }

    /// The same of a Describe: an engine that fails by its own word before there is a hook to blame.
    pub(crate) fn of_describing(self) -> Self {
        if let Self::Refused {
            reason: Reason::EngineFailure,
            message,
            ..
        } = self
        {
            return Self::Undescribed(message);
        }
        self
    }

    /// Whether the engine's time was up, by the host's clock or by its own.
    pub(crate) fn is_deadline(&self) -> bool {
        matches!(
            self,
            Self::DeadlineExceeded { .. }
                | Self::Refused {
                    reason: Reason::DeadlineExceeded,
                    ..
                }
        )
    }

    /// A stable word for reports: a reason of the contract, or what this host saw itself.
    pub fn code(&self) -> &'static str {
        match self {
            Self::DeadlineExceeded { .. } => "DEADLINE_EXCEEDED",
            Self::Silent { .. } => "SILENT",
            Self::Syncing { .. } => "SYNCING",
            Self::SyncTooLarge { .. } => "SYNC_TOO_LARGE",
            Self::Unreachable { .. } => "UNREACHABLE",
            Self::Refused { reason, .. } => reason.name(),
            Self::Overtaken { .. } => Reason::GenerationConflict.name(),
            Self::ContractViolation(_) | Self::Malformed(_) => "CONTRACT_VIOLATION",
            Self::OverBudget { .. } => "OVER_BUDGET",
            Self::Undescribed(_) => Reason::EngineFailure.name(),
            Self::Quarantined { .. } => "QUARANTINED",
            Self::Incompatible { .. } => "VERSION_UNSUPPORTED",
            Self::NotUnderstood { .. } => Reason::NotUnderstood.name(),
            Self::Absent { .. } => Reason::MethodAbsent.name(),
            Self::Unsupported(_) => "UNSUPPORTED",
            Self::BreakerOpen { .. } => "BREAKER_OPEN",
            Self::MessageTooLarge { .. } => "MESSAGE_TOO_LARGE",
            Self::TurnDegraded { .. } => "TURN_DEGRADED",
            Self::DiscoveryOnly { .. } => "DISCOVERY_ONLY",
            Self::Unmet(_) => Reason::CapabilityRequired.name(),
            Self::Busy { .. } => "BUSY",
            Self::TurnOver => "TURN_OVER",
            Self::Abandoned => "ABANDONED",
        }
    }
}

fn class_of(reason: Reason) -> FailureClass {
    match reason {
        Reason::EngineFailure => FailureClass::Engine,
        Reason::TranscriptDigestMismatch | Reason::ContractViolation => FailureClass::Contract,
        Reason::Draining
        | Reason::Overloaded
        | Reason::DependencyUnavailable
        | Reason::InProgress
        | Reason::Quota
        | Reason::Unauthenticated
        | Reason::PermissionDenied
        | Reason::DeadlineExceeded => FailureClass::Transient,
        Reason::UnknownField
        | Reason::InvalidRequest
        | Reason::VersionUnsupported
        | Reason::CapabilityRequired
        | Reason::NotUnderstood
        | Reason::HostCallUnavailable
        | Reason::TranscriptUnavailable
        | Reason::PreparationExpired
        | Reason::GenerationConflict
        | Reason::HookClosed
        | Reason::IdempotencyConflict
        | Reason::MethodAbsent
        | Reason::MessageTooLarge
        | Reason::Cancelled => FailureClass::Caller,
    }
}
