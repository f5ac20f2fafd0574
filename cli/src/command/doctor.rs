//! `contextwire doctor`: what is wrong with an engine or a session file, and what to do about it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use contextwire_client::{EngineClient, Target};

use crate::doctor::{self, HostKind};
use crate::output;
use crate::report::{DoctorReport, PrivacyReport};

/// Examines an engine (socket, version, methods, compaction, what hosts need of it) or a session
/// file, and says what to do about each finding. Exits with 1 when something does not work.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// An engine (`unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`), or a session file.
    pub subject: String,
    /// Lists instead every field that would leave the host for this engine.
    #[arg(long)]
    pub privacy: bool,
    /// Which host's fields --privacy lists.
    #[arg(long, value_enum, default_value_t, requires = "privacy")]
    pub host: HostKind,
    /// How long to wait for each answer, for instance `500ms`.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub deadline: Duration,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the report cannot be printed, or --privacy cannot ask the engine.
pub async fn run(args: DoctorArgs) -> anyhow::Result<ExitCode> {
    if args.privacy {
        return privacy(&args).await;
    }
    let findings = match target(&args.subject) {
        Some(target) => doctor::examine_engine(&target, args.deadline).await,
        None => doctor::examine_session(Path::new(&args.subject)),
    };
    let report = DoctorReport::new(args.subject, findings);
    if args.json {
        output::line(serde_json::to_string_pretty(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn privacy(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let target: Target = args.subject.parse()?;
    let engine = EngineClient::new(&target)?.describe(args.deadline).await?;
    let report = PrivacyReport {
        engine: engine.info.id.clone(),
        fields: doctor::leaves_the_host(args.host, &engine),
    };
    if args.json {
        output::line(serde_json::to_string_pretty(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The engine that is meant; a path that is a regular file is none.
fn target(subject: &str) -> Option<Target> {
    let is_file = Path::new(subject).is_file();
    subject.parse().ok().filter(|_| !is_file)
}
