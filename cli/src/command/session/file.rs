//! Which session a command is about.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::output;
use crate::session::{self, Session, Strictness};

/// Problems of a file that are named before the rest is only counted.
const NAMED_PROBLEMS: usize = 10;

/// A session file, and the session in it.
#[derive(Clone, Debug, Args)]
pub struct FileArgs {
    /// A session file of OpenClaw, pi or Codex: JSON Lines, a store, a rollout, packed or not.
    pub file: PathBuf,
    /// Which session of a file that holds several.
    #[arg(long, value_name = "ID")]
    pub transcript: Option<String>,
}

impl FileArgs {
    /// Reads the session.
    ///
    /// # Errors
    /// What the reader says, with the file's name.
    pub(crate) fn read(&self, strictness: Strictness) -> anyhow::Result<Session> {
        session::read_chosen(&self.file, self.transcript.as_deref(), strictness)
            .with_context(|| format!("cannot read {}", self.file.display()))
    }

    /// Reads the session, and warns of what is wrong with it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_warning(&self) -> anyhow::Result<Session> {
        let session = self.read(Strictness::Lenient)?;
        warn(&session);
        Ok(session)
    }
}

/// Names the first problems of a session and counts the rest.
pub(crate) fn warn(session: &Session) {
    let problems = session.problems();
    for problem in problems.iter().take(NAMED_PROBLEMS) {
        output::problem(format_args!("warning: {problem}"));
    }
    if problems.len() > NAMED_PROBLEMS {
        let rest = problems.len() - NAMED_PROBLEMS;
        output::problem(format_args!("warning: and {rest} more damaged lines"));
    }
}
