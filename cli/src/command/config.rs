//! `contextwire config`: what is configured, where it comes from, and what is wrong with it.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::{self, ConfigArgs, HostFlags, Loaded, ServeFlags};
use crate::output;
use crate::report::ConfigReport;

/// Shows the configuration, checks it, or prints its schema.
#[derive(Debug, Args)]
pub struct ConfigCommandArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows each value and where it comes from: a line of the file, a variable, a flag, or
    /// built in. Exits with 3 when something is wrong. No secret is shown.
    Print(LayerArgs),
    /// Names everything that is wrong, all at once: keys that do not exist, values of the wrong
    /// type or size, files that are missing, contradictions. Exits with 3 when something is.
    Check(LayerArgs),
    /// Prints the JSON Schema of the file, for editors.
    Schema(SchemaArgs),
}

#[derive(Debug, Args)]
struct SchemaArgs {
    /// Prints JSON, as without it: the schema is nothing else.
    #[arg(long)]
    json: bool,
}

/// The flags of `serve` and of `replay` that stand for keys.
#[derive(Debug, Args)]
struct LayerArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostFlags,
    #[command(flatten)]
    serve: ServeFlags,
}

impl LayerArgs {
    fn load(&self) -> Loaded {
        self.config.load(|settings| {
            self.serve.over(settings);
            self.host.over(settings);
        })
    }
}

/// Runs the command.
///
/// # Errors
/// When the report cannot be printed.
pub fn run(args: &ConfigCommandArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Print(args) => show(&ConfigReport::values(&args.load()), args.json),
        Command::Check(args) => show(&ConfigReport::problems(&args.load()), args.json),
        Command::Schema(SchemaArgs { json: _ }) => {
            output::line(serde_json::to_string_pretty(&config::schema())?);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn show(report: &ConfigReport, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        output::line(serde_json::to_string_pretty(report)?);
    } else {
        output::line(report.to_text(output::surface()).trim_end());
    }
    Ok(if report.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(output::WRONG_CONFIGURATION)
    })
}
