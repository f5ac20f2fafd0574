//! `contextwire conformance engine` and `badge`: a run against one engine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use contextwire_conformance::check::{Check, Profile};
use contextwire_conformance::control::Control;
use contextwire_conformance::report::{Ending, Report, Row};
use contextwire_conformance::runner::{self, Selection};
use contextwire_conformance::target::Address;
use contextwire_conformance::{checks, requirements};

use crate::output;
use crate::report::{ConformanceChecks, ConformanceRun};

/// Runs the checks that apply to an engine. Each plays a host with a session of its own; nothing is
/// judged that an engine is free to choose. Exits with 1 when a rule is broken, with 4 when the
/// engine cannot be reached.
#[derive(Debug, Args)]
pub(super) struct EngineArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(long, required_unless_present_any = ["list", "explain"])]
    target: Option<Address>,
    /// Runs the checks of these profiles alone: core, strict, delta, callbacks, store, subagent,
    /// projection, lifecycle. By default all that apply to what the engine declares.
    #[arg(long, value_delimiter = ',', value_parser = profile)]
    profile: Vec<Profile>,
    /// A shell command that starts and stops the engine. It is run with one more word: start, stop,
    /// kill, pause or resume. Without it the lifecycle checks are skipped.
    #[arg(long, value_name = "COMMAND")]
    control_cmd: Option<String>,
    /// Prints JSON, or writes it to this file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Writes a report for build servers to this file, in the XML of `junit`.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Runs this check alone.
    #[arg(long, value_name = "ID", value_parser = id)]
    only: Option<String>,
    /// Lists the checks and runs none.
    #[arg(long, conflicts_with_all = ["json", "junit"])]
    list: bool,
    /// Says what a check is about and why, and with --target runs it and shows what was sent and
    /// received.
    #[arg(long, value_name = "ID", value_parser = id)]
    explain: Option<String>,
}

/// Runs all checks and prints the claim that the run supports, as one line for a README. Exits with
/// 1 when it supports none.
#[derive(Debug, Args)]
pub(super) struct BadgeArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(long)]
    target: Address,
}

fn profile(name: &str) -> Result<Profile, String> {
    Profile::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Profile::ALL.into_iter().map(Profile::name).collect();
        format!("no profile is named so: {}", names.join(", "))
    })
}

fn id(id: &str) -> Result<String, String> {
    if find(id).is_some() {
        return Ok(id.to_owned());
    }
    Err("no check has this id: `contextwire conformance engine --list` shows all".to_owned())
}

fn find(id: &str) -> Option<&'static Check> {
    checks::all().find(|check| check.id == id)
}

/// Runs the command.
///
/// # Errors
/// When the engine cannot be reached, or a report cannot be written.
pub(super) async fn run(args: EngineArgs) -> anyhow::Result<ExitCode> {
    let selection = Selection {
        profiles: args.profile,
        only: args.only.or_else(|| args.explain.clone()),
        control: args.control_cmd.map(Control),
    };
    if args.list {
        let listed = ConformanceChecks(selection.checks());
        output::line(listed.to_text(output::surface()).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let is_for_scripts = args
        .json
        .as_ref()
        .is_some_and(|path| path.as_os_str() == "-");
    if let Some(check) = args
        .explain
        .as_deref()
        .and_then(find)
        .filter(|_| !is_for_scripts)
    {
        explain(check);
    }
    let Some(target) = args.target else {
        return Ok(ExitCode::SUCCESS);
    };
    let count = selection.checks().len();
    let report = runner::run(&target, &selection, progress(count)).await?;
    if let Some(path) = &args.junit {
        std::fs::write(path, report.junit())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match &args.json {
        Some(path) if path.as_os_str() == "-" => {
            output::line(serde_json::to_string_pretty(&report)?);
        }
        Some(path) => {
            std::fs::write(path, serde_json::to_string_pretty(&report)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
            text(&report, args.explain.is_some());
        }
        None => text(&report, args.explain.is_some()),
    }
    Ok(if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn text(report: &Report, is_explained: bool) {
    if is_explained {
        for row in &report.rows {
            output::line("sent and received:");
            for line in &row.record {
                output::line(format_args!("  {line}"));
            }
        }
    }
    let run = ConformanceRun(report);
    output::line(run.to_text(output::surface()).trim_end());
}

fn explain(check: &Check) {
    output::line(format_args!("{}: {}", check.id, check.title));
    output::line(format_args!("rules: {}", check.rules.join(", ")));
    output::line(format_args!("profile: {}", check.profile.name()));
    output::line(format_args!("why: {}", check.why));
}

/// Progress for a person who watches, and nothing for a log.
fn progress(count: usize) -> impl Fn(&Row) {
    let is_watched = output::progress_is_watched();
    let bar = indicatif::ProgressBar::new(count as u64);
    if !is_watched {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    move |row: &Row| {
        if row.outcome.ending == Ending::Failed {
            bar.suspend(|| {
                if is_watched {
                    output::problem(format_args!(
                        "{} failed: {}",
                        row.check.id, row.outcome.reason
                    ));
                }
            });
        }
        bar.inc(1);
        if bar.position() == bar.length().unwrap_or_default() {
            bar.finish_and_clear();
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When the engine cannot be reached.
pub(super) async fn badge(args: BadgeArgs) -> anyhow::Result<ExitCode> {
    let report = runner::run(&args.target, &Selection::default(), |_| {}).await?;
    let Some(claim) = requirements::claim(&report) else {
        text(&report, false);
        return Ok(ExitCode::FAILURE);
    };
    output::line(claim);
    Ok(ExitCode::SUCCESS)
}
