//! The report of `doctor`: what was looked at, what is wrong, and what to do about it.

use std::borrow::Cow;

use serde::Serialize;

use super::table::{Column, Form, Surface, Tone, draw};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Works, and a person should know.
    Warning,
    /// Does not work.
    Problem,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked at, a stable word for scripts.
    pub check: Cow<'static, str>,
    /// What was seen.
    pub found: String,
    /// What to do; absent where there is nothing to do.
    pub advice: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            severity: Severity::Ok,
            check: Cow::Borrowed(check),
            found: found.into(),
            advice: None,
        }
    }

    /// Works, and a person should know.
    pub fn warning(
        check: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            advice: Some(advice.into()),
            ..Self::ok(check, found)
        }
    }

    /// Does not work.
    pub fn problem(
        check: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Problem,
            ..Self::warning(check, found, advice)
        }
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// What was examined.
    pub subject: String,
    /// Whether nothing is a problem.
    pub ok: bool,
    /// The findings, in the order in which they were made.
    pub findings: Vec<Finding>,
}

const COLUMNS: [Column; 4] = [
    Column {
        title: "",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "check",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "found",
        form: Form::Prose,
        spare: 0,
    },
    Column {
        title: "what to do",
        form: Form::Prose,
        spare: 0,
    },
];

impl DoctorReport {
    /// The report of these findings.
    pub fn new(subject: impl Into<String>, findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.severity).max();
        Self {
            subject: subject.into(),
            ok: worst < Some(Severity::Problem),
            findings,
        }
    }

    /// A table and a last line, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self.findings.iter().map(|finding| {
            let (tone, mark) = match finding.severity {
                Severity::Ok => (Tone::Plain, "ok"),
                Severity::Warning => (Tone::Warning, "note"),
                Severity::Problem => (Tone::Warning, "WRONG"),
            };
            let cells = [
                mark,
                &*finding.check,
                &finding.found,
                finding.advice.as_deref().unwrap_or_default(),
            ];
            (tone, cells.map(str::to_owned).to_vec())
        });
        let count = |severity| {
            let of = |finding: &&Finding| finding.severity == severity;
            self.findings.iter().filter(of).count()
        };
        format!(
            "{}\n\n{}: {} wrong, {} to know, {} in order\n",
            draw(&COLUMNS, rows.collect(), on),
            self.subject,
            count(Severity::Problem),
            count(Severity::Warning),
            count(Severity::Ok),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_problem_is_not_ok_and_the_last_line_counts_all() {
        let findings = vec![
            Finding::ok("socket", "yours alone"),
            Finding::warning("limits", "small", "raise it"),
        ];
        let report = DoctorReport::new("unix:/e.sock", findings.clone());
        assert!(report.ok);
        let mut worse = findings;
        worse.push(Finding::problem("reach", "nobody answers", "start it"));
        let report = DoctorReport::new("unix:/e.sock", worse);
        assert!(!report.ok);
        let text = report.to_text(Surface::Plain);
        assert!(text.ends_with("unix:/e.sock: 1 wrong, 1 to know, 1 in order\n"));
        assert!(text.contains("start it"), "{text}");
    }
}
