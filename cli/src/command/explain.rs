//! `contextwire explain`: why each message was in the context of a turn, and why another was not.

use clap::Args;
use contextwire_lossless::PastSession;
use contextwire_lossless::fit::{Fitted, Item, Piece};

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
pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let (id, past, fitted) = args.turn.fitted()?;
    let report = Explained {
        session: id.to_string(),
        turn: args.turn.turn,
        tokens: fitted.tokens,
        budget: args.turn.budget,
        items: fitted.items.iter().map(|item| shown(item, &past)).collect(),
        left_out: left_out(&fitted),
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}

fn shown(item: &Item, past: &PastSession) -> ExplainedItem {
    let role = match (&item.piece, item.places) {
        (Piece::Insert(message), _) => message.role().to_owned(),
        (Piece::Keep(_), Some(span)) => past
            .message(span.start)
            .map_or_else(String::new, |message| message.role().to_owned()),
        (Piece::Keep(_), None) => String::new(),
    };
    ExplainedItem {
        places: item.places.map(|span| (span.start, span.end)),
        role,
        tokens: item.tokens,
        why: item.to_string(),
    }
}

fn left_out(fitted: &Fitted) -> Vec<LeftOutRun> {
    let left = fitted.left_out.iter();
    left.map(|left| LeftOutRun {
        places: left.places.map(|span| (span.start, span.end)),
        messages: left.messages,
        why: left.why.to_string(),
    })
    .collect()
}
