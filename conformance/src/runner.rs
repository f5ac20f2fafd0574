//! Runs a selection of checks against one engine.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;

use crate::check::{Check, Level, Profile, Verdict};
use crate::checks;
use crate::control::Control;
use crate::engine::{Engine, Unreachable};
use crate::probe::Probe;
use crate::report::{Outcome, Report, Row};
use crate::target::Address;

/// Checks that run at once; each has sessions of its own.
const AT_ONCE: usize = 6;

/// What is run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// These profiles; all where empty.
    pub profiles: Vec<Profile>,
    /// This check alone.
    pub only: Option<String>,
    /// The command that starts and stops the engine.
    pub control: Option<Control>,
}

impl Selection {
    /// The selected checks, in the order of the table.
    pub fn checks(&self) -> Vec<&'static Check> {
        checks::all()
            .filter(|check| self.profiles.is_empty() || self.profiles.contains(&check.profile))
            .filter(|check| self.only.as_ref().is_none_or(|only| only == check.id))
            .collect()
    }
}

/// Runs the selection; `progress` hears of each row when it is there.
///
/// # Errors
/// When the engine answers no Describe.
pub async fn run(
    address: &Address,
    selection: &Selection,
    progress: impl Fn(&Row),
) -> Result<Report, Unreachable> {
    let channel = address.channel().map_err(|error| Unreachable {
        address: address.to_string(),
        problem: error.to_string(),
    })?;
    let engine = Engine::examine(address, &channel).await?;
    let info = engine.info();
    let mut probe = Probe::new(address.clone(), channel, Arc::new(engine));
    probe.control.clone_from(&selection.control);
    let (alone, together): (Vec<_>, Vec<_>) = selection
        .checks()
        .into_iter()
        .partition(|check| check.profile == Profile::Lifecycle);
    let mut rows = Vec::new();
    let mut running = stream::iter(together)
        .map(|check| one(check, probe.afresh()))
        .buffered(AT_ONCE);
    while let Some(row) = running.next().await {
        progress(&row);
        rows.push(row);
    }
    for check in alone {
        // The process was another one a moment ago.
        let fresh = probe.another_connection().unwrap_or_else(|_| probe.clone());
        let row = one(check, fresh.afresh()).await;
        progress(&row);
        rows.push(row);
    }
    Ok(Report::new(address, &info, rows))
}

async fn one(check: &'static Check, probe: Probe) -> Row {
    let record = probe.record.clone();
    let has_control = probe.control.is_some();
    let lacks = check
        .needs
        .iter()
        .find_map(|need| probe.engine.lacks(*need, has_control));
    let projects = probe.engine.projects || check.profile != Profile::Projection;
    let outcome = match (lacks, projects) {
        (Some(why), _) => Outcome::skipped(why),
        (None, false) => Outcome::skipped("the engine projects per turn".to_owned()),
        // A check that panics is the suite's fault, and no pass.
        (None, true) => match tokio::spawn((check.run)(probe)).await {
            Ok(Ok(())) => Outcome::passed(),
            Ok(Err(verdict)) => judged(check.level, verdict),
            Err(error) => Outcome::inconclusive(format!("the check itself failed: {error}")),
        },
    };
    Row {
        check,
        outcome,
        record: record.lines(),
    }
}

fn judged(level: Level, verdict: Verdict) -> Outcome {
    match (verdict, level) {
        (Verdict::Broken(why), Level::Must) => Outcome::failed(why),
        (Verdict::Broken(why), Level::Should) => Outcome::warned(why),
        (Verdict::NotApplicable(why), _) => Outcome::skipped(why),
        (Verdict::Inconclusive(why), _) => Outcome::inconclusive(why),
    }
}
