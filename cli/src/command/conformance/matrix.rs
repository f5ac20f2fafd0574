//! `contextwire conformance matrix`: several engines side by side.

use anyhow::Context;
use clap::Args;
use contextwire_conformance::runner::{self, Selection};
use contextwire_conformance::target::Address;

use crate::output;
use crate::report::ConformanceMatrix;

/// Runs all checks against several engines and prints what each came to, side by side.
#[derive(Debug, Args)]
pub(super) struct MatrixArgs {
    /// An engine and what it is called: `NAME=unix:/path/to/engine.sock`; once for each.
    #[arg(long = "target", value_name = "NAME=ADDRESS", value_parser = named, required = true)]
    targets: Vec<(String, Address)>,
}

fn named(text: &str) -> Result<(String, Address), String> {
    let (name, address) = text.split_once('=').ok_or("name it: NAME=ADDRESS")?;
    let address = address.parse().map_err(|error| format!("{error}"));
    address.map(|address| (name.to_owned(), address))
}

/// Runs the command.
///
/// # Errors
/// When an engine cannot be reached, after the matrix of the others.
pub(super) async fn run(args: MatrixArgs) -> anyhow::Result<()> {
    let mut matrix = ConformanceMatrix::default();
    let mut left_out = Vec::new();
    for (name, target) in args.targets {
        match runner::run(&target, &Selection::default(), |_| {}).await {
            Ok(report) => matrix.add(name, report),
            Err(error) => {
                output::problem(format_args!("{name} is left out of the matrix: {error}"));
                left_out.push((name, error));
            }
        }
    }
    output::line(matrix.to_text(output::surface()).trim_end());
    match left_out.into_iter().next() {
        Some((name, error)) => Err(error).context(format!("{name} could not be examined")),
        None => Ok(()),
    }
}
