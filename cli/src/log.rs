//! Log lines on standard error: for people by default, JSON for machines.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use crate::output;

/// How log lines look.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line each.
    #[default]
    Human,
    /// One JSON object each.
    Json,
}

/// Starts logging. `filter` is a `tracing` filter such as `info` or `contextwire_server=debug`.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(format: LogFormat, filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("--log-filter `{filter}` is no filter: {error}"))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(output::progress_is_watched())
        // A line that cannot be written would be reported there as well, and end the task that
        // logs: whoever read this process's lines may go away before it does.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Human => lines.with_target(false).compact().init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}
