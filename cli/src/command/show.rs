//! `contextwire show`: what stands for a session now.

use clap::Args;

use super::stored::StoredSessionArgs;
use crate::output;
use crate::report::{StandingItem, StandingReport};

/// Shows the plan in force of a stored session: which summaries stand for what, and what stands for
/// itself; and whether every entry is in exactly one place of it.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The session.
    #[command(flatten)]
    pub session: StoredSessionArgs,
    /// Prints JSON, with the texts of the summaries.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be read or has no such session.
pub async fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let (id, plan) = args.session.plan().await?;
    let report = StandingReport {
        session: id.to_string(),
        plan_version: plan.version,
        plan_digest: plan.digest.to_string(),
        items: plan.items.into_iter().map(StandingItem::from).collect(),
        faults: plan.faults,
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
