//! The gate: runs a whole plan, however its parts end, and gives one verdict.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::report;
use crate::runner::{Ended, Runner};
use crate::step::{Needs, Outcome, Output, Step, Work};
use crate::totals::Totals;

/// A finished step, for the summary.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) title: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) failure: &'static str,
    pub(crate) took: Duration,
}

/// Runs every step, remembers what failed, and prints the totals as the last line. Success only when nothing failed.
pub(crate) fn pass(runner: &Runner, steps: Vec<Step>) -> ExitCode {
    let mut totals = Totals::default();
    let mut rows = Vec::with_capacity(steps.len());
    let count = steps.len();
    for (index, planned) in steps.into_iter().enumerate() {
        let step = after(rows.last(), planned);
        report::heading(index + 1, count, &step);
        let (title, failure, output) = (step.title, step.failure, output_of(&step));
        let started = now();
        let ended = runner.run(step);
        let row = Row {
            title,
            outcome: ended.outcome,
            failure,
            took: started.elapsed(),
        };
        report::ended(&row);
        rows.push(row);
        totals += tally(ended, output);
        if ended.outcome == Outcome::Interrupted {
            break;
        }
    }
    report::summary(&rows);
    report::totals(totals);
    if totals.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The step as it can run after the one before it.
fn after(previous: Option<&Row>, step: Step) -> Step {
    let failed = previous.is_some_and(|row| row.outcome != Outcome::Passed);
    match step.needs {
        Needs::Previous if failed => Step::skipped(step.title, "the step before it failed"),
        Needs::Previous | Needs::Nothing => step,
    }
}

/// What a step adds to the totals. A step that failed for another reason than a failed test counts as one, so that the
/// last line can never say that nothing failed when something did.
fn tally(ended: Ended, output: Output) -> Totals {
    let Ended {
        outcome,
        mut totals,
    } = ended;
    match outcome {
        Outcome::Passed | Outcome::Skipped => {}
        Outcome::Failed if output == Output::Counted && totals.failed > 0 => {}
        Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => totals.failed += 1,
    }
    totals
}

fn output_of(step: &Step) -> Output {
    match &step.work {
        Work::Run { output, .. } => *output,
        Work::Skip(_) => Output::Inherited,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "durations of real commands, shown to a person and never tested"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_needs_the_one_before_is_skipped_after_its_failure() {
        let row = |outcome| Row {
            title: "test build",
            outcome,
            failure: "FAILED",
            took: Duration::ZERO,
        };
        let skipped = |outcome| {
            let step = after(
                Some(&row(outcome)),
                Step::cargo("tests", "test").after_previous(),
            );
            matches!(step.work, Work::Skip(_))
        };
        assert!(!skipped(Outcome::Passed));
        assert!(skipped(Outcome::Failed));
        assert!(skipped(Outcome::TimedOut));
        let free = after(Some(&row(Outcome::Failed)), Step::cargo("lints", "clippy"));
        assert!(matches!(free.work, Work::Run { .. }));
    }

    #[test]
    fn every_failure_counts_at_least_once_and_failed_tests_count_themselves() {
        let tests = |failed| Totals {
            passed: 7,
            failed,
            skipped: 1,
        };
        let rows = [
            (Outcome::Passed, Output::Counted, 0, 0),
            (Outcome::Skipped, Output::Inherited, 0, 0),
            (Outcome::Failed, Output::Inherited, 0, 1),
            (Outcome::Failed, Output::Counted, 0, 1),
            (Outcome::Failed, Output::Counted, 3, 3),
            (Outcome::TimedOut, Output::Counted, 3, 4),
            (Outcome::Interrupted, Output::Inherited, 0, 1),
        ];
        for (outcome, output, said, expected) in rows {
            let counted = tally(
                Ended {
                    outcome,
                    totals: tests(said),
                },
                output,
            );
            assert_eq!(
                counted,
                tests(expected),
                "{outcome:?} {output:?} with {said} failed"
            );
        }
    }
}
