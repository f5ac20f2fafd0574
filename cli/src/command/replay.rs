//! `contextwire replay`: a recorded session through an engine.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use contextwire_client::{ClientOptions, CompactFallback, EngineClient, Target};
use indicatif::{ProgressBar, ProgressStyle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::session::warn;
use crate::config::{Config, ConfigArgs, HostConfig, HostFlags};
use crate::engine::EngineChoice;
use crate::log::{self, LogFormat};
use crate::output;
use crate::replay::{CompactRule, ContextWriter, Outage, OwnEngine, Replay, Settings};
use crate::session::{self, HistoryView, Session, Strictness};

/// How long an engine that is run for the replay may take to start.
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// Drives a recorded session through an engine, user turn by user turn, and shows what the model
/// would have seen. Without a target it starts an engine of its own; without a session it replays
/// a small one that comes with the program.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A session file of OpenClaw, pi or Codex: JSON Lines, a store, a rollout.
    pub session: Option<PathBuf>,
    /// Which session of a file that holds several.
    #[arg(long, value_name = "ID", requires = "session")]
    pub transcript: Option<String>,
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// How the engine is called.
    #[command(flatten)]
    pub host: HostFlags,
    /// Which engine to start when no target is named; `windowed` by default.
    #[arg(long, value_enum, conflicts_with = "target")]
    pub engine: Option<EngineChoice>,
    /// The history that the engine is shown: all of it, or what the host showed then, with its
    /// own compactions.
    #[arg(long, value_enum, default_value_t)]
    pub view: ViewChoice,
    /// Starts at this turn, as a host that is started again in the middle of a session: the engine
    /// is bootstrapped with what came before it.
    #[arg(long, value_name = "TURN", default_value_t = 1)]
    pub resume: usize,
    /// Refuses a file with a damaged line instead of skipping the line.
    #[arg(long)]
    pub strict: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Writes each assembled context to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Kills the own engine before the first of these turns and starts it again before the last,
    /// for instance `20..30`.
    #[arg(long, value_name = "FROM..TO", value_parser = turns, conflicts_with = "target")]
    pub outage: Option<Range<usize>>,
    /// Wait between turns, for instance `300ms`, to watch or to pull a plug.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub pause: Duration,
}

/// Which history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViewChoice {
    /// Everything since the last reset.
    #[default]
    Full,
    /// What the host handed over at the time.
    Recorded,
}

/// When a context over the budget is compacted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum CompactChoice {
    /// When the engine owns compaction.
    #[default]
    Owned,
    /// Always, as a host does whose own overflow check fails.
    Always,
    /// Never.
    Never,
}

fn turns(text: &str) -> Result<Range<usize>, String> {
    let (from, to) = text
        .split_once("..")
        .ok_or("write FROM..TO, for instance 20..30")?;
    let number = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| format!("`{text}` is no turn"))
    };
    let range = number(from)?..number(to)?;
    if range.start == 0 || range.is_empty() {
        return Err("turns count from 1, and TO comes after FROM".to_owned());
    }
    Ok(range)
}

/// Runs the command.
///
/// # Errors
/// When the session cannot be read or an engine of one's own cannot be started. A failing engine
/// is no error: its turns are served in-process and the table says so.
pub async fn run(args: ReplayArgs) -> anyhow::Result<()> {
    log::start(LogFormat::Human, "warn")?;
    let config = config(&args)?;
    let recording = read(&args)?;
    let settings = settings(&args, &config.host, &recording);
    let turns = recording.turns(settings.history).len();
    anyhow::ensure!(
        turns > 0,
        "the session holds no user message, so there is no turn to replay"
    );
    check_resume(&args, turns)?;
    let writer = args.out.as_deref().map(|folder| {
        ContextWriter::create(folder).with_context(|| format!("cannot use {}", folder.display()))
    });
    let writer = writer.transpose()?;
    let target = config.host.target.as_ref();
    let mut own = match target {
        Some(_) => None,
        None => Some(OwnEngine::start(config.engine.choice).await?),
    };
    let target = match (target, &own) {
        (Some(target), _) => target.clone(),
        (None, Some(own)) => own.target().clone(),
        (None, None) => anyhow::bail!("no engine to replay through"),
    };
    let options = ClientOptions {
        // The engine's compactions are what is looked at.
        compact_fallback: CompactFallback::Rethrow,
        ..config.host.client.clone()
    };
    let client = EngineClient::with_options(&target, &options)?;
    if let Target::Spawn(command) = &target {
        let ready = client.ready(STARTS_WITHIN).await;
        ready.with_context(|| format!("`{command}` does not serve"))?;
    }
    let outage = own.as_mut().zip(args.outage.clone().map(Outage));
    let replay = Replay::new(&client, &recording, &settings)?
        .writing(writer)
        .with_outage(outage);
    let bar = progress(turns + 1 - settings.resume);
    let report = replay.run(&recording, |row| {
        bar.set_message(format!(
            "{} tokens by {}",
            row.estimated_tokens, row.served_by
        ));
        bar.inc(1);
    });
    let report = report.await?;
    bar.finish_and_clear();
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()));
    }
    Ok(())
}

/// What this command reads of the configuration. Who asks on the command line for an engine of one's
/// own, or for its outage, does not mean the one that is configured.
fn config(args: &ReplayArgs) -> anyhow::Result<Config> {
    let loaded = args.config.load(|settings| {
        args.host.over(settings);
        settings.flag("engine.name", "--engine", args.engine.as_ref(), |o| {
            &mut o.engine.name
        });
    });
    let built_in = loaded.is_built_in("engine.name");
    let mut config = loaded.into_config(&["host"])?;
    if built_in {
        // The one that is looked at without a store and without a model.
        config.engine.choice = EngineChoice::Windowed;
    }
    if args.engine.is_some() || args.outage.is_some() {
        config.host.target = None;
    }
    Ok(config)
}

fn settings(args: &ReplayArgs, host: &HostConfig, recording: &Session) -> Settings {
    Settings {
        budget: host.budget,
        deadline: host.deadline,
        model: host
            .model
            .clone()
            .or_else(|| recording.model().map(|model| model.id)),
        history: match args.view {
            ViewChoice::Full => HistoryView::Full,
            ViewChoice::Recorded => HistoryView::Recorded,
        },
        pause: args.pause,
        resume: args.resume,
        compact: match host.compact_over_budget {
            CompactChoice::Owned => CompactRule::Owned,
            CompactChoice::Always => CompactRule::Always,
            CompactChoice::Never => CompactRule::Never,
        },
    }
}

fn check_resume(args: &ReplayArgs, turns: usize) -> anyhow::Result<()> {
    anyhow::ensure!(
        (1..=turns).contains(&args.resume),
        "--resume {} is no turn of this session: it has {turns}",
        args.resume
    );
    let before = |outage: &Range<usize>| outage.start < args.resume;
    anyhow::ensure!(
        !args.outage.as_ref().is_some_and(before),
        "--outage begins before --resume: it would never begin"
    );
    Ok(())
}

fn read(args: &ReplayArgs) -> anyhow::Result<Session> {
    let strictness = if args.strict {
        Strictness::Strict
    } else {
        Strictness::Lenient
    };
    let recording = match &args.session {
        Some(path) => session::read_chosen(path, args.transcript.as_deref(), strictness)
            .with_context(|| format!("cannot replay {}", path.display()))?,
        None => session::read_from(session::SAMPLE.as_bytes(), strictness)
            .context("cannot replay the built-in session")?,
    };
    warn(&recording);
    Ok(recording)
}

fn progress(turns: usize) -> ProgressBar {
    if !output::progress_is_watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} turn {pos} of {len}  {msg}");
    let bar = ProgressBar::new(turns as u64);
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_a_range_of_turns() {
        assert_eq!(turns("20..30"), Ok(20..30));
        for odd in ["20", "0..3", "5..5", "9..3", "a..b", ".."] {
            assert!(turns(odd).is_err(), "{odd}");
        }
    }
}
