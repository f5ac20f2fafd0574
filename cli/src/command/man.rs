//! `contextwire man`: manual pages.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};

use crate::output;

/// Writes a manual page for each command; for instance
/// `contextwire man --out ~/.local/share/man/man1`, then `man contextwire-serve`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder; created where it is missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command for a program.
///
/// # Errors
/// When the folder or a page cannot be written.
pub fn run(args: &ManArgs, program: Command) -> anyhow::Result<()> {
    let folder = args.out.display();
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {folder}"))?;
    clap_mangen::generate_to(program, &args.out)
        .with_context(|| format!("cannot write to {folder}"))?;
    output::problem(format_args!("written to {folder}"));
    Ok(())
}
