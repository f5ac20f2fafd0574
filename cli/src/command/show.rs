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
pub fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let (file, id, past) = args.session.read()?;
    let faults = past.faults(file.rows())?;
    let items = past.standing().into_iter();
    let items = items.map(|item| {
        let summary = item.summary.as_deref();
        StandingItem {
            places: (item.span.start, item.span.end),
            tokens: item.tokens,
            depth: summary.map(contextwire_lossless::SummaryNode::depth),
            written_by: summary.map(|node| node.parts().provenance.name().to_owned()),
            handle: summary.map(|node| node.id().handle()),
            text: summary.map(|node| node.text().to_owned()),
        }
    });
    let report = StandingReport {
        session: id.to_string(),
        plan_version: past.plan().version(),
        plan_digest: past.plan().digest().to_string(),
        items: items.collect(),
        faults: faults.iter().map(ToString::to_string).collect(),
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
