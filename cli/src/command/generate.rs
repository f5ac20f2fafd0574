//! `contextwire generate`: a session of our own making, for trying things out.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::output;
use crate::session;

/// Writes a made-up coding session, the same for the same seed.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// Where to; standard output without it.
    pub file: Option<PathBuf>,
    /// Which session.
    #[arg(long, default_value_t = session::SAMPLE_SEED)]
    pub seed: u64,
    /// How many user turns.
    #[arg(long, default_value_t = session::SAMPLE_TURNS)]
    pub turns: usize,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be written.
pub fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let text = session::generate(args.seed, args.turns);
    let Some(file) = &args.file else {
        output::line(text.trim_end());
        return Ok(());
    };
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
