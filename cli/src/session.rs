//! Recorded sessions of OpenClaw and pi: reading them, replaying them turn by turn, making new ones.
//!
//! [`read`] takes a session file (JSON Lines, versions 1 to 4) and gives a [`Session`]: the facts of
//! its header, its entries, the active branch, and [`Session::turns`], the contexts that a host
//! would have handed to an engine. Messages keep the bytes of the file. [`generate()`] writes a session
//! of our own making.
//!
//! Nothing in a file makes the reader panic or hang; what it does not understand it reports as a
//! [`Problem`] with the line number.

mod branch;
mod entry;
mod field;
mod generate;
mod kind;
mod line;
mod message;
mod parse;
mod problem;
mod reader;
mod tree;
mod turn;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

pub use entry::{Entry, Header, Model};
pub use generate::{SAMPLE, SAMPLE_SEED, SAMPLE_TURNS, generate};
pub use kind::FileKind;
pub use message::ContextMessage;
pub use problem::{Outcome, Problem, ReadError, Reason, Strictness};
pub use turn::{HistoryView, Turn, View};

use branch::Branch;
use entry::Kind;
use field::Fields;

/// Reads a session file.
///
/// One line is in memory at a time; the messages of the session stay. A line over 64 MiB is skipped.
///
/// # Errors
/// [`ReadError::Io`] when the file cannot be read, [`ReadError::OtherKind`] when no line of it
/// belongs to a session, [`ReadError::Damaged`] under [`Strictness::Strict`].
pub fn read(path: &Path, strictness: Strictness) -> Result<Session, ReadError> {
    // Opening a directory fails with a different error on each platform.
    if fs::metadata(path).map_err(ReadError::Io)?.is_dir() {
        return Err(ReadError::OtherKind {
            kind: FileKind::Directory,
        });
    }
    let file = File::open(path).map_err(ReadError::Io)?;
    read_from(BufReader::with_capacity(64 * 1024, file), strictness)
}

/// Reads a session from any source, for example standard input or [`SAMPLE`].
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl BufRead, strictness: Strictness) -> Result<Session, ReadError> {
    reader::read(input, strictness)
}

/// A recorded session.
#[derive(Debug)]
pub struct Session {
    header: Header,
    entries: Vec<Entry>,
    branch: Branch,
    problems: Vec<Problem>,
}

impl Session {
    /// What the `session` line says; the default where the file has none.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All entries that were understood, in file order, abandoned branches included.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| is_understood(entry))
    }

    /// The entries of the active branch, root first: the conversation that the host would continue.
    pub fn active_branch(&self) -> impl Iterator<Item = &Entry> {
        let path = self
            .branch
            .path
            .iter()
            .filter_map(|index| self.entries.get(*index));
        path.filter(|entry| is_understood(entry))
    }

    /// The newest model of the active branch, else the one of the header.
    pub fn model(&self) -> Option<Model> {
        let newest = self
            .branch
            .path
            .iter()
            .rev()
            .filter_map(|index| self.entries.get(*index));
        newest
            .into_iter()
            .find_map(named_model)
            .or_else(|| self.header.model.clone())
    }

    /// One [`Turn`] for each user message of the active branch, oldest first. Messages before the
    /// first user message are history of the first turn; a session without one has no turn.
    pub fn turns(&self, history: HistoryView) -> Vec<Turn> {
        self.branch.turns(history)
    }

    /// The context at the end of the file.
    pub fn view(&self, history: HistoryView) -> View {
        self.branch.newest_view(history)
    }

    /// What was skipped or read in an unusual way, in file order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

fn is_understood(entry: &Entry) -> bool {
    !matches!(entry.kind, Kind::Broken)
}

/// The model that an entry switches to or was written by.
fn named_model(entry: &Entry) -> Option<Model> {
    match &entry.kind {
        Kind::ModelChange(model) => Some(model.clone()),
        Kind::Message { message, .. } if message.role() == "assistant" => {
            let payload = std::str::from_utf8(message.payload()).ok()?;
            parse::model(&Fields::parse(payload).ok()?, "model")
        }
        Kind::Message { .. }
        | Kind::Compaction { .. }
        | Kind::Reset { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign
        | Kind::Broken => None,
    }
}

#[cfg(test)]
mod tests;
