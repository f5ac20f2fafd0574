//! When a reader gives up.

use std::fmt;

use super::kind::FileKind;
use super::problem::{Placed, Problem, Quoted};
use super::sqlite::StoreError;

/// What to do about problems in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Report them and go on.
    #[default]
    Lenient,
    /// Refuse the file, naming all of them.
    Strict,
}

/// Why a file gave no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("session file could not be read")]
    Io(#[source] std::io::Error),
    /// The file is something else.
    #[error("not a session file of OpenClaw, pi or Codex, it looks like {kind}; {}", .kind.advice())]
    OtherKind {
        /// What it looks like.
        kind: FileKind,
    },
    /// The file is a database whose sessions cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session that was asked for is not in it.
    #[error("no session `{}` in it, it holds {}", Quoted(.id), Named(.known))]
    NoSuchSession {
        /// The id that was asked for.
        id: String,
        /// Ids of the sessions in it.
        known: Vec<String>,
    },
    /// It holds several sessions and none was named.
    #[error("it holds {} sessions, name one with --transcript: {}", .known.len(), Named(.known))]
    SeveralSessions {
        /// Their ids, the one written last first.
        known: Vec<String>,
    },
    /// The file has problems and [`Strictness::Strict`] was asked for.
    #[error("session file has {} problem(s): {}", .problems.len(), Listed(.problems))]
    Damaged {
        /// All of them, in file order; never empty.
        problems: Vec<Problem>,
    },
}

struct Named<'a>(&'a [String]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, id) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", Quoted(id))?;
        }
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (index, problem) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}: {}", Placed(problem), problem.reason)?;
        }
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::{Outcome, Reason, Source};
    use super::*;

    #[test]
    fn a_refusal_names_the_first_five_problems_and_counts_the_rest() {
        let problem = |line| Problem {
            source: Source::File,
            line,
            reason: Reason::MissingType,
            outcome: Outcome::Skipped,
        };
        let error = ReadError::Damaged {
            problems: (1..=7).map(problem).collect(),
        };
        let one = "an object without a `type`";
        assert_eq!(
            error.to_string(),
            format!(
                "session file has 7 problem(s): line 1: {one}, line 2: {one}, line 3: {one}, \
                 line 4: {one}, line 5: {one} and 2 more"
            )
        );
    }
}
