//! When an engine that ended is started again: a function of how it ended, which neither waits nor
//! starts.

use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// An engine that was ready for so long has started well, and its end begins a new count.
const STARTED_WELL: Duration = Duration::from_secs(30);
/// Ends in a row, each soon after a start, that are a crash loop.
const LOOP: u32 = 5;
/// How often an engine in a crash loop is tried: somebody may have mended it.
const LOOP_PAUSE: Duration = Duration::from_mins(1);

/// What comes after an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another start after this pause.
    Again(Duration),
    /// The same, but it does not help any more: somebody has to look at it.
    CrashLoop(Duration),
}

impl Next {
    pub(super) fn pause(self) -> Duration {
        match self {
            Self::Again(pause) | Self::CrashLoop(pause) => pause,
        }
    }
}

/// Counts ends.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    in_a_row: u32,
}

impl Restarts {
    /// The engine ended after it had been ready for so long, or without having been.
    pub(super) fn ended(&mut self, ready_for: Option<Duration>) -> Next {
        if ready_for.is_some_and(|it| it >= STARTED_WELL) {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row >= LOOP {
            return Next::CrashLoop(LOOP_PAUSE);
        }
        Next::Again(FIRST_PAUSE * (1 << (self.in_a_row - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_five_quick_ends_are_a_crash_loop() {
        let mut restarts = Restarts::default();
        let pauses: Vec<_> = (0..6)
            .map(|_| restarts.ended(Some(Duration::from_secs(1))))
            .collect();
        let again = |millis| Next::Again(Duration::from_millis(millis));
        let broken = Next::CrashLoop(LOOP_PAUSE);
        let expected = [
            again(100),
            again(200),
            again(400),
            again(800),
            broken,
            broken,
        ];
        assert_eq!(pauses, expected);
    }

    #[test]
    fn an_engine_that_ran_well_begins_a_new_count() {
        let mut restarts = Restarts::default();
        for _ in 0..5 {
            restarts.ended(None);
        }
        assert_eq!(restarts.ended(Some(STARTED_WELL)), Next::Again(FIRST_PAUSE));
    }
}
