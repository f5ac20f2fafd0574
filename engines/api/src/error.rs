//! What an engine may answer instead of a result.

mod cause;

use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io};

use tokio::time::error::Elapsed;

use self::cause::Cause;
use crate::durable::Pair;
use crate::hook::Hook;

/// What the host can do about a failure. A new kind is a new minor version of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something the engine depends on is away or slow: a database, a model, a peer. Never
    /// quarantines the engine (R6.5).
    Transient,
    /// The request is wrong and will be wrong again.
    Rejected,
    /// The engine stopped because it was told to.
    Cancelled,
    /// The engine does not have this method.
    Unsupported,
    /// The key was used before with other content: a bug of the host (R7.10).
    IdempotencyConflict,
    /// The same key is being worked on; worth another try after this time (R7.10).
    InProgress {
        /// How long the host should wait.
        retry_after: Duration,
    },
    /// The call is older than what the engine has recorded for the session; nothing changed (R7.9).
    GenerationConflict {
        /// The highest pair that had an effect.
        recorded: Pair,
    },
    /// The host gave this hook up; its effect did not happen and will not (R7.2).
    HookClosed,
    /// The child started after its preparation had rolled itself back (R9.2).
    PreparationExpired,
    /// The engine itself failed; this quarantines it (R6.2).
    Failure,
}

/// A failed hook: a kind to act on, a text to read, and the cause.
#[derive(Debug)]
pub struct EngineError {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl EngineError {
    /// An error without a cause. The text must not hold transcript content (R6.1).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// The error of something that the engine called, by what went wrong: transient where a
    /// connection was refused, reset, aborted, broken or timed out, anywhere in the chain of causes;
    /// an [`EngineError`] in the chain stays of its kind; all else is a failure of the engine (R6.5).
    ///
    /// The host gets a fixed text, the cause goes to the engine's own log.
    pub fn of(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = source.into();
        let cause = Cause::of(&*source);
        Self::new(cause.kind(), cause.message()).with_source(source)
    }

    /// A dependency is away; the host tries elsewhere or later.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Transient, message)
    }

    /// The request cannot be served as it is.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Rejected, message)
    }

    /// The engine stopped on request.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "stopped on request")
    }

    /// The method is not there.
    pub fn unsupported(method: &str) -> Self {
        Self::new(
            ErrorKind::Unsupported,
            format!("{method} is not implemented"),
        )
    }

    /// The key of this hook was used before with other content.
    pub fn idempotency_conflict(hook: Hook) -> Self {
        Self::new(
            ErrorKind::IdempotencyConflict,
            format!("the key of this {hook} was used before with other content"),
        )
    }

    /// Another attempt works on the same key.
    pub fn in_progress(retry_after: Duration) -> Self {
        Self::new(
            ErrorKind::InProgress { retry_after },
            "an earlier attempt of this call is still running",
        )
    }

    /// The session went on to this pair without the call.
    pub fn generation_conflict(recorded: Pair) -> Self {
        let Pair {
            host_epoch,
            session_seq,
        } = recorded;
        Self::new(
            ErrorKind::GenerationConflict { recorded },
            format!("the session is at {session_seq} of host epoch {host_epoch} already"),
        )
    }

    /// The host gave the hook up.
    pub fn hook_closed() -> Self {
        Self::new(ErrorKind::HookClosed, "the host gave this call up")
    }

    /// The preparation's time was over.
    pub fn preparation_expired() -> Self {
        Self::new(
            ErrorKind::PreparationExpired,
            "the preparation rolled itself back before the child started",
        )
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// One clause for a person, without the cause.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        Self::of(error)
    }
}

impl From<Elapsed> for EngineError {
    fn from(error: Elapsed) -> Self {
        Self::of(error)
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for EngineError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
