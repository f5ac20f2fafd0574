//! Reads a whole file back: a tree, and what a crash left at its end.

use std::ops::Range;

use bytes::Bytes;
use contextwire_engine::SessionId;

use super::entry::{self, Parsed};
use super::error::{LineProblem, StoreError};
use super::tree::{EntryIds, Tree};

/// Versions of the format that hold a tree of entries.
const VERSIONS: std::ops::RangeInclusive<u64> = 2..=4;

/// How every header of this store begins.
const HEADER_START: &[u8] = br#"{"type":"session","#;

/// An unfinished line at the end of a file: a write that a crash cut short, and nobody was told
/// that it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutTail {
    /// Its number, counted from 1.
    pub line: u64,
    /// How much of it there was.
    pub bytes: u64,
}

/// What a file holds.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) tree: Tree,
    /// Bytes of the file that stay.
    pub(super) len: u64,
    pub(super) cut: Option<CutTail>,
    /// Whether the last line lacks only its line feed.
    pub(super) lacks_line_feed: bool,
    /// Whether the file says whose it is; an empty one does not yet.
    pub(super) has_header: bool,
}

/// One line of a file.
struct RawLine {
    /// Counted from 1.
    number: u64,
    /// Without its line feed.
    span: Range<usize>,
    terminated: bool,
}

/// # Errors
/// [`StoreError::NotATranscript`], [`StoreError::UnsupportedVersion`],
/// [`StoreError::OtherSession`], [`StoreError::Corrupt`].
pub(super) fn load(file: &Bytes, session: &SessionId) -> Result<Loaded, StoreError> {
    let mut loaded = Loaded {
        tree: Tree::new(EntryIds::Sent),
        len: file.len() as u64,
        cut: None,
        lacks_line_feed: false,
        has_header: false,
    };
    for line in raw_lines(file) {
        let text = file.get(line.span.clone()).unwrap_or_default().trim_ascii();
        if text.is_empty() {
            continue;
        }
        let parsed = entry::parse(&file.slice_ref(text));
        if !line.terminated {
            // An object is whole only with its last byte: what parses is all there.
            if let Err(LineProblem::Json(_)) = parsed {
                if !loaded.has_header && !is_header_start(text) {
                    return Err(StoreError::NotATranscript);
                }
                loaded.len = line.span.start as u64;
                loaded.cut = Some(CutTail {
                    line: line.number,
                    bytes: line.span.len() as u64,
                });
                break;
            }
            loaded.lacks_line_feed = true;
        }
        loaded.take(&line, parsed, session)?;
    }
    loaded.tree.settle();
    Ok(loaded)
}

impl Loaded {
    fn take(
        &mut self,
        line: &RawLine,
        parsed: Result<Parsed, LineProblem>,
        session: &SessionId,
    ) -> Result<(), StoreError> {
        let corrupt = |problem| StoreError::Corrupt {
            line: line.number,
            problem,
        };
        match parsed {
            Ok(Parsed::Header { .. }) if self.has_header => Err(corrupt(LineProblem::SecondHeader)),
            Ok(Parsed::Header {
                session: found,
                version,
            }) => {
                self.has_header = true;
                check_header(found, version, session)
            }
            // A file of another kind is not a damaged transcript.
            Ok(Parsed::Entry(_) | Parsed::Ignored) | Err(_) if !self.has_header => {
                Err(StoreError::NotATranscript)
            }
            Ok(Parsed::Entry(entry)) => self.tree.insert(entry).map_err(corrupt),
            Ok(Parsed::Ignored) => Ok(()),
            Err(problem) => Err(corrupt(problem)),
        }
    }
}

fn check_header(found: String, version: u64, session: &SessionId) -> Result<(), StoreError> {
    if !VERSIONS.contains(&version) {
        return Err(StoreError::UnsupportedVersion { version });
    }
    if found != session.as_str() {
        return Err(StoreError::OtherSession { found });
    }
    Ok(())
}

fn is_header_start(text: &[u8]) -> bool {
    text.starts_with(HEADER_START) || HEADER_START.starts_with(text)
}

fn raw_lines(file: &[u8]) -> impl Iterator<Item = RawLine> {
    let mut start = 0;
    let lines = file.split_inclusive(|byte| *byte == b'\n');
    lines.zip(1..).map(move |(line, number)| {
        let terminated = line.last() == Some(&b'\n');
        let span = start..start + line.len() - usize::from(terminated);
        start += line.len();
        RawLine {
            number,
            span,
            terminated,
        }
    })
}

#[cfg(test)]
mod tests;
