//! An engine that says nothing while the host owes it nothing (R7.1).

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The silence that a call bears. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    longest: Option<Duration>,
    over: CancellationToken,
}

impl Silence {
    /// At most this long; absent is no limit.
    pub(crate) fn of(longest: Option<Duration>) -> Self {
        Self {
            longest,
            over: CancellationToken::new(),
        }
    }

    /// Ends when the engine was silent for too long; gives how long that is.
    pub(crate) async fn broken(&self) -> Duration {
        self.over.cancelled().await;
        self.longest.unwrap_or_default()
    }

    /// Whether it was too long.
    pub(crate) fn is_broken(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listening<'_> {
        Listening {
            silence: self,
            since: Instant::now(),
        }
    }
}

/// When something was last heard.
#[derive(Debug)]
pub(crate) struct Listening<'a> {
    silence: &'a Silence,
    since: Instant,
}

impl Listening<'_> {
    /// Something was heard, or the host owes something.
    pub(crate) fn reset(&mut self) {
        self.since = Instant::now();
    }

    /// Ends, and tells, when nothing was heard for too long; never where there is no limit.
    pub(crate) async fn too_long(&self) {
        match self.silence.longest {
            Some(longest) => sleep_until(self.since + longest).await,
            None => std::future::pending().await,
        }
        self.silence.over.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r7_1_silence_counts_from_what_was_heard_last() {
        let silence = Silence::of(Some(Duration::from_secs(2)));
        let mut listening = silence.listen();
        let started = Instant::now();
        tokio::time::advance(Duration::from_millis(1500)).await;
        listening.reset();
        listening.too_long().await;
        assert_eq!(started.elapsed(), Duration::from_millis(3500));
        assert!(silence.is_broken());
        assert_eq!(silence.broken().await, Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_is_too_long() {
        let silence = Silence::of(None);
        let listening = silence.listen();
        let waited = tokio::time::timeout(Duration::from_hours(9), listening.too_long()).await;
        assert!(waited.is_err() && !silence.is_broken());
    }
}
