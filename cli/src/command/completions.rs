//! `contextwire completions`: what a shell needs to complete our command lines.

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::output;

/// Prints completions for a shell; for instance
/// `contextwire completions bash > ~/.local/share/bash-completion/completions/contextwire`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command for a program.
///
/// # Errors
/// When the script is no text.
pub fn run(args: &CompletionsArgs, mut program: Command) -> anyhow::Result<()> {
    let name = program.get_name().to_owned();
    // Written whole, so that a reader that goes away is no panic.
    let mut script = Vec::new();
    generate(args.shell, &mut program, name, &mut script);
    let script = String::from_utf8(script).context("the script is no text")?;
    output::line(script.trim_end());
    Ok(())
}
