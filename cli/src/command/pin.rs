//! `contextwire pin`: entries that the model is always shown.

use clap::Args;
use contextwire_engine::{EntryId, PinEntry, SessionId};

use super::stored::StoreArgs;
use crate::output;
use crate::report::Pins;

/// Pins an entry of a stored session: it is shown verbatim whatever the budget cuts, as far as it
/// fits beside the newest turn.
#[derive(Debug, Args)]
pub struct PinArgs {
    /// The session's id.
    pub session: String,
    /// The entry's id, as the host gave it.
    pub entry: String,
    /// Takes the pin off again.
    #[arg(long)]
    pub off: bool,
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
/// When the store cannot be written or does not have the entry.
pub async fn run(args: &PinArgs) -> anyhow::Result<()> {
    let session = SessionId::new(args.session.as_str())?;
    let pin = PinEntry {
        session: session.clone(),
        entry_id: EntryId::from(args.entry.clone()),
        pinned: !args.off,
    };
    let report = Pins {
        session: session.to_string(),
        pins: args.store.pin(pin).await?,
    };
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text());
    }
    Ok(())
}
