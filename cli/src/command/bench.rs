//! bench
use clap::Args;
/// Bench.
#[derive(Debug, Args)]
pub struct BenchArgs {}
/// Runs.
/// # Errors
/// Never.
pub async fn run(_: BenchArgs) -> anyhow::Result<std::process::ExitCode> {
    Ok(std::process::ExitCode::SUCCESS)
}
