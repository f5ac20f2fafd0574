//! `contextwire codex-run`: a session on Codex, with a context engine.

mod input;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use contextwire_client::engine::{Session, SessionId};
use contextwire_client::{Host, HostProfile, Policy, QuarantineRelease};
use contextwire_codex::{
    Approvals, CodexHost, CodexSettings, Injection, OnProjectionFailure, Program, Tool, Tools,
};

use crate::config::{Config, ConfigArgs, HostFlags};
use crate::log::{self, LogFormat};

/// What every capability that an engine may require is called here.
const CAPABILITIES: [&str; 6] = [
    "bootstrap",
    "assemble-before-prompt",
    "after-turn",
    "maintain",
    "compact",
    "thread-bootstrap-projection",
];

/// Talks to Codex with a context engine behind it. The engine decides what a thread of Codex is told
/// of the session; an engine that names epochs has it told once an epoch, and the thread is kept for
/// as long as it shows the right one.
///
/// Without a prompt it reads one a line from standard input. `/compact` asks the engine to make room,
/// `/compact native` lets Codex compact its own thread, `/status` shows the engine, `/quit` or the end
/// of the input ends the session, which goes on the next time under its name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  contextwire codex-run --target unix:/run/user/1000/contextwire/engine.sock
  contextwire codex-run --session review --sandbox read-only \"What changed since yesterday?\"
  printf 'one\\ntwo\\n' | contextwire codex-run --json

The engine comes from `contextwire serve`, in another terminal.")]
pub struct CodexRunArgs {
    /// One prompt; its words are joined.
    pub prompt: Vec<String>,
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How the engine is called.
    #[command(flatten)]
    pub host: HostFlags,
    /// The session's name. Its log and its binding are kept under it.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub session: String,
    /// Where sessions are kept; `contextwire/codex` in your data folder by default.
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// The `codex` command, as `npm install -g @openai/codex` brings it.
    #[arg(long, value_name = "PATH", default_value = "codex")]
    pub codex: PathBuf,
    /// Codex's own folder, with its configuration and its login; the one of your environment by
    /// default.
    #[arg(long, value_name = "DIR")]
    pub codex_home: Option<PathBuf>,
    /// Where the agent works; here by default.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// A file with instructions that stand at the head of every thread. They are part of what a
    /// thread is known by: other ones begin another.
    #[arg(long, value_name = "FILE")]
    pub instructions: Option<PathBuf>,
    /// How the context goes into a thread: as items with their roles, or as quoted text before the
    /// prompt, as OpenClaw sends it.
    #[arg(long, value_enum, value_name = "AS", default_value_t)]
    pub inject: InjectChoice,
    /// What a thread comes to whose engine does not answer: it goes on as it is, or this turn
    /// begins another.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub on_projection_failure: ProjectionChoice,
    /// The answer when Codex asks for permission to run or change something.
    #[arg(long, value_enum, value_name = "ANSWER", default_value_t)]
    pub approvals: ApprovalChoice,
    /// When Codex asks: `untrusted`, `on-request`, `never`; as Codex is configured by default.
    #[arg(long, value_name = "WHEN")]
    pub approval_policy: Option<String>,
    /// What commands may touch: `read-only`, `workspace-write`, `danger-full-access`; as Codex is
    /// configured by default.
    #[arg(long, value_name = "MODE")]
    pub sandbox: Option<String>,
    /// A JSON file with tools of your own: a list of `{name, description, inputSchema, command}`.
    /// The command reads the arguments on its standard input and prints the answer.
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// How long a turn may take.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = humantime::parse_duration)]
    pub turn_limit: Duration,
    /// Prints JSON, one line a turn.
    #[arg(long)]
    pub json: bool,
}

/// How the context goes into a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InjectChoice {
    /// As items, each with its role.
    #[default]
    Items,
    /// As quoted text.
    Text,
}

/// What a thread comes to whose engine does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProjectionChoice {
    /// It goes on.
    #[default]
    Keep,
    /// Another one begins.
    Rotate,
}

/// What Codex is told when it asks for permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ApprovalChoice {
    /// No.
    #[default]
    Decline,
    /// Yes, whatever it is.
    Accept,
}

/// Runs the command.
///
/// # Errors
/// When no engine is named, or Codex cannot be run. A failing engine is no error: the turn says so.
pub async fn run(args: CodexRunArgs) -> anyhow::Result<()> {
    log::start(LogFormat::Human, "warn")?;
    let config = config(&args)?;
    let mut codex = CodexHost::open(host(&config)?, settings(&args, &config)?).await?;
    let prompt = args.prompt.join(" ");
    let done = if prompt.trim().is_empty() {
        input::converse(&mut codex, args.json).await
    } else {
        let report = codex.turn(&prompt).await;
        report
            .map_err(anyhow::Error::from)
            .and_then(|report| input::show(&report, args.json))
    };
    codex.close().await;
    done
}

fn config(args: &CodexRunArgs) -> anyhow::Result<Config> {
    let loaded = args.config.load(|settings| args.host.over(settings));
    let built_in = loaded.is_built_in("host.policy");
    let mut config = loaded.into_config(&["host"])?;
    if built_in {
        // A conversation wants the breaker and the tries that a tool does without.
        config.host.client.policy = Policy::Guarded;
        // Nobody registers the engine anew while it lasts.
        config.host.client.quarantine.release = QuarantineRelease::Probe;
    }
    Ok(config)
}

fn host(config: &Config) -> anyhow::Result<Host> {
    let target = config.host.target.clone();
    let target = target.context(
        "no engine is named: say --target, or host.target in the configuration; `contextwire serve` runs one",
    )?;
    let host = Host::builder()
        .options(config.host.client.clone())
        .id("contextwire-codex")
        .profile(HostProfile {
            id: "contextwire-codex".to_owned(),
            label: "contextwire codex-run".to_owned(),
            capabilities: CAPABILITIES.map(str::to_owned).into(),
        })
        .engine("engine", target);
    Ok(host.build()?)
}

fn settings(args: &CodexRunArgs, config: &Config) -> anyhow::Result<CodexSettings> {
    let state = match &args.state {
        Some(state) => state.clone(),
        None => dirs::data_dir()
            .context("no data folder for this user: name a --state")?
            .join("contextwire/codex"),
    };
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    anyhow::ensure!(
        args.session.chars().all(is_plain) && !args.session.trim_matches('.').is_empty(),
        "--session {} is no name: use letters, digits, `-`, `_` and `.`",
        args.session
    );
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let tools: Vec<Tool> = match &args.tools {
        Some(path) => serde_json::from_str(&read(path)?)
            .with_context(|| format!("{} is no list of tools", path.display()))?,
        None => Vec::new(),
    };
    if let Some(folder) = args.cwd.as_ref().filter(|folder| !folder.is_dir()) {
        anyhow::bail!("--cwd {} is no folder", folder.display());
    }
    Ok(CodexSettings {
        program: Program {
            path: args.codex.clone(),
            codex_home: args.codex_home.clone(),
            cwd: args.cwd.clone(),
            ..Program::default()
        },
        instructions: args.instructions.as_deref().map(read).transpose()?,
        injection: match args.inject {
            InjectChoice::Items => Injection::Items,
            InjectChoice::Text => Injection::QuotedText,
        },
        on_projection_failure: match args.on_projection_failure {
            ProjectionChoice::Keep => OnProjectionFailure::Keep,
            ProjectionChoice::Rotate => OnProjectionFailure::Rotate,
        },
        approvals: match args.approvals {
            ApprovalChoice::Decline => Approvals::Decline,
            ApprovalChoice::Accept => Approvals::Accept,
        },
        approval_policy: args.approval_policy.clone(),
        sandbox: args.sandbox.clone(),
        tools: Tools::new(tools),
        model: config.host.model.clone(),
        token_budget: config.host.budget,
        assemble_deadline: config.host.deadline,
        turn_limit: args.turn_limit,
        ..CodexSettings::new(session(&args.session)?, state.join(&args.session))
    })
}

fn session(name: &str) -> anyhow::Result<Session> {
    let id = format!("codex:{name}");
    let mut session = Session::new(SessionId::new(id.as_str())?);
    session.key = Some(id);
    Ok(session)
}
