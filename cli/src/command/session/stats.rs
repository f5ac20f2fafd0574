//! `contextwire session stats`: what is in a session file, counted.

use clap::Args;

use super::file::FileArgs;
use crate::output;
use crate::stats::stats;

/// Counts what is in a session: entries by type, messages by role, tokens by kind of text, turns,
/// compactions, branches.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// The session.
    #[command(flatten)]
    pub file: FileArgs,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let stats = stats(&args.file.read_warning()?);
    if args.json {
        output::line(serde_json::to_string(&stats)?);
    } else {
        output::line(stats.to_text(output::surface()).trim_end());
    }
    Ok(())
}
