//! `contextwire erase`: a session, or entries of it, out of everything that was made of them.

use std::process::ExitCode;

use clap::Args;
use contextwire_engine::{EntryId, EraseSession, SessionId};

use super::stored::StoreArgs;
use crate::output;
use crate::report::ErasureReport;

/// Erases a session, or single entries of it: bodies, index, summaries, plans, records of calls.
/// Then it empties the database's log and searches the files for what was erased.
///
/// What cannot be had back is only done with --yes; without it nothing is changed. A session that
/// its host still has is stored again at the host's next call, with entries that were erased before
/// on their own: end it there first. An entry that is erased on its own stays out, also when the
/// host sends it again. Copies of the file and what hosts and models keep
/// are not reached. Exits with 1 where something is left, and where nothing was found.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  contextwire erase 4f6f1c3e --yes
  contextwire erase 4f6f1c3e --entry e-17 --entry e-18 --yes --json
  contextwire erase 4f6f1c3e --yes --target unix:/run/user/1000/contextwire/engine.sock")]
pub struct EraseArgs {
    /// The session's id.
    pub session: String,
    /// Only this entry, by the id that the host gave it; may be repeated.
    #[arg(long = "entry", value_name = "ID")]
    pub entries: Vec<String>,
    /// Does it.
    #[arg(long)]
    pub yes: bool,
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// Without --yes; when the store cannot be written or the engine does not answer.
pub async fn run(args: &EraseArgs) -> anyhow::Result<ExitCode> {
    let session = SessionId::new(args.session.as_str())?;
    let is_blank = args.entries.iter().any(String::is_empty);
    anyhow::ensure!(!is_blank, "--entry needs the id of an entry");
    anyhow::ensure!(
        args.yes,
        "what is erased cannot be had back: give --yes to erase {} of session `{session}`",
        match args.entries.len() {
            0 => "everything".to_owned(),
            1 => "1 entry".to_owned(),
            several => format!("{several} entries"),
        }
    );
    let erase = EraseSession {
        session: session.clone(),
        entry_ids: args.entries.iter().cloned().map(EntryId::from).collect(),
    };
    let report = ErasureReport::new(&session, args.store.erase(erase).await?);
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(if report.proof.clean && report.found {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
