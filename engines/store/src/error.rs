//! What goes wrong with a store: at opening, and inside a call.

use std::error::Error;
use std::path::PathBuf;

use contextwire_engine::{EngineError, ErrorKind};
use rusqlite::ErrorCode;

/// Why a store's file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened, read or created.
    #[error("the store {} cannot be opened", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the database or the system said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file is a database of something else.
    #[error("{} is no store of the {engine} engine", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it should be.
        engine: &'static str,
    },
    /// A newer release wrote the file.
    #[error("the store {} has version {found}, this release knows {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this release knows.
        known: u32,
    },
}

impl StoreError {
    /// A failure of the database or the system, with the file that it is about.
    pub fn open(path: impl Into<PathBuf>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Open {
            path: path.into(),
            source: source.into(),
        }
    }
}

/// What the database said inside a call.
#[derive(Debug)]
pub struct SqlError(pub rusqlite::Error);

impl From<SqlError> for EngineError {
    fn from(SqlError(error): SqlError) -> Self {
        Self::new(kind(&error), "the store cannot be used").with_source(error)
    }
}

/// A database that is locked, full or away says nothing about the engine (R6.5); one that is damaged
/// or holds nonsense does.
pub(crate) fn kind(error: &rusqlite::Error) -> ErrorKind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::SchemaChanged,
        ) => ErrorKind::Transient,
        Some(_) | None => ErrorKind::Failure,
    }
}
