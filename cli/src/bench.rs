//! What the path costs: groups of rows, each a measured number with a target.
//!
//! A group is one file with one constant, named in [`GROUPS`]. Ratios hold within one run only:
//! candidate and baseline alternate in small batches, so that a slow moment of the machine slows
//! both, and each number is the median of five rounds.

mod apart;
mod bare;
mod client;
mod contract;
mod conversation;
mod engine;
mod fallback;
mod hooks;
mod lossless;
mod measure;
mod projection;
mod replay;
mod row;
mod session;
mod sync;
mod worked;

use std::fmt::Write as _;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::ProgressBar;

use crate::output;
use crate::report::{BenchReport, BenchRow};
use crate::session::Session;

/// Every group, in the order of measuring.
pub const GROUPS: [Group; 9] = [
    hooks::GROUP,
    sync::GROUP,
    contract::GROUP,
    replay::GROUP,
    client::GROUP,
    fallback::GROUP,
    session::GROUP,
    lossless::GROUP,
    projection::GROUP,
];

type Measuring = Pin<Box<dyn Future<Output = anyhow::Result<Vec<BenchRow>>> + Send>>;

/// Rows that are measured together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    run: fn(Bench) -> Measuring,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Until the numbers are steady: about a minute in all.
    #[default]
    Full,
    /// A few seconds in all, for a gate.
    Quick,
}

impl Effort {
    /// The count for this effort.
    fn pick(self, full: usize, quick: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// A run of the bench.
#[derive(Clone, Debug)]
pub struct Bench {
    effort: Effort,
    session: Option<Arc<Session>>,
    file: Option<Arc<Path>>,
    progress: ProgressBar,
}

impl Bench {
    /// A run of this effort, with the session of this file, or a generated one of the size of a long
    /// working day.
    pub fn new(effort: Effort, recorded: Option<(&Path, Session)>) -> Self {
        let (file, session) = recorded.unzip();
        Self {
            effort,
            session: session.map(Arc::new),
            file: file.map(Arc::from),
            progress: ProgressBar::hidden(),
        }
    }

    /// Measures the groups of these names, all of them when there is none, and tells standard error
    /// how far it is.
    ///
    /// # Errors
    /// When something cannot be measured, for instance because the wrong side answered.
    pub async fn run(self, names: &[String]) -> anyhow::Result<BenchReport> {
        let mut rows = Vec::new();
        let wanted =
            |group: &&Group| names.is_empty() || names.iter().any(|name| name == group.name);
        for group in GROUPS.iter().filter(wanted) {
            let bench = Self {
                progress: spinner(group),
                ..self.clone()
            };
            let progress = bench.progress.clone();
            // On a worker, as a host's tasks are.
            let measured = tokio::spawn((group.run)(bench)).await?;
            progress.finish_and_clear();
            rows.extend(measured.with_context(|| format!("cannot measure {}", group.name))?);
        }
        Ok(BenchReport { rows })
    }

    /// Says what is measured now.
    fn says(&self, what: impl Into<String>) {
        self.progress.set_message(what.into());
    }
}

fn spinner(group: &Group) -> ProgressBar {
    if !output::progress_is_watched() {
        output::problem(format_args!("measuring {}", group.name));
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_prefix(group.name);
    let style = indicatif::ProgressStyle::with_template("{spinner} {prefix}: {msg}");
    let bar = style.map_or(bar.clone(), |style| bar.with_style(style));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// The groups, one a line, without a line feed at the end.
pub fn list() -> String {
    let mut text = String::new();
    for Group { name, about, .. } in GROUPS {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _fits = write!(text, "{gap}{name:10} {about}").is_ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_line_and_a_name_of_its_own() {
        assert_eq!(list().lines().count(), GROUPS.len());
        let mut names: Vec<_> = GROUPS.iter().map(|group| group.name).collect();
        names.dedup();
        let expected = [
            "hooks",
            "sync",
            "contract",
            "replay",
            "client",
            "fallback",
            "session",
            "lossless",
            "projection",
        ];
        assert_eq!(names, expected);
    }
}
