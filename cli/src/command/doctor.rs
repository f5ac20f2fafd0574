//! `contextwire doctor`: what is wrong with an engine, a configuration or a session file, and what to
//! do about it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use contextwire_client::{EngineClient, Target};

use crate::doctor::{self, HostKind};
use crate::output;
use crate::report::{DoctorReport, PrivacyReport};

/// How long to wait for an answer when nobody says.
const DEADLINE: Duration = Duration::from_secs(2);

/// Examines an engine (socket, version, methods, compaction, what hosts need of it), a configuration
/// (everything that is wrong with it, then the engines that it names) or a session file, and says
/// what to do about each finding. Exits with 1 when something does not work.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// An engine (`unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`), a configuration (a file
    /// whose name ends with `.toml`), or a session file.
    pub subject: String,
    /// Lists instead every field that would leave the host for this engine.
    #[arg(long)]
    pub privacy: bool,
    /// Which host's fields --privacy lists.
    #[arg(long, value_enum, default_value_t, requires = "privacy")]
    pub host: HostKind,
    /// How long to wait for each answer, for instance `500ms`; 2 s by default.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub deadline: Option<Duration>,
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
    let findings = match subject(&args.subject) {
        Subject::Engine(target) => {
            let deadline = args.deadline.unwrap_or(DEADLINE);
            doctor::examine_engine(&target, deadline).await
        }
        Subject::Config(path) => doctor::examine_config(&path, args.deadline).await,
        Subject::Session(path) => doctor::examine_session(&path),
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
    let target = match subject(&args.subject) {
        Subject::Config(path) => doctor::target_of(&path)?,
        Subject::Engine(target) => target,
        Subject::Session(_) => args.subject.parse()?,
    };
    let deadline = args.deadline.unwrap_or(DEADLINE);
    let engine = EngineClient::new(&target)?.describe(deadline).await?;
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

/// What is examined.
enum Subject {
    Engine(Target),
    Config(PathBuf),
    Session(PathBuf),
}

/// What is meant; a path that is a regular file is no engine.
fn subject(text: &str) -> Subject {
    let path = PathBuf::from(text);
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return Subject::Config(path);
    }
    match text.parse() {
        Ok(target) if !path.is_file() => Subject::Engine(target),
        Ok(_) | Err(_) => Subject::Session(path),
    }
}
