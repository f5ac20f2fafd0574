//! `contextwire stats`: how much an engine stores.

use clap::Args;

use super::stored::StoreArgs;
use crate::output;
use crate::report::StoreStats;

/// Counts what the lossless engine stores: sessions, entries, summaries, plans, bytes, and how far
/// its index lags behind.
#[derive(Debug, Args)]
pub struct StatsArgs {
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
pub async fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let report = StoreStats::from(args.store.open()?.status().await?);
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
