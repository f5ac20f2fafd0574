//! What is wrong with a configuration.

use std::fmt;

use serde::Serialize;

use super::Origin;
use super::key::{SECTIONS, parts};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where it stands.
    pub origin: Origin,
    /// The key; absent where the layer as a whole is meant.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub advice: String,
}

impl Problem {
    pub(super) fn new(
        origin: Origin,
        key: Option<&str>,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            origin,
            key: key.map(str::to_owned),
            problem: problem.into(),
            advice: advice.into(),
        }
    }

    /// Whether a command that reads these sections is concerned. A problem that is in no section
    /// concerns all.
    pub(super) fn concerns(&self, sections: &[&str]) -> bool {
        let section = self.key.as_deref().map(|key| parts(key).0);
        section.is_none_or(|section| sections.contains(&section) || !SECTIONS.contains(&section))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        write!(f, "{}: {}", self.problem, self.advice)
    }
}

/// Everything that keeps a command from running with its configuration; at least one problem.
#[derive(Debug, thiserror::Error)]
#[error("the configuration cannot be used{}", lines(.0))]
pub struct ConfigErrors(pub Vec<Problem>);

/// Each problem on a line of its own.
fn lines(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |lines, problem| {
        lines + "\n  " + &problem.to_string()
    })
}
