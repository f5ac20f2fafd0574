//! `contextwire bench`: what the path costs, against bare gRPC and against fixed targets.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::bench::{self, Bench, Effort, Fresh};
use crate::output;
use crate::session::{self, Strictness};

/// Measures what a call costs and compares it with its target; exits with 1 when a row misses.
/// Numbers of a debug build mean nothing.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure; everything by default.
    #[arg(value_parser = PossibleValuesParser::new(bench::GROUPS.iter().map(|group| group.name)))]
    pub groups: Vec<String>,
    /// Prints the groups and measures nothing.
    #[arg(long)]
    pub list: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Fewer iterations: a few seconds in all, with more noise.
    #[arg(long)]
    pub quick: bool,
    /// The session that `replay` plays and whose tokens `session` counts; a generated one by default.
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// What the bench asks of a process that it starts itself.
    #[command(flatten)]
    pub fresh: Fresh,
}

/// Runs the command.
///
/// # Errors
/// When something cannot be measured at all. A missed target is no error but the exit code 1.
pub async fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        output::line(bench::list());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(taken) = Box::pin(args.fresh.run()).await? {
        output::line(serde_json::to_string(&taken)?);
        return Ok(ExitCode::SUCCESS);
    }
    if cfg!(debug_assertions) {
        output::problem("warning: this is a debug build, its numbers mean nothing");
    }
    let session = args.session.as_deref().map(|path| {
        session::read(path, Strictness::Lenient)
            .with_context(|| format!("cannot read {}", path.display()))
    });
    let effort = if args.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let recorded = args.session.as_deref().zip(session.transpose()?);
    let bench = Bench::new(effort, recorded);
    let report = bench.run(&args.groups).await?;
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(if report.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
