//! When a summariser that fails is asked again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which nobody is asked for a while (BR-054).
const FAILURES: u32 = 2;
/// How long a refused key is not tried again.
const REFUSED_FOR: Duration = Duration::from_mins(5);
/// How long a failing summariser is left alone.
const FAILED_FOR: Duration = Duration::from_mins(1);

/// Why nobody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The key is refused: an operator has to act. Nothing is written in place of summaries.
    Refused,
    /// Several calls in a row failed.
    Failing,
}

/// Whether the summariser may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// As often as wanted.
    Go,
    /// Once, to see whether it works again.
    Probe,
    /// Not before this instant.
    Wait(Cause, Instant),
}

/// A breaker before a summariser; one for all sessions that ask it. It opens at once for a refused key
/// and after two failures in a row otherwise, lets one call through after a while, and closes with the
/// first that succeeds (C05, BR-074). It reads no clock.
#[derive(Debug, Default)]
pub struct Breaker(Mutex<State>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Calls go out; so many failed in a row.
    Closed(u32),
    /// No call goes out until then.
    Open(Cause, Instant),
}

impl Default for State {
    fn default() -> Self {
        Self::Closed(0)
    }
}

impl Breaker {
    /// A closed one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a call may go out now.
    pub fn admit(&self, now: Instant) -> Admission {
        match *self.state() {
            State::Closed(_) => Admission::Go,
            State::Open(cause, until) if now < until => Admission::Wait(cause, until),
            State::Open(..) => Admission::Probe,
        }
    }

    /// A call gave a summary.
    pub fn succeeded(&self) {
        *self.state() = State::Closed(0);
    }

    /// A call failed, with all its further attempts.
    pub fn failed(&self, cause: Cause, now: Instant) {
        let mut state = self.state();
        *state = match (cause, *state) {
            (Cause::Refused, _) => State::Open(cause, now + REFUSED_FOR),
            (Cause::Failing, State::Closed(failures)) if failures + 1 < FAILURES => {
                State::Closed(failures + 1)
            }
            (Cause::Failing, State::Open(Cause::Refused, until)) if now < until => return,
            (Cause::Failing, State::Closed(_) | State::Open(..)) => {
                State::Open(cause, now + FAILED_FOR)
            }
        };
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn c05_a_refused_key_opens_at_once_and_a_success_after_the_cooldown_closes() {
        let (breaker, start) = (Breaker::new(), Instant::now());
        breaker.failed(Cause::Refused, start);
        let until = start + REFUSED_FOR;
        assert_eq!(breaker.admit(start), Admission::Wait(Cause::Refused, until));
        assert_eq!(breaker.admit(until), Admission::Probe);
        breaker.failed(Cause::Refused, until);
        assert!(matches!(breaker.admit(until), Admission::Wait(..)));
        breaker.succeeded();
        assert_eq!(breaker.admit(until), Admission::Go);
    }

    #[tokio::test(start_paused = true)]
    async fn br_054_two_failures_in_a_row_open_and_one_between_successes_does_not() {
        let (breaker, now) = (Breaker::new(), Instant::now());
        breaker.failed(Cause::Failing, now);
        breaker.succeeded();
        breaker.failed(Cause::Failing, now);
        assert_eq!(breaker.admit(now), Admission::Go);
        breaker.failed(Cause::Failing, now);
        assert!(matches!(
            breaker.admit(now),
            Admission::Wait(Cause::Failing, _)
        ));
    }
}
