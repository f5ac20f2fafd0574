//! Why the outbox's file cannot be used, or refuses what it is asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contextwire_proto::convert::ConvertError;
use rusqlite::ErrorCode;

/// What goes wrong with an outbox.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// The file cannot be opened or created.
    #[error("the outbox {} cannot be opened", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the database or the system said.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The file is a database of something else.
    #[error("{} is no outbox: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer release wrote the file.
    #[error("the outbox {} has version {found}, this release knows {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this release knows.
        known: u32,
    },
    /// There is no room: on the disk, or within [`OutboxOptions::max_bytes`](super::OutboxOptions).
    #[error("there is no room for the outbox: free some, or deliver what waits")]
    Full,
    /// The database failed; nothing was changed.
    #[error("the outbox cannot be read or written")]
    Database(#[source] Arc<rusqlite::Error>),
    /// The key was written with other content, for another engine or owner, or is at another state
    /// (HOST-SEMANTICS 9.1).
    #[error(
        "advancement key collision: {kind} {key} is in the outbox already, and is not this one"
    )]
    Collision {
        /// The hook.
        kind: &'static str,
        /// The key.
        key: String,
    },
    /// No row has this number.
    #[error("the outbox has no row {id}")]
    UnknownRow {
        /// The number.
        id: i64,
    },
    /// The row is not one that this can be done with.
    #[error("row {id} is {state}: {advice}")]
    NotNow {
        /// The number.
        id: i64,
        /// What it is.
        state: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// No spawn of this id is in the journal.
    #[error("the outbox has no open spawn {spawn_id}")]
    UnknownSpawn {
        /// The id.
        spawn_id: String,
    },
    /// A row holds something that this release cannot read.
    #[error("a row of the outbox cannot be read: {0}")]
    Unreadable(String),
    /// The outbox was closed.
    #[error("the outbox is closed")]
    Closed,
}

impl OutboxError {
    pub(super) fn open(
        path: &Path,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Open {
            path: path.to_owned(),
            source: Arc::from(source.into()),
        }
    }
}

impl From<rusqlite::Error> for OutboxError {
    fn from(error: rusqlite::Error) -> Self {
        if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
            return Self::Full;
        }
        Self::Database(Arc::new(error))
    }
}

impl From<ConvertError> for OutboxError {
    fn from(error: ConvertError) -> Self {
        Self::Unreadable(error.to_string())
    }
}
