//! What a reader reports about single lines, and when it gives up.

use std::fmt;

use super::kind::FileKind;

/// Something about one line that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line number, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: Reason,
    /// What became of the line.
    pub outcome: Outcome,
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
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)?;
        match self.outcome {
            Outcome::Skipped => f.write_str("; skipped"),
            Outcome::Kept => Ok(()),
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
            Self::UnknownParent { id } => {
                write!(
                    f,
                    "parent `{}` is not in the file; read as a continuation",
                    Quoted(id)
                )
            }
            Self::LaterParent { id } => {
                let id = Quoted(id);
                write!(
                    f,
                    "parent `{id}` is not before this line; read as a continuation"
                )
            }
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
        }
    }
}

/// Text from a file, made fit for one line of a terminal.
struct Quoted<'a>(&'a str);

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
    #[error("not an OpenClaw or pi session file, it looks like {kind}; {}", .kind.advice())]
    OtherKind {
        /// What it looks like.
        kind: FileKind,
    },
    /// The file has problems and [`Strictness::Strict`] was asked for.
    #[error("session file has {} problem(s): {}", .problems.len(), Listed(.problems))]
    Damaged {
        /// All of them, in file order; never empty.
        problems: Vec<Problem>,
    },
}

struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (index, problem) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}line {}: {}", problem.line, problem.reason)?;
        }
        match self.0.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
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

    #[test]
    fn a_refusal_names_the_first_five_problems_and_counts_the_rest() {
        let problem = |line| Problem {
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
