//! `contextwire explain`: why each message was in the context of a turn, and why another was not.

use clap::Args;

use super::stored::TurnArgs;
use crate::output;
use crate::report::{Explained, ExplainedItem, LeftOutRun};

/// Says why each message is in the context of a turn, and what is not in it and why.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Which turn.
    #[command(flatten)]
    pub turn: TurnArgs,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be read or has no such turn.
pub async fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let (id, turn) = args.turn.explained(false).await?;
    let report = Explained {
        session: id.to_string(),
        turn: args.turn.turn,
        tokens: turn.tokens,
        budget: args.turn.budget,
        items: turn.items.into_iter().map(ExplainedItem::from).collect(),
        left_out: turn.left_out.into_iter().map(LeftOutRun::from).collect(),
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
