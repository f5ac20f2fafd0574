//! Developer commands: `cargo xtask --help` lists them.

mod buf;
mod gate;
mod group;
mod hosts;
mod plan;
mod python;
mod report;
mod runner;
mod step;
mod totals;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::runner::Runner;

/// Developer commands of Contextwire.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

/// One line each, since `--help` is where a newcomer reads them.
#[derive(Debug, Clone, Copy, Subcommand)]
enum Task {
    /// What a change has to pass: format, lints, docs, protocol, tests, one session in a real gateway
    Ci,
    /// All of `ci` with 2000 cases a property, then the benchmarks and the real hosts
    Full,
    /// The TypeScript packages and the OpenClaw plugin in a real gateway, against a scripted model
    Hosts,
    /// The TypeScript packages alone: generated code, types, bundle, unit tests
    Packages,
    /// Write the golden files anew, from what the code does now
    Golden,
}

fn stdout() -> Box<dyn Write> {
    Box::new(io::stdout())
}

fn main() -> ExitCode {
    let task = Cli::parse().task;
    let runner = match Runner::new(stdout) {
        Ok(runner) => runner,
        Err(error) => {
            report::trouble(&error);
            return ExitCode::FAILURE;
        }
    };
    let plan = match task {
        Task::Ci => plan::ci(),
        Task::Full => plan::full(),
        Task::Hosts => plan::hosts(),
        Task::Packages => plan::packages(),
        Task::Golden => plan::golden(),
    };
    gate::pass(&runner, plan)
}
