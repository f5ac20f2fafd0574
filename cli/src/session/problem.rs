//! What a reader reports about single lines.

use std::fmt;
use std::sync::Arc;

/// Something about one line that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What the number counts.
    pub source: Source,
    /// Line number, counted from 1, or the number of a row.
    pub line: u64,
    /// What is wrong.
    pub reason: Reason,
    /// What became of the line.
    pub outcome: Outcome,
}

impl Problem {
    /// A line of the file itself that is part of the session all the same.
    pub(super) fn kept(line: u64, reason: Reason) -> Self {
        Self {
            source: Source::File,
            line,
            reason,
            outcome: Outcome::Kept,
        }
    }
}

/// Where a reported line stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In the file itself.
    #[default]
    File,
    /// It is a row of a database, by its number within the session.
    Rows,
    /// In another rollout that this one goes on, by its file name.
    Parent(Arc<str>),
}

/// What became of a reported line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It contributes nothing to the session.
    Skipped,
    /// It is part of the session; the reason says how it was read.
    Kept,
}

/// What is wrong with a line. Ids and details are quoted from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Not JSON.
    NotJson {
        /// The parser's own words.
        detail: String,
        /// Position in the line, counted from 1.
        column: usize,
    },
    /// The last line of the file ends in the middle of a JSON value.
    Truncated,
    /// Not UTF-8.
    InvalidUtf8 {
        /// Bytes of the line that are.
        valid_bytes: usize,
    },
    /// JSON, but not an object.
    NotAnObject,
    /// Longer than a line may be.
    TooLong {
        /// Its size in bytes.
        bytes: u64,
    },
    /// An object without a `type`.
    MissingType,
    /// An entry whose required field is absent or of the wrong type.
    MalformedEntry {
        /// The entry's `type`.
        entry_type: String,
        /// The field.
        field: &'static str,
    },
    /// An entry id that an earlier line has.
    DuplicateId {
        /// The id.
        id: String,
        /// The line that has it already.
        first_line: u64,
    },
    /// A tree entry without an id of its own.
    MissingId,
    /// A parent that no line of the file has.
    UnknownParent {
        /// The parent id.
        id: String,
    },
    /// A parent that is the entry itself or comes later: a cycle, or lines out of order.
    LaterParent {
        /// The parent id.
        id: String,
    },
    /// A parent that is neither an id nor null.
    MalformedParent,
    /// A `leaf` entry that points to no earlier entry.
    UnknownLeafTarget,
    /// A compaction or reset that keeps entries from a point that is not before it on its branch.
    UnknownFirstKept {
        /// What it names.
        reference: String,
    },
    /// The file does not start with a `session` line.
    NoHeader,
    /// A `session` line after the first one.
    SecondHeader,
    /// A format version that this reader does not know; read as the newest one that it knows.
    NewerVersion {
        /// The version.
        version: u64,
    },
    /// A row of another session in an export of several.
    OtherSession {
        /// That session's id.
        id: String,
    },
    /// A compressed row that cannot be unpacked.
    NotUnpacked,
    /// A numbered record that does not follow the one before it.
    RecordGap {
        /// The number that was due.
        due: u64,
        /// The number that came.
        found: u64,
    },
    /// A fork whose past cannot be read as it should be.
    Fork(ForkProblem),
}

/// What is wrong with the past that a fork takes over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForkProblem {
    /// The parent is not where it could be found.
    Missing {
        /// The parent's id.
        id: String,
    },
    /// The parent could be one of several files.
    Ambiguous {
        /// The parent's id.
        id: String,
        /// Name of the file that was read.
        read: String,
    },
    /// The parent ends before the point where the fork begins.
    TooShort {
        /// Number of the first record that is missing.
        missing: u64,
    },
    /// A fork of itself, or of too many others.
    Endless,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Placed(self), self.reason)?;
        match self.outcome {
            Outcome::Skipped => f.write_str("; skipped"),
            Outcome::Kept => Ok(()),
        }
    }
}

/// `line 7`, `row 7`, or ``line 7 of `rollout-….jsonl` ``
pub(super) struct Placed<'a>(pub(super) &'a Problem);

impl fmt::Display for Placed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.0.line;
        match &self.0.source {
            Source::File => write!(f, "line {line}"),
            Source::Rows => write!(f, "row {line}"),
            Source::Parent(name) => write!(f, "line {line} of `{}`", Quoted(name)),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { detail, column } => write!(f, "not JSON ({detail}, column {column})"),
            Self::Truncated => f.write_str("the file ends in the middle of this line"),
            Self::InvalidUtf8 { valid_bytes } => {
                write!(f, "not UTF-8 (after {valid_bytes} bytes)")
            }
            Self::NotAnObject => f.write_str("JSON, but not an object"),
            Self::TooLong { bytes } => write!(f, "too long ({bytes} bytes)"),
            Self::MissingType => f.write_str("an object without a `type`"),
            Self::MalformedEntry { entry_type, field } => {
                write!(
                    f,
                    "`{}` entry without a usable `{field}`",
                    Quoted(entry_type)
                )
            }
            Self::DuplicateId { id, first_line } => {
                write!(
                    f,
                    "entry id `{}` is already on line {first_line}",
                    Quoted(id)
                )
            }
            Self::MissingId => f.write_str("an entry of a tree without an id"),
            Self::UnknownParent { id } => continuation(f, id, "is not in the file"),
            Self::LaterParent { id } => continuation(f, id, "is not before this line"),
            Self::MalformedParent => {
                f.write_str("`parentId` is neither an id nor null; read as a continuation")
            }
            Self::UnknownLeafTarget => f.write_str("`leaf` points to no earlier entry; ignored"),
            Self::UnknownFirstKept { reference } => {
                let reference = Quoted(reference);
                write!(
                    f,
                    "first kept entry `{reference}` is not before this line; keeps nothing"
                )
            }
            Self::NoHeader => f.write_str("no `session` line before this one"),
            Self::SecondHeader => f.write_str("a second `session` line"),
            Self::NewerVersion { version } => {
                write!(f, "format version {version} is newer than this reader")
            }
            Self::OtherSession { id } => write!(f, "a row of session `{}`", Quoted(id)),
            Self::NotUnpacked => f.write_str("compressed and cannot be unpacked"),
            Self::RecordGap { due, found } => {
                write!(
                    f,
                    "record {found} where {due} was due; records are missing or out of order"
                )
            }
            Self::Fork(problem) => problem.fmt(f),
        }
    }
}

fn continuation(f: &mut fmt::Formatter<'_>, parent: &str, why: &str) -> fmt::Result {
    write!(
        f,
        "parent `{}` {why}; read as a continuation",
        Quoted(parent)
    )
}

impl fmt::Display for ForkProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { id } => write!(
                f,
                "the session `{}` that this one goes on is not beside it; only what came after is here",
                Quoted(id)
            ),
            Self::Ambiguous { id, read } => write!(
                f,
                "several files hold the session `{}` that this one goes on; `{}` was read",
                Quoted(id),
                Quoted(read)
            ),
            Self::TooShort { missing } => write!(
                f,
                "the parent ends before record {missing}, where this session begins"
            ),
            Self::Endless => f.write_str("a fork of itself, or of too many others"),
        }
    }
}

/// Text from a file, made fit for one line of a terminal.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 64;
        for character in self.0.chars().take(LONGEST) {
            write!(f, "{}", character.escape_debug())?;
        }
        if self.0.chars().nth(LONGEST).is_some() {
            f.write_str("…")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_break_out_of_its_line() {
        let reason = Reason::UnknownParent {
            id: format!("\u{1b}[31m\n{}", "x".repeat(100)),
        };
        let shown = reason.to_string();
        assert!(!shown.contains(['\u{1b}', '\n']), "{shown}");
        assert!(
            shown.contains('…') && shown.chars().count() < 140,
            "{shown}"
        );
    }
}
