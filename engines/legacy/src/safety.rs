//! The time that a host grants a compaction (HOST-SEMANTICS 10.2).

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contextwire_engine::{Cancellation, Compacted, EngineError, HookContext};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::error::CompactionError;

/// The time where nobody configured one.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(3);

/// The time for a configured number of seconds: whole seconds of a positive, finite number, else
/// [`DEFAULT_TIMEOUT`].
pub fn safety_timeout(seconds: Option<f64>) -> Duration {
    let whole = seconds
        .filter(|seconds| seconds.is_finite())
        .map(f64::floor);
    whole
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or(DEFAULT_TIMEOUT)
}

/// A time window that starts anew with each stage of a delegated compaction. An engine's own work
/// before, between and after the stages shares one window.
#[derive(Debug)]
pub struct SafetyWindow {
    length: Duration,
    state: Mutex<State>,
    ends: watch::Sender<Instant>,
}

#[derive(Debug)]
enum State {
    /// The engine works.
    Own,
    /// A stage runs; this is what the engine has left for itself.
    Stage { own_left: Duration },
}

impl SafetyWindow {
    /// A window that begins now.
    pub fn new(length: Duration) -> Self {
        let (ends, _) = watch::channel(Instant::now() + length);
        Self {
            length,
            state: Mutex::new(State::Own),
            ends,
        }
    }

    /// A stage of the host's own compaction begins: it has the whole window.
    pub fn stage_began(&self) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Own = *state {
            let own_left = self.ends.borrow().saturating_duration_since(now);
            *state = State::Stage { own_left };
        }
        self.ends.send_replace(now + self.length);
    }

    /// The last stage ended: the engine goes on with what it had left.
    pub fn stages_ended(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Stage { own_left } = std::mem::replace(&mut *state, State::Own) {
            self.ends.send_replace(Instant::now() + own_left);
        }
    }

    /// Runs a compaction until it answers, its caller gives up, or the window ends. The engine gets
    /// one signal for both; what it does after it is dropped and its late result with it.
    ///
    /// # Errors
    /// [`CompactionError::Aborted`] or [`CompactionError::TimedOut`]. A caller that has given up
    /// already is told so without a call.
    pub async fn run<T, F>(
        &self,
        cx: &HookContext,
        work: impl FnOnce(HookContext) -> F,
    ) -> Result<T, CompactionError>
    where
        F: Future<Output = T>,
    {
        CompactionError::check(cx)?;
        let mut inner = cx.clone();
        inner.cancellation = Cancellation::new();
        let signal = StopOnDrop(inner.cancellation.clone());
        let deadline = cx.deadline;
        let mut work = std::pin::pin!(work(inner));
        let mut ends = self.ends.subscribe();
        loop {
            let end = (*ends.borrow_and_update()).min(deadline);
            tokio::select! {
                biased;
                () = cx.cancellation.cancelled() => {
                    signal.0.cancel();
                    return Err(CompactionError::Aborted);
                }
                done = &mut work => return Ok(done),
                () = sleep_until(end) => {
                    signal.0.cancel();
                    return Err(CompactionError::TimedOut);
                }
                // The sender lives as long as this window.
                Ok(()) = ends.changed() => {}
            }
        }
    }

    /// Runs a hook and makes every outcome an answer: a failure or a timeout is `ok: false` with its
    /// text, a caller that gives up gets `compaction aborted` (HOST-SEMANTICS 10.3).
    pub async fn answer<F>(
        &self,
        cx: &HookContext,
        hook: impl FnOnce(HookContext) -> F,
    ) -> Compacted
    where
        F: Future<Output = Result<Compacted, EngineError>>,
    {
        match self.run(cx, hook).await {
            Ok(Ok(compacted)) => compacted,
            Ok(Err(error)) => Compacted::declined(error.message()),
            Err(error) => Compacted::declined(error.reason()),
        }
    }
}

/// Work that is dropped is told so as well.
struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{Session, SessionId};
    use tokio::time::sleep;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn cx() -> HookContext {
        let session = Session::new(SessionId::new("s").unwrap());
        HookContext::new(session, Duration::from_mins(10))
    }

    fn done() -> Compacted {
        Compacted {
            ok: true,
            compacted: true,
            ..Compacted::default()
        }
    }

    #[test]
    fn c220_a_configured_time_is_whole_seconds_and_an_odd_one_is_the_default() {
        assert_eq!(safety_timeout(None), Duration::from_mins(3));
        assert_eq!(safety_timeout(Some(45.9)), Duration::from_secs(45));
        for odd in [0.0, 0.5, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(safety_timeout(Some(odd)), DEFAULT_TIMEOUT, "{odd}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn c222_a_caller_that_gives_up_is_answered_at_once_and_the_engine_is_told() {
        let (cx, window) = (cx(), SafetyWindow::new(DEFAULT_TIMEOUT));
        let caller = cx.cancellation.clone();
        let mut signal = None;
        let answer = window.answer(&cx, |inner| {
            signal = Some(inner.cancellation.clone());
            async move {
                caller.cancel();
                std::future::pending().await
            }
        });
        let answer = answer.await;
        assert_eq!(answer, Compacted::declined("compaction aborted"));
        assert!(signal.unwrap().is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn c223_a_caller_that_has_given_up_calls_no_engine() {
        let (cx, window) = (cx(), SafetyWindow::new(DEFAULT_TIMEOUT));
        cx.cancellation.cancel();
        let mut called = false;
        let answer = window.run(&cx, |_| {
            called = true;
            std::future::ready(())
        });
        assert_eq!(answer.await, Err(CompactionError::Aborted));
        assert!(!called);
    }

    #[tokio::test(start_paused = true)]
    async fn c224_an_answer_after_the_time_is_ignored() {
        let (cx, window) = (cx(), SafetyWindow::new(60 * MS));
        let late = window.answer(&cx, |_| async {
            sleep(61 * MS).await;
            Ok(done())
        });
        assert_eq!(late.await, Compacted::declined("Compaction timed out"));
        let window = SafetyWindow::new(60 * MS);
        let in_time = window.answer(&cx, |_| async {
            sleep(59 * MS).await;
            Ok(done())
        });
        assert_eq!(in_time.await, done());
    }

    #[tokio::test(start_paused = true)]
    async fn c225_a_failure_is_an_answer_with_its_text() {
        let (cx, window) = (cx(), SafetyWindow::new(DEFAULT_TIMEOUT));
        let failed = window.answer(&cx, |_| async {
            Err(EngineError::transient("no database"))
        });
        assert_eq!(failed.await, Compacted::declined("no database"));
    }

    /// A delegation of three stages of 40 ms between the engine's own work, in a window of 60 ms.
    async fn three_stages(before: u32, after: u32) -> Result<(), CompactionError> {
        let (cx, window) = (cx(), SafetyWindow::new(60 * MS));
        let delegation = async || {
            sleep(before * MS).await;
            for _ in 0..3 {
                window.stage_began();
                sleep(40 * MS).await;
            }
            window.stages_ended();
            sleep(after * MS).await;
        };
        window.run(&cx, |_| delegation()).await
    }

    #[tokio::test(start_paused = true)]
    async fn c238_each_stage_has_the_whole_window_and_the_engines_own_work_shares_one() {
        assert_eq!(three_stages(0, 0).await, Ok(()));
        assert_eq!(three_stages(30, 29).await, Ok(()));
        assert_eq!(three_stages(0, 61).await, Err(CompactionError::TimedOut));
        assert_eq!(three_stages(30, 31).await, Err(CompactionError::TimedOut));
    }

    #[tokio::test(start_paused = true)]
    async fn c238_a_stage_longer_than_the_window_times_out() {
        let (cx, window) = (cx(), SafetyWindow::new(60 * MS));
        let work = window.run(&cx, |_| async {
            window.stage_began();
            sleep(61 * MS).await;
        });
        assert_eq!(work.await, Err(CompactionError::TimedOut));
    }
}
