//! `contextwire outbox`: what a host still has to tell its engines.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use contextwire_client::EngineRequest;
use contextwire_client::engine::EndSubagent;
use contextwire_client::outbox::{OutboxFile, StoredCall};

use crate::config::ConfigArgs;
use crate::output;
use crate::report::{OutboxReport, OutboxRow};

/// Shows what a host still has to tell its engines, and what was set aside.
///
/// A host with an outbox writes closed turns, settled spawns and ends of children into a file before it
/// answers, and deletes them once their engine has them. Rows go in the order of their numbers within a
/// lane, which is a session. What no later try can change, or what waited for 7 days, is set aside: it
/// holds nothing back and stays until you retry or drop it. No content is ever shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  contextwire outbox list --file ~/.local/state/my-host/outbox.sqlite3
  contextwire outbox show 17
  contextwire outbox retry 17
  contextwire outbox drop 17 --json

The host may run meanwhile. A row that is put back is tried within a minute.")]
pub struct OutboxArgs {
    #[command(subcommand)]
    command: OutboxCommand,
}

#[derive(Debug, Subcommand)]
enum OutboxCommand {
    List(ListArgs),
    Show(RowArgs),
    Retry(RowArgs),
    Drop(DropArgs),
}

/// Which outbox, and how it is shown.
#[derive(Debug, Args)]
struct FileArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The file; by default the one that is configured (host.outbox).
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Lists all rows, in the order in which they were written.
#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Only rows that were set aside, or whose turn can never be read.
    #[arg(long)]
    aside: bool,
}

/// One row, with everything but its content; `retry` puts one back that was set aside, or tries one at
/// once that waits for its time.
#[derive(Debug, Args)]
struct RowArgs {
    /// The row's number.
    id: i64,
    #[command(flatten)]
    file: FileArgs,
}

/// Deletes a row: its engine never hears of it by this way.
#[derive(Debug, Args)]
struct DropArgs {
    /// The row's number.
    id: i64,
    #[command(flatten)]
    file: FileArgs,
    /// Also a row that waits and may still be delivered.
    #[arg(long)]
    force: bool,
}

impl FileArgs {
    fn open(&self) -> anyhow::Result<OutboxFile> {
        if let Some(file) = &self.file {
            return Ok(OutboxFile::open(file)?);
        }
        let config = self.config.load(|_| {}).into_config(&["host"])?;
        let configured = config.host.outbox;
        let file = configured.context("name the file with --file, or configure host.outbox")?;
        Ok(OutboxFile::open(file)?)
    }

    fn print(&self, report: &OutboxReport) -> anyhow::Result<()> {
        if self.json {
            output::line(serde_json::to_string_pretty(report)?);
        } else {
            output::line(report.to_text(output::surface()).trim_end());
        }
        Ok(())
    }

    fn print_row(&self, did: &str, row: &OutboxRow) -> anyhow::Result<()> {
        if self.json {
            output::line(serde_json::to_string_pretty(row)?);
        } else {
            let text = row.to_text(did, output::surface());
            output::line(text.trim_end());
        }
        Ok(())
    }
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be used, there is no such row, or the row is not one that this can be done
/// with.
pub fn run(args: &OutboxArgs) -> anyhow::Result<()> {
    match &args.command {
        OutboxCommand::List(args) => {
            let file = args.file.open()?;
            let rows = file.rows()?.into_iter().map(OutboxRow::from);
            let report = OutboxReport {
                status: file.status("")?,
                rows: rows.filter(|row| !args.aside || row.is_kept()).collect(),
            };
            args.file.print(&report)
        }
        OutboxCommand::Show(args) => {
            let file = args.file.open()?;
            let row = file.row(args.id)?;
            let call = file.call(args.id);
            let row = OutboxRow {
                holds: Some(match &call {
                    Ok(call) => holds(call),
                    Err(error) => error.to_string(),
                }),
                ..row.into()
            };
            args.file.print_row("", &row)
        }
        OutboxCommand::Retry(args) => {
            let row = args.file.open()?.retry(args.id)?;
            args.file.print_row("put back", &row.into())
        }
        OutboxCommand::Drop(args) => {
            let row = args.file.open()?.remove(args.id, args.force)?;
            args.file.print_row("dropped", &row.into())
        }
    }
}

/// What a call is about, without its content.
fn holds(call: &StoredCall) -> String {
    if let EngineRequest::CommitTurn(turn) = &call.request {
        let bytes: usize = turn.messages.iter().map(|it| it.payload().len()).sum();
        return format!(
            "{} messages of {bytes} bytes, from entry `{}` through `{}`",
            turn.messages.len(),
            turn.admission.anchor.entry_id,
            turn.terminal.entry_id
        );
    }
    if let EngineRequest::ResolveSubagentSpawn(spawn) = &call.request {
        return format!("spawn `{}`: {:?}", spawn.spawn_id, spawn.outcome);
    }
    if let EngineRequest::EndSubagent(EndSubagent { reason, .. }) = &call.request {
        return format!("the child ended: {reason}");
    }
    call.request.hook().name().to_owned()
}
