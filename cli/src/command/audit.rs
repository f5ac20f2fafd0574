//! `contextwire audit`: is each message of a session in an engine's log exactly once, in order?

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use contextwire_client::{AdminClient, EngineClient, ServedBy, Target};
use contextwire_engine::{
    Assemble, Session as SessionOfCall, SessionId, StoredLog, Transcript, TranscriptState,
};
use contextwire_proto::Reason;
use contextwire_store::StoreFile;

use crate::audit::{self, Finding, Item, StateVerdict};
use crate::command::session::warn;
use crate::config::ConfigArgs;
use crate::engine::existing_store;
use crate::output;
use crate::report::{AuditFinding, AuditReport};
use crate::session::{self, ContextMessage, HistoryView, Outcome, Session, Strictness};

/// The audit could not be made.
const NO_AUDIT: u8 = 3;

type Messages = Vec<Arc<ContextMessage>>;

/// Compares a recorded session with what an engine stored of it: is each message there exactly
/// once, in order? Reads the file of the lossless engine or of the ledger, or asks a running engine;
/// one that shows no entries to operators only tells how its log compares as a whole. Exits with 0
/// when all is well, with 1 when something is not, and with 3 when it cannot be told.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// A session file of OpenClaw, pi or Codex, of any format.
    pub session: PathBuf,
    /// Which session of a file that holds several.
    #[arg(long, value_name = "ID")]
    pub transcript: Option<String>,
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The engine's file; by default the one that is configured (engine.store), else the one in
    /// your data folder. It is only read, and an engine may go on writing it.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// A running engine instead: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(long, conflicts_with = "store")]
    pub target: Option<Target>,
    /// Refuses a damaged session file instead of auditing what can be read of it.
    #[arg(long)]
    pub strict: bool,
    /// The session's id at the engine; by default the id in the session file.
    #[arg(long, value_name = "ID")]
    pub session_id: Option<String>,
    /// How long to wait for a running engine, for instance `500ms`.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub deadline: Duration,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the report cannot be printed.
pub async fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let report = match audit(args).await {
        Ok(report) => report,
        Err(error) => {
            output::problem(format_args!("error: {error:#}"));
            return Ok(ExitCode::from(NO_AUDIT));
        }
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

async fn audit(args: &AuditArgs) -> anyhow::Result<AuditReport> {
    let strictness = if args.strict {
        Strictness::Strict
    } else {
        Strictness::Lenient
    };
    let recording = session::read_chosen(&args.session, args.transcript.as_deref(), strictness)
        .with_context(|| format!("cannot audit {}", args.session.display()))?;
    warn(&recording);
    let report = compare(args, &recording).await?;
    let problems = recording.problems().iter();
    let skipped = problems.filter(|problem| problem.outcome == Outcome::Skipped);
    Ok(AuditReport {
        lines_skipped: skipped.count() as u64,
        ..report
    })
}

async fn compare(args: &AuditArgs, recording: &Session) -> anyhow::Result<AuditReport> {
    let id = args
        .session_id
        .clone()
        .or_else(|| recording.header().id.clone());
    let id = id.unwrap_or_else(|| "replay".to_owned());
    let id = SessionId::new(id).context("the session's id cannot be used")?;
    let messages = messages(recording);
    if let Some(target) = &args.target {
        return ask(target, id, &messages, args.deadline).await;
    }
    read(&store(args)?, &id, &messages)
}

/// Where the log is.
fn store(args: &AuditArgs) -> anyhow::Result<PathBuf> {
    if let Some(store) = &args.store {
        return Ok(store.clone());
    }
    // What else a service would mind is no concern of a reader.
    let config = args.config.load(|_| {}).into_config(&[])?;
    config.engine.store.map_or_else(existing_store, Ok)
}

/// What the file holds.
fn read(
    store: &std::path::Path,
    id: &SessionId,
    messages: &Messages,
) -> anyhow::Result<AuditReport> {
    let file = StoreFile::open(
        store,
        &[
            contextwire_lossless::rows::SCHEMA,
            contextwire_ledger::SCHEMA,
        ],
    )?;
    let Some(log) = file.log(id)? else {
        let known = file.sessions()?;
        let known: Vec<_> = known.iter().take(10).map(SessionId::as_str).collect();
        anyhow::bail!(
            "{} holds no session `{id}`; it holds {} (--session-id names another)",
            store.display(),
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        );
    };
    Ok(report(id, messages, &log))
}

/// What a running engine shows of its log.
async fn ask(
    target: &Target,
    id: SessionId,
    messages: &Messages,
    deadline: Duration,
) -> anyhow::Result<AuditReport> {
    match AdminClient::new(target)?
        .inspect_session(&id, deadline)
        .await
    {
        Ok(Some(log)) => Ok(report(&id, messages, &log)),
        Ok(None) => anyhow::bail!("{target} stores no session `{id}` (--session-id names another)"),
        Err(error) if error.code() == Reason::MethodAbsent.name() => {
            whole(target, id, messages, deadline).await
        }
        Err(error) => {
            Err(anyhow::Error::new(error).context(format!("{target} does not show its log")))
        }
    }
}

/// What an engine that shows no entries says of its log beside the context of an empty view: a
/// read, which hands nothing over and changes nothing.
async fn whole(
    target: &Target,
    id: SessionId,
    messages: &Messages,
    deadline: Duration,
) -> anyhow::Result<AuditReport> {
    let client = EngineClient::new(target)?;
    let session = SessionOfCall::new(id.clone());
    let served = client
        .assemble_within(&session, Assemble::default(), deadline)
        .await?;
    if let (ServedBy::InProcess, Some(reason)) = (&served.by, served.reason) {
        return Err(anyhow::Error::new(reason).context(format!("{target} does not answer")));
    }
    let log = served
        .said
        .log_state
        .with_context(|| format!("{} stores no log", served.by))?;
    let session: Transcript = messages
        .iter()
        .map(|message| message.message().clone())
        .collect();
    let findings: Vec<AuditFinding> = match audit::judge(&session, log) {
        StateVerdict::Equal => Vec::new(),
        StateVerdict::Behind { missing } => {
            let first = messages.len().saturating_sub(missing);
            let rest = messages.iter().skip(first);
            rest.map(|message| finding("missing", &item(message), Some(message.line()), None))
                .collect()
        }
        StateVerdict::Differs => vec![AuditFinding {
            kind: "differs".to_owned(),
            entry: "somewhere in its log; this engine does not show where".to_owned(),
            ..AuditFinding::default()
        }],
    };
    Ok(AuditReport {
        session: id.to_string(),
        messages: messages.len() as u64,
        stored: log.count,
        provisional: 0,
        erased: 0,
        lines_skipped: 0,
        ok: findings.is_empty(),
        findings,
    })
}

/// Every message of the session's branch, in order, those before a reset as well.
fn messages(recording: &Session) -> Messages {
    let turns = recording.turns(HistoryView::Full);
    let end = recording.view(HistoryView::Full);
    let mut seen = HashSet::new();
    let mut messages = Vec::new();
    let mut before = None;
    for view in turns.iter().map(|turn| &turn.view).chain([&end]) {
        let new: Vec<_> = match before.and_then(|before| view.added_since(before)) {
            Some(added) => added.cloned().collect(),
            None => view.messages().cloned().collect(),
        };
        messages.extend(new.into_iter().filter(|message| seen.insert(message.key())));
        before = Some(view);
    }
    messages
}

fn report(id: &SessionId, messages: &Messages, log: &StoredLog) -> AuditReport {
    let recorded: Vec<Item> = messages.iter().map(|message| item(message)).collect();
    let stored: Vec<Item> = log
        .entries
        .iter()
        .map(|entry| Item {
            entry_id: entry.entry_id.clone(),
            digest: entry.digest,
        })
        .collect();
    // What was erased is not there on purpose, and not changed by accident.
    let is_erased = |at: usize| log.entries.get(at).is_some_and(|entry| entry.erased);
    let findings = audit::compare(&recorded, &stored).into_iter();
    let findings = findings.filter(|found| match found {
        Finding::Changed { place, .. } => !is_erased(*place),
        Finding::Missing { .. }
        | Finding::OutOfOrder { .. }
        | Finding::Doubled { .. }
        | Finding::Foreign { .. } => true,
    });
    let of_session = |kind, at: usize, place| {
        let line = messages.get(at).map(|message| message.line());
        recorded
            .get(at)
            .map(|item| finding(kind, item, line, place))
    };
    let of_log = |kind, place: usize| {
        stored
            .get(place)
            .map(|item| finding(kind, item, None, Some(place)))
    };
    let named = |found| match found {
        Finding::Missing { at } => of_session("missing", at, None),
        Finding::Changed { at, place } => of_session("changed", at, Some(place)),
        Finding::OutOfOrder { at, place } => of_session("out of order", at, Some(place)),
        Finding::Doubled { place } => of_log("doubled", place),
        Finding::Foreign { place } => of_log("foreign", place),
    };
    let findings: Vec<AuditFinding> = findings.filter_map(named).chain(other_total(log)).collect();
    AuditReport {
        session: id.to_string(),
        messages: recorded.len() as u64,
        stored: stored.len() as u64,
        provisional: log.total.count.saturating_sub(log.placed.count),
        erased: log.entries.iter().filter(|entry| entry.erased).count() as u64,
        lines_skipped: 0,
        ok: findings.is_empty(),
        findings,
    }
}

/// Whether the log says of itself what its entries make: their count and chain at its end, and at
/// the end of what the host's log placed.
fn other_total(log: &StoredLog) -> Option<AuditFinding> {
    // Nobody knows any more what an erased entry was, so the chain cannot be made again.
    if log.entries.iter().any(|entry| entry.erased) {
        let is_short = log.entries.len() as u64 != log.total.count;
        return is_short.then(other_state);
    }
    let mut state = TranscriptState::EMPTY;
    let mut has_placed = log.placed == state;
    for entry in &log.entries {
        state = state.then(entry.digest);
        has_placed |= log.placed == state;
    }
    (state != log.total || !has_placed).then(other_state)
}

fn other_state() -> AuditFinding {
    AuditFinding {
        kind: "total".to_owned(),
        entry: "the log's own count and chain are not those of its entries".to_owned(),
        ..AuditFinding::default()
    }
}

fn item(message: &ContextMessage) -> Item {
    let message = message.message();
    Item {
        entry_id: message.entry_id().clone(),
        digest: message.digest(),
    }
}

/// A finding in a person's words; places are counted from 1 there.
fn finding(kind: &str, item: &Item, line: Option<u64>, place: Option<usize>) -> AuditFinding {
    let entry = if item.entry_id.is_empty() {
        item.digest.to_string().chars().take(12).collect()
    } else {
        item.entry_id.as_str().to_owned()
    };
    AuditFinding {
        kind: kind.to_owned(),
        entry,
        line,
        place: place.map(|place| place as u64 + 1),
    }
}

#[cfg(test)]
mod tests;
