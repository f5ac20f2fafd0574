//! `contextwire sessions`: what an engine stores.

use clap::Args;

use super::stored::StoreArgs;
use crate::output;
use crate::report::{StoredSession, StoredSessions};

/// Lists the sessions that the lossless engine stores: in its file, or as a running one says.
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
pub async fn run(args: &SessionsArgs) -> anyhow::Result<()> {
    let stored = args.store.open()?;
    let sessions = stored.sessions().await?.into_iter();
    let report = StoredSessions {
        sessions: sessions.map(StoredSession::from).collect(),
        behind_in_index: stored.status().await?.behind_in_index,
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
