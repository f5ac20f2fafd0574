//! What an engine may answer instead of a result.

use std::error::Error as StdError;
use std::fmt;

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
