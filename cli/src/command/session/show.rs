//! `contextwire session show`: a session for reading.

use clap::Args;

use super::file::FileArgs;
use crate::output;
use crate::session::HistoryView;
use crate::show;

/// Rows that are shown where nobody says how many, and lines of a message.
const ROWS: usize = 50;
const LINES: usize = 40;

/// Shows the turns of a conversation, one of them whole, or all entries of the file.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The session.
    #[command(flatten)]
    pub file: FileArgs,
    /// Shows this turn whole, counted from 1.
    #[arg(long, value_name = "TURN", conflicts_with = "entries")]
    pub turn: Option<usize>,
    /// Shows the entries, those of abandoned branches as well.
    #[arg(long)]
    pub entries: bool,
    /// The newest so many turns or entries (50 without it); with `--turn`, so many lines of each
    /// message (40 without it). 0 is all of them. JSON always has whole messages.
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(args: &ShowArgs) -> anyhow::Result<()> {
    let session = args.file.read_warning()?;
    let on = output::surface();
    let (json, text) = match args.turn {
        Some(number) => {
            let turns = session.turns(HistoryView::Full).len();
            let shown = show::turn(&session, number, args.limit.unwrap_or(LINES));
            let Some(shown) = shown else {
                anyhow::bail!("--turn {number} is no turn of this session: it has {turns}");
            };
            (serde_json::to_string(&shown)?, shown.to_text(on))
        }
        None if args.entries => {
            let shown = show::entries(&session, args.limit.unwrap_or(ROWS));
            (serde_json::to_string(&shown)?, shown.to_text(on))
        }
        None => {
            let shown = show::turns(&session, args.limit.unwrap_or(ROWS));
            (serde_json::to_string(&shown)?, shown.to_text(on))
        }
    };
    output::line(if args.json { &json } else { text.trim_end() });
    Ok(())
}
