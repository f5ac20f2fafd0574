//! `contextwire conformance`: does an engine keep the rules of the contract?

mod engine;
mod matrix;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Checks an engine in any language against the numbered rules of `contextengine.v1`.
#[derive(Debug, Args)]
pub struct ConformanceArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Engine(engine::EngineArgs),
    Badge(engine::BadgeArgs),
    Matrix(matrix::MatrixArgs),
}

/// Runs the command.
///
/// # Errors
/// When the engine cannot be reached, or a report cannot be written.
pub async fn run(args: ConformanceArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Engine(args) => engine::run(args).await,
        What::Badge(args) => engine::badge(args).await,
        What::Matrix(args) => matrix::run(args).await.map(|()| ExitCode::SUCCESS),
    }
}
