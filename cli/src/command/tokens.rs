//! `contextwire tokens`: what a session weighs.

use clap::Args;

use crate::command::session::FileArgs;
use crate::output;
use crate::tokens::tokens;

/// Counts the tokens of a session's conversation by kind of text: the estimate that engines and
/// hosts here use, against the tokenizer and against what the session's own providers counted.
#[derive(Debug, Args)]
pub struct TokensArgs {
    /// The session.
    #[command(flatten)]
    pub file: FileArgs,
    /// The model to count for; the recorded one by default.
    #[arg(long)]
    pub model: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// When the session cannot be read.
pub fn run(args: &TokensArgs) -> anyhow::Result<()> {
    let report = tokens(&args.file.read_warning()?, args.model.as_deref());
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(())
}
