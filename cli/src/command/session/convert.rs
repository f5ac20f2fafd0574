//! `contextwire session convert`: a session in another format.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tempfile::NamedTempFile;

use super::file::{FileArgs, warn};
use crate::output;
use crate::report::ConversionReport;
use crate::session::{Exported, Outcome, ReadError, Session, Strictness, Target};
use crate::stats::problems;

/// Writes a session in another format. Messages of OpenClaw and pi keep their bytes; a new file
/// appears whole or not at all.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The session.
    #[command(flatten)]
    pub file: FileArgs,
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub to: TargetChoice,
    /// Where to; standard output without it.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrites the file.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Leaves damaged lines out and says so; without it, a file with such a line is refused.
    #[arg(long)]
    pub lenient: bool,
    /// Prints what was written as JSON.
    #[arg(long, requires = "out")]
    pub json: bool,
}

/// What a session is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TargetChoice {
    /// An entry file as OpenClaw reads it.
    #[default]
    Openclaw,
    /// An entry file as pi reads it.
    Pi,
    /// The messages of the conversation, one a line, and nothing else.
    Jsonl,
}

impl TargetChoice {
    fn target(self) -> Target {
        match self {
            Self::Openclaw => Target::OpenClaw,
            Self::Pi => Target::Pi,
            Self::Jsonl => Target::Messages,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Openclaw => "openclaw",
            Self::Pi => "pi",
            Self::Jsonl => "jsonl",
        }
    }
}

pub(super) fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let session = args.file.read(Strictness::Lenient)?;
    if !args.lenient {
        refuse_losses(&session)
            .with_context(|| format!("cannot convert {}", args.file.file.display()))?;
    }
    if !args.json {
        warn(&session);
    }
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let done = session.export(args.to.target(), &mut out)?;
        out.flush()?;
        for loss in done.losses {
            output::problem(format_args!("warning: {loss}"));
        }
        return Ok(());
    };
    let (done, bytes) =
        write(&session, args, path).with_context(|| format!("cannot write {}", path.display()))?;
    let report = report(&session, args, path, done, bytes);
    if args.json {
        output::line(serde_json::to_string(&report)?);
    } else {
        output::line(report.to_text().trim_end());
    }
    Ok(())
}

/// Refuses a session of which a line would be lost.
fn refuse_losses(session: &Session) -> Result<(), ReadError> {
    let lost = session.problems().iter();
    let lost = lost.filter(|problem| problem.outcome == Outcome::Skipped);
    let problems: Vec<_> = lost.cloned().collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(ReadError::Damaged { problems })
}

/// Writes beside the place and moves there, so that nobody ever sees a part.
fn write(session: &Session, args: &ConvertArgs, path: &Path) -> anyhow::Result<(Exported, u64)> {
    let is_taken = "it exists already; --force overwrites it";
    anyhow::ensure!(args.force || !path.exists(), is_taken);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    let mut out = BufWriter::new(file.as_file_mut());
    let done = session.export(args.to.target(), &mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    let bytes = file.as_file().metadata()?.len();
    if args.force {
        file.persist(path)?;
    } else {
        // Somebody may have made the file meanwhile.
        file.persist_noclobber(path).map_err(|error| {
            if error.error.kind() == std::io::ErrorKind::AlreadyExists {
                anyhow::anyhow!(is_taken)
            } else {
                error.into()
            }
        })?;
    }
    Ok((done, bytes))
}

fn report(
    session: &Session,
    args: &ConvertArgs,
    path: &Path,
    done: Exported,
    bytes: u64,
) -> ConversionReport {
    ConversionReport {
        from: session.format().name().to_owned(),
        to: args.to.name().to_owned(),
        file: path.display().to_string(),
        lines: done.lines,
        messages: done.messages,
        bytes,
        losses: done.losses.into_iter().map(str::to_owned).collect(),
        problems: problems(session),
    }
}

#[cfg(test)]
mod tests;
