//! What a developer reads: headings, durations, the summary. The one place that prints.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks to its user here"
)]

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use crate::gate::Row;
use crate::step::{Outcome, Step, Work};
use crate::totals::Totals;

/// Announces a step.
pub(crate) fn heading(number: usize, count: usize, step: &Step) {
    println!("\n=== {number}/{count} {} ===", step.title);
    match &step.work {
        Work::Run { command, .. } => println!("$ {}", line_of(command)),
        Work::Skip(reason) => println!("skipped: {reason}"),
    }
}

/// Says how a step ended. Of one that did not run the heading has said why.
pub(crate) fn ended(row: &Row) {
    if row.outcome == Outcome::Skipped {
        return;
    }
    println!("--- {}: {} ({})", row.title, word(row), seconds(row.took));
}

/// One line a step.
pub(crate) fn summary(rows: &[Row]) {
    println!("\n=== summary ===");
    for row in rows {
        println!(
            "{:<24}{:<44}{:>10}",
            row.title,
            word(row),
            seconds(row.took)
        );
    }
}

/// The last line, alone and in a form that machines read.
pub(crate) fn totals(totals: Totals) {
    println!("\n{totals}");
}

/// Prints an error and its causes.
pub(crate) fn trouble(error: &dyn Error) {
    eprintln!("error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  caused by: {cause}");
        source = cause.source();
    }
}

fn word(row: &Row) -> &'static str {
    match row.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => row.failure,
        Outcome::TimedOut => "KILLED: it ran into its time limit",
        Outcome::Skipped => "skipped",
        Outcome::Interrupted => "stopped",
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

/// The command as one would type it, with the variables that the step sets.
fn line_of(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(key, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={}", key.to_string_lossy(), quoted(&value)))
    });
    let program = command.get_program().to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| quoted(&arg.to_string_lossy()));
    variables
        .chain([program])
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '*', '[', '#']) {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let step =
            Step::cargo("documentation", "doc --no-deps").with_env("RUSTDOCFLAGS", "-D warnings");
        let Work::Run { command, .. } = &step.work else {
            panic!("a cargo step runs")
        };
        assert_eq!(
            line_of(command),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }
}
