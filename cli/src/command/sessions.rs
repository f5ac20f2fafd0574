//! `contextwire sessions`: what a store of the lossless engine holds.

use clap::Args;
use contextwire_lossless::PastSession;
use contextwire_lossless::rows::Rows;

use super::stored::StoreArgs;
use crate::output;
use crate::report::{StoredSession, StoredSessions};

/// Lists the sessions of a store of the lossless engine.
#[derive(Debug, Args)]
pub struct SessionsArgs {
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
/// When the store cannot be read.
pub fn run(args: &SessionsArgs) -> anyhow::Result<()> {
    let file = args.store.open()?;
    let mut sessions = Vec::new();
    for id in file.sessions()? {
        let Some(past) = PastSession::read(file.rows(), &id)? else {
            continue;
        };
        let standing = past.standing();
        sessions.push(StoredSession {
            session: id.to_string(),
            entries: past.entries(),
            turns: past.turns(),
            tokens: past.tokens(),
            summaries: past.plan().summaries().len(),
            plan_version: past.plan().version(),
            standing_tokens: standing.iter().map(|item| item.tokens).sum(),
        });
    }
    let report = StoredSessions {
        sessions,
        behind_in_index: file.rows().indexed()?.behind,
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
