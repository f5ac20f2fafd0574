//! What came of a run, for people, scripts and test runners.

use std::fmt::Write as _;

use contextwire_proto::v1;
use serde::Serialize;

use crate::check::Check;
use crate::target::Address;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The rule holds.
    Passed,
    /// The engine broke a MUST.
    Failed,
    /// The engine broke a SHOULD.
    Warned,
    /// The check does not apply.
    Skipped,
    /// Nothing can be said; never a pass.
    Inconclusive,
}

impl Ending {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Warned => "warned",
            Self::Skipped => "skipped",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// How a check ended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How.
    pub ending: Ending,
    /// Why; empty where it passed.
    pub reason: String,
}

impl Outcome {
    pub(crate) fn passed() -> Self {
        Self {
            ending: Ending::Passed,
            reason: String::new(),
        }
    }

    pub(crate) fn failed(reason: String) -> Self {
        Self {
            ending: Ending::Failed,
            reason,
        }
    }

    pub(crate) fn warned(reason: String) -> Self {
        Self {
            ending: Ending::Warned,
            reason,
        }
    }

    pub(crate) fn skipped(reason: String) -> Self {
        Self {
            ending: Ending::Skipped,
            reason,
        }
    }

    pub(crate) fn inconclusive(reason: String) -> Self {
        Self {
            ending: Ending::Inconclusive,
            reason,
        }
    }
}

/// A check and its outcome.
#[derive(Clone, Debug)]
pub struct Row {
    /// The check.
    pub check: &'static Check,
    /// What came of it.
    pub outcome: Outcome,
    /// What was sent and received.
    pub record: Vec<String>,
}

/// A check in JSON.
#[derive(Debug, Serialize)]
struct JsonRow<'a> {
    id: &'a str,
    outcome: Ending,
    reason: &'a str,
}

/// A run in JSON. Warnings count as passed, what is inconclusive as failed: it is no pass.
#[derive(Debug, Serialize)]
struct JsonReport<'a> {
    target: &'a str,
    engine: &'a str,
    requirements: &'a str,
    passed: usize,
    failed: usize,
    skipped: usize,
    checks: Vec<JsonRow<'a>>,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Where the engine listens.
    pub target: String,
    /// Its id and version.
    pub engine: String,
    /// The checks in the order of their profiles.
    pub rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(target: &Address, info: &v1::EngineInfo, mut rows: Vec<Row>) -> Self {
        rows.sort_by_key(|row| row.check.profile);
        Self {
            target: target.to_string(),
            engine: format!("{} {}", info.id, info.version),
            rows,
        }
    }

    /// How many checks ended like this.
    pub fn count(&self, ending: Ending) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.outcome.ending == ending).count()
    }

    /// Whether no MUST is broken and nothing is left open.
    pub fn is_good(&self) -> bool {
        self.count(Ending::Failed) == 0 && self.count(Ending::Inconclusive) == 0
    }

    /// The report for scripts.
    ///
    /// # Errors
    /// When it cannot be written as JSON, which no report causes.
    pub fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |row: &'_ Row| (row.check.id, row.outcome.clone());
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        let checks = rows.iter().map(|(id, outcome)| JsonRow {
            id,
            outcome: outcome.ending,
            reason: &outcome.reason,
        });
        JsonReport {
            target: &self.target,
            engine: &self.engine,
            requirements: crate::requirements::VERSION,
            passed: self.count(Ending::Passed) + self.count(Ending::Warned),
            failed: self.count(Ending::Failed) + self.count(Ending::Inconclusive),
            skipped: self.count(Ending::Skipped),
            checks: checks.collect(),
        }
        .serialize(serializer)
    }

    /// The report as `JUnit` writes it, for build servers.
    pub fn junit(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let failed = self.count(Ending::Failed) + self.count(Ending::Inconclusive);
        let _infallible = writeln!(
            text,
            "<testsuite name=\"{} ({})\" tests=\"{}\" failures=\"{failed}\" skipped=\"{}\">",
            escaped(&self.engine),
            crate::requirements::VERSION,
            self.rows.len(),
            self.count(Ending::Skipped),
        );
        for row in &self.rows {
            let reason = escaped(&row.outcome.reason);
            let inside = match row.outcome.ending {
                Ending::Passed => String::new(),
                Ending::Warned => format!("<system-out>{reason}</system-out>"),
                Ending::Skipped => format!("<skipped message=\"{reason}\"/>"),
                Ending::Failed | Ending::Inconclusive => {
                    let record = escaped(&row.record.join("\n"));
                    format!("<failure message=\"{reason}\">{record}</failure>")
                }
            };
            let _infallible = writeln!(
                text,
                "  <testcase classname=\"{}\" name=\"{} {}\">{inside}</testcase>",
                row.check.profile.name(),
                row.check.id,
                escaped(row.check.title),
            );
        }
        text.push_str("</testsuite>\n");
        text
    }
}

impl Serialize for Report {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            // XML cannot hold control characters at all.
            other if other.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
