//! Recorded sessions of OpenClaw, pi and Codex: reading them, replaying them turn by turn, turning
//! them into other formats, making new ones.
//!
//! [`read`] takes a session file of any format, which it finds out by the content, and gives a
//! [`Session`]: the facts of its header, its entries, the active branch, and [`Session::turns`], the
//! contexts that a host would have handed to an engine. Messages of OpenClaw and pi keep the bytes
//! of the file; those of Codex get OpenClaw's form, with each text as it stands in the file.
//! [`generate()`] writes a session of our own making.
//!
//! Nothing in a file makes the reader panic or hang; what it does not understand it reports as a
//! [`Problem`] with the line number.

mod branch;
mod codex;
mod entry;
mod export;
mod field;
mod format;
mod generate;
mod kind;
mod line;
mod message;
mod node;
mod open;
mod page;
mod parse;
mod piece;
mod problem;
mod read_error;
mod reader;
mod sqlite;
mod tree;
mod turn;
mod usage;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub use branch::Boundaries;
pub use entry::{Entry, Header, Model};
pub use export::{Exported, Target};
pub use format::Format;
pub use generate::{SAMPLE, SAMPLE_SEED, SAMPLE_TURNS, generate};
pub use kind::FileKind;
pub use line::Size;
pub use message::ContextMessage;
pub use open::{read_chosen, read_from};
pub use piece::{Piece, pieces};
pub use problem::{ForkProblem, Outcome, Problem, Reason, Source};
pub use read_error::{ReadError, Strictness};
pub use sqlite::StoreError;
pub use turn::{HistoryView, Turn, View};
pub use usage::Usage;

use branch::Branch;
use entry::Kind;
use field::Fields;
use tree::Tree;

/// Reads a session file of any format that holds one session.
///
/// # Errors
/// As [`read_chosen`].
pub fn read(path: &Path, strictness: Strictness) -> Result<Session, ReadError> {
    read_chosen(path, None, strictness)
}

/// A recorded session.
#[derive(Debug)]
pub struct Session {
    format: Format,
    size: Size,
    header: Header,
    /// The header as it stands in the file; only of OpenClaw and pi.
    header_json: Option<Bytes>,
    entries: Vec<Entry>,
    /// Entry of each line of the file that is JSON, for version 1.
    positions: Vec<Option<usize>>,
    tree: Tree,
    branch: Branch,
    problems: Vec<Problem>,
}

impl Session {
    /// What kind of file it was read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How much was read; with a fork, what it took over from its parents as well.
    pub fn size(&self) -> Size {
        self.size
    }

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

    /// The messages of the active branch that a model was ever meant to see, in order: those before
    /// a reset as well, and no summaries of compactions.
    pub fn conversation(&self) -> impl Iterator<Item = Said<'_>> {
        let ends: Vec<usize> = self.branch.boundaries().collect();
        let items = self.branch.items.iter().enumerate();
        let said = items.map(move |(index, item)| Said {
            message: &item.message,
            stretch: ends.iter().take_while(|end| **end <= index).count(),
            is_excluded: item.excluded,
        });
        said.filter(|said| !said.is_excluded)
    }

    /// How often the conversation was compacted, and how often it was reset.
    pub fn boundaries(&self) -> Boundaries {
        self.branch.count()
    }

    /// Ends of the tree: 1 where nothing was ever taken back or tried twice.
    pub fn branches(&self) -> usize {
        let mut is_continued = vec![false; self.entries.len()];
        for index in 0..self.entries.len() {
            let parent = self.tree.parent(index);
            let is_marker = self.tree.visible(index) != Some(index);
            if let Some(parent) = parent.filter(|_| !is_marker)
                && let Some(parent) = is_continued.get_mut(parent)
            {
                *parent = true;
            }
        }
        let ends = self.entries.iter().zip(is_continued);
        ends.filter(|(entry, is_continued)| entry.is_canonical() && !entry.side && !is_continued)
            .count()
    }

    /// From the first to the last time in it, in milliseconds since the Unix epoch.
    pub fn span_ms(&self) -> Option<(i64, i64)> {
        let times = self.entries.iter().filter_map(Entry::timestamp_ms);
        let times = times.chain(self.header.timestamp_ms);
        times.fold(None, |span, time| match span {
            None => Some((time, time)),
            Some((first, last)) => Some((time.min(first), time.max(last))),
        })
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

/// A message of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The message.
    pub message: &'a Arc<ContextMessage>,
    /// How many compactions and resets were before it: within one stretch contexts only grow.
    pub stretch: usize,
    is_excluded: bool,
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
        | Kind::Replacement { .. }
        | Kind::Reset { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign
        | Kind::Broken => None,
    }
}

#[cfg(test)]
mod tests;
