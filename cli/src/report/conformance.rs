//! Conformance runs: one engine, or several side by side.

use std::fmt::Write as _;

use contextwire_conformance::check::{Check, Level, Profile};
use contextwire_conformance::report::{Ending, Report, Row};
use contextwire_conformance::{checks, requirements};

use super::table::{Column, Form, Surface, Tone, draw};

/// Checks, as a list for people.
#[derive(Debug)]
pub struct ConformanceChecks(pub Vec<&'static Check>);

/// One run.
#[derive(Debug)]
pub struct ConformanceRun<'a>(pub &'a Report);

/// Several runs side by side.
#[derive(Debug, Default)]
pub struct ConformanceMatrix {
    runs: Vec<(String, Report)>,
}

const fn column(title: &'static str, form: Form, spare: u8) -> Column {
    Column { title, form, spare }
}

const LISTED: [Column; 4] = [
    column("id", Form::Name, 0),
    column("profile", Form::Name, 2),
    column("rules", Form::Name, 1),
    column("what must hold", Form::Prose, 0),
];

const RUN: [Column; 4] = [
    column("id", Form::Name, 0),
    column("profile", Form::Name, 1),
    column("outcome", Form::Name, 0),
    column("what must hold, and what was found", Form::Prose, 0),
];

impl ConformanceChecks {
    /// The list on a surface.
    pub fn to_text(&self, on: Surface) -> String {
        let row = |check: &&'static Check| {
            let title = match check.level {
                Level::Must => check.title.to_owned(),
                Level::Should => format!("(should) {}", check.title),
            };
            let cells = [
                check.id,
                check.profile.name(),
                &check.rules.join(", "),
                &title,
            ];
            (Tone::Plain, cells.map(str::to_owned).to_vec())
        };
        draw(&LISTED, self.0.iter().map(row).collect(), on)
    }
}

impl ConformanceRun<'_> {
    /// The run on a surface: the table, the counts, and how to repeat each failure.
    pub fn to_text(&self, on: Surface) -> String {
        let report = self.0;
        let mut text = draw(&RUN, report.rows.iter().map(run_row).collect(), on);
        let _infallible = write!(
            text,
            "\n\n{} at {}: {} passed, {} failed, {} skipped, {} warned, {} inconclusive ({})\n",
            super::prose::harmless(&report.engine),
            report.target,
            report.count(Ending::Passed),
            report.count(Ending::Failed),
            report.count(Ending::Skipped),
            report.count(Ending::Warned),
            report.count(Ending::Inconclusive),
            requirements::VERSION,
        );
        let open = |row: &&Row| matches!(row.outcome.ending, Ending::Failed | Ending::Inconclusive);
        for row in report.rows.iter().filter(open) {
            let (id, target) = (row.check.id, &report.target);
            let is_of_process = row.check.profile == Profile::Lifecycle;
            let control = if is_of_process {
                " --control-cmd COMMAND"
            } else {
                ""
            };
            let _infallible = writeln!(
                text,
                "repeat {id}: contextwire conformance engine --target {target}{control} --explain {id}"
            );
        }
        text
    }
}

fn run_row(row: &Row) -> (Tone, Vec<String>) {
    let tone = match row.outcome.ending {
        Ending::Passed | Ending::Skipped => Tone::Plain,
        Ending::Failed | Ending::Warned | Ending::Inconclusive => Tone::Warning,
    };
    let prose = if row.outcome.reason.is_empty() {
        row.check.title.to_owned()
    } else {
        format!("{}: {}", row.check.title, row.outcome.reason)
    };
    let cells = [
        row.check.id,
        row.check.profile.name(),
        row.outcome.ending.name(),
        &prose,
    ];
    (tone, cells.map(str::to_owned).to_vec())
}

impl ConformanceMatrix {
    /// Adds a run under a name.
    pub fn add(&mut self, name: String, report: Report) {
        self.runs.push((name, report));
    }

    /// The matrix in Markdown: a row a check, a column an engine, then the counts.
    pub fn to_text(&self, _: Surface) -> String {
        let names: Vec<_> = self.runs.iter().map(|(name, _)| name.as_str()).collect();
        let mut text = format!("| check | what must hold | {} |\n", names.join(" | "));
        let _infallible = writeln!(text, "|---|---|{}", "---|".repeat(names.len()));
        for check in checks::all() {
            let cells: Vec<_> = self.runs.iter().map(|(_, run)| cell(run, check)).collect();
            let _infallible = writeln!(
                text,
                "| {} | {} | {} |",
                check.id,
                check.title,
                cells.join(" | ")
            );
        }
        let counts = self.runs.iter().map(|(_, run)| {
            let (passed, failed) = (run.count(Ending::Passed), run.count(Ending::Failed));
            format!(
                "{passed} passed, {failed} failed, {} skipped",
                run.count(Ending::Skipped)
            )
        });
        let counts: Vec<_> = counts.collect();
        let _infallible = writeln!(text, "| | **all** | {} |", counts.join(" | "));
        text
    }
}

fn cell(run: &Report, check: &Check) -> &'static str {
    let row = run.rows.iter().find(|row| row.check.id == check.id);
    match row.map(|row| row.outcome.ending) {
        Some(Ending::Passed) => "yes",
        Some(Ending::Failed) => "**no**",
        Some(Ending::Warned) => "warned",
        Some(Ending::Inconclusive) => "?",
        Some(Ending::Skipped) | None => "–",
    }
}
