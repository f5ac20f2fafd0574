//! Why a store did not do what it was asked for.

use std::io;
use std::path::PathBuf;

use contextwire_engine::json::JsonError;
use contextwire_engine::{EntryId, HostCallError, TranscriptState};

use super::id::NativeId;

/// A store call that failed. Texts are one clause and never hold transcript content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The log is not the one that the request expects.
    #[error("the log has moved on to {} messages", .head.count)]
    Stale {
        /// The log now.
        head: TranscriptState,
    },
    /// The cursor's page has no successor any more.
    #[error("the transcript was rewritten since the page before")]
    CursorLost,
    /// Whoever asked for the rewrite was stopped or replaced before anything was written.
    #[error("the hook that asked is closed")]
    Closed,
    /// A replacement would turn the running turn's input into another one.
    #[error("entry `{}` is the input of a running turn", .id.as_str())]
    PendingInput {
        /// Its lineage id.
        id: EntryId,
    },
    /// An entry cannot be stored as it is.
    #[error("an entry's {field} {problem}")]
    InvalidEntry {
        /// The part of it.
        field: &'static str,
        /// What is wrong with it, a clause.
        problem: &'static str,
    },
    /// Nothing in this transcript has this id.
    #[error("no entry `{id}` in this transcript")]
    UnknownEntry {
        /// The id.
        id: String,
    },
    /// An entry of this transcript has the id already.
    #[error("entry `{id}` is there already")]
    DuplicateEntry {
        /// The id.
        id: NativeId,
    },
    /// The store was opened for reading.
    #[error("this transcript was opened for reading only")]
    ReadOnly,
    /// Somebody else writes this transcript, in this process or another.
    #[error("another writer has the transcript `{}` open", .path.display())]
    Locked {
        /// Its file.
        path: PathBuf,
    },
    /// The file belongs to another session; nothing of it may be taken over.
    #[error("the file belongs to session `{found}`")]
    OtherSession {
        /// That session's id; empty where the file names none.
        found: String,
    },
    /// The file is no transcript.
    #[error("the file is not a transcript")]
    NotATranscript,
    /// The file is a transcript of a version that has no tree of entries, or an unknown one.
    #[error("transcripts of version {version} are not supported")]
    UnsupportedVersion {
        /// The version; 1 where the file names none.
        version: u64,
    },
    /// A line before the last one is damaged. Nothing is lost, and nothing is guessed.
    #[error("line {line} of the transcript is damaged: {problem}")]
    Corrupt {
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        problem: LineProblem,
    },
    /// An earlier write may have reached the disk in part; the store must be opened again.
    #[error("the transcript must be opened again after a failed write")]
    Broken,
    /// The runtime shut down before the work was done.
    #[error("the store stopped before the work was done")]
    Stopped,
    /// The disk did not do it.
    #[error("the transcript could not be {doing}")]
    Io {
        /// What was tried: `opened`, `read`, `written`, ….
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// What is wrong with one line of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// Not one JSON object.
    #[error("{0}")]
    Json(JsonError),
    /// A field that the entry must have is absent or of another kind.
    #[error("`{0}` is missing or malformed")]
    Field(&'static str),
    /// An earlier line has the same id.
    #[error("its id is taken")]
    DuplicateId,
    /// A reference names no earlier line.
    #[error("`{0}` names no earlier entry")]
    Unknown(&'static str),
    /// A second header.
    #[error("it is a second session line")]
    SecondHeader,
}

impl StoreError {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// The reason that an engine is told (R1.6).
    fn reason(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "STALE",
            Self::CursorLost => "CURSOR_LOST",
            Self::Closed => "HOOK_CLOSED",
            Self::PendingInput { .. } => "DENIED",
            Self::InvalidEntry { .. }
            | Self::UnknownEntry { .. }
            | Self::DuplicateEntry { .. }
            | Self::ReadOnly
            | Self::Locked { .. }
            | Self::OtherSession { .. }
            | Self::NotATranscript
            | Self::UnsupportedVersion { .. }
            | Self::Corrupt { .. }
            | Self::Broken
            | Self::Stopped
            | Self::Io { .. } => "FAILED",
        }
    }
}

impl From<StoreError> for HostCallError {
    /// The failed host call; its text keeps paths and causes at home.
    fn from(error: StoreError) -> Self {
        let message = if let StoreError::Locked { .. } = error {
            "another writer has the transcript open".to_owned()
        } else {
            error.to_string()
        };
        Self::new(error.reason(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_told_the_contracts_reasons_and_no_path() {
        let head = TranscriptState::EMPTY;
        let reason = |error: StoreError| HostCallError::from(error).reason;
        assert_eq!(reason(StoreError::Stale { head }), "STALE");
        assert_eq!(reason(StoreError::CursorLost), "CURSOR_LOST");
        assert_eq!(reason(StoreError::Closed), "HOOK_CLOSED");
        assert_eq!(
            reason(StoreError::PendingInput { id: "u7".into() }),
            "DENIED"
        );
        let locked = HostCallError::from(StoreError::Locked {
            path: "folder/session.jsonl".into(),
        });
        assert_eq!(locked.reason, "FAILED");
        assert!(!locked.message.contains("session.jsonl"), "{locked}");
    }
}
