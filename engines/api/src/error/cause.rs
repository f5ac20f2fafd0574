//! What an error of something that the engine called means for the host (R6.5).

use std::error::Error;
use std::io;

use tokio::time::error::Elapsed;

use super::{EngineError, ErrorKind};

/// What there is to find in a chain of causes.
pub(super) enum Cause<'a> {
    /// An error of the engine's own, passed through something else.
    Own(&'a EngineError),
    /// A peer, a network or a time limit.
    Away,
    /// Anything else.
    Unknown,
}

impl<'a> Cause<'a> {
    /// Reads the error and its causes, outermost first.
    pub(super) fn of(error: &'a (dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(own) = error.downcast_ref::<EngineError>() {
                return Self::Own(own);
            }
            if is_away(error) {
                return Self::Away;
            }
            next = inner(error);
        }
        Self::Unknown
    }

    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Own(error) => error.kind(),
            Self::Away => ErrorKind::Transient,
            Self::Unknown => ErrorKind::Failure,
        }
    }

    /// For the host: nothing of the cause, which may hold anything.
    pub(super) fn message(&self) -> &'a str {
        match self {
            Self::Own(error) => error.message(),
            Self::Away => "something that the engine depends on is away or slow",
            Self::Unknown => "the engine failed",
        }
    }
}

fn is_away(error: &(dyn Error + 'static)) -> bool {
    use io::ErrorKind as E;
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    error.is::<Elapsed>()
        || matches!(
            kind,
            Some(
                E::ConnectionRefused
                    | E::ConnectionReset
                    | E::ConnectionAborted
                    | E::NotConnected
                    | E::BrokenPipe
                    | E::UnexpectedEof
                    | E::HostUnreachable
                    | E::NetworkUnreachable
                    | E::NetworkDown
                    | E::TimedOut
                    | E::WouldBlock
                    | E::Interrupted
            )
        )
}

/// The error behind this one. `io::Error` hides the one that it wraps, and shows that one's causes.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A library's error around another one.
    #[derive(Debug, thiserror::Error)]
    #[error("query failed: select * from secrets")]
    struct Library(#[source] Box<dyn Error + Send + Sync>);

    fn wrapped(error: impl Into<Box<dyn Error + Send + Sync>>) -> Library {
        Library(Box::new(Library(error.into())))
    }

    fn all_kinds(kind: io::ErrorKind) -> [ErrorKind; 4] {
        let bare = || io::Error::from(kind);
        [
            EngineError::from(bare()).kind(),
            EngineError::of(io::Error::new(kind, "told")).kind(),
            EngineError::of(wrapped(bare())).kind(),
            EngineError::of(io::Error::other(wrapped(bare()))).kind(),
        ]
    }

    #[test]
    fn r6_5_connection_and_timeout_errors_are_transient_however_deep_they_are() {
        use io::ErrorKind as E;
        for kind in [
            E::ConnectionRefused,
            E::ConnectionReset,
            E::ConnectionAborted,
            E::NotConnected,
            E::BrokenPipe,
            E::UnexpectedEof,
            E::HostUnreachable,
            E::NetworkUnreachable,
            E::NetworkDown,
            E::TimedOut,
            E::WouldBlock,
            E::Interrupted,
        ] {
            assert_eq!(all_kinds(kind), [ErrorKind::Transient; 4], "{kind:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r6_5_a_time_limit_that_passed_is_transient() {
        async fn asks() -> Result<(), EngineError> {
            tokio::time::timeout(Duration::from_secs(1), std::future::pending()).await?
        }
        assert_eq!(asks().await.unwrap_err().kind(), ErrorKind::Transient);
    }

    #[test]
    fn r6_5_anything_else_is_the_engines_own_failure() {
        use io::ErrorKind as E;
        for kind in [E::NotFound, E::PermissionDenied, E::InvalidData, E::Other] {
            assert_eq!(all_kinds(kind), [ErrorKind::Failure; 4], "{kind:?}");
        }
        assert_eq!(EngineError::of("a text").kind(), ErrorKind::Failure);
    }

    #[test]
    fn an_error_of_the_engine_stays_what_it_was_when_it_was_wrapped() {
        let stopped = EngineError::of(wrapped(EngineError::cancelled()));
        assert_eq!(stopped.kind(), ErrorKind::Cancelled);
        assert_eq!(stopped.message(), EngineError::cancelled().message());
    }

    #[test]
    fn the_cause_is_kept_for_the_log_and_said_to_no_host() {
        let error = EngineError::of(wrapped(io::Error::from(io::ErrorKind::TimedOut)));
        assert!(!error.to_string().contains("secrets"));
        assert!(error.source().unwrap().is::<Library>());
    }
}
