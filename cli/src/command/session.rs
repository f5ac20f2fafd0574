//! `contextwire session`: looks into session files of any format.

mod convert;
mod file;
mod show;
mod stats;

use clap::{Args, Subcommand};

pub use convert::{ConvertArgs, TargetChoice};
pub use file::FileArgs;
pub(crate) use file::warn;
pub use show::ShowArgs;
pub use stats::StatsArgs;

/// Shows what is in a session file of OpenClaw, pi or Codex, and writes it in another format. What
/// a file is, is found out by its content.
#[derive(Debug, Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(ShowArgs),
    Stats(StatsArgs),
    Convert(ConvertArgs),
}

/// Runs the command.
///
/// # Errors
/// When the session cannot be read, or what was asked for cannot be done.
pub fn run(args: &SessionArgs) -> anyhow::Result<()> {
    match &args.command {
        Command::Show(args) => show::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Convert(args) => convert::run(args),
    }
}
