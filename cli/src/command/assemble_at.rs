//! `contextwire assemble-at`: what the model was shown at a turn, byte for byte.

use clap::Args;

use super::stored::TurnArgs;
use crate::output;

/// Prints the context that the lossless engine made at a turn, one message a line: the bytes that
/// were sent then, for a host that shows its log as it is and asked with this budget. Later turns
/// and compactions change nothing of it; what is pinned now counts as pinned, and what is erased is
/// gone.
#[derive(Debug, Args)]
pub struct AssembleAtArgs {
    /// Which turn.
    #[command(flatten)]
    pub turn: TurnArgs,
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be read or has no such turn.
pub async fn run(args: &AssembleAtArgs) -> anyhow::Result<()> {
    let (_, turn) = args.turn.explained(true).await?;
    for item in turn.items {
        let payload = item.payload.unwrap_or_default();
        output::line(String::from_utf8_lossy(&payload));
    }
    Ok(())
}
