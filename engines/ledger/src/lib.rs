//! An append-only context engine on SQLite.
//!
//! [`LedgerEngine`] keeps what hosts say: the log of each session in the order of the host's own,
//! committed turns, keys with their answers, preparations of subagents; and nothing else. It shows
//! the model the whole view and leaves compaction to the host. What always holds:
//!
//! - `COMMITTED` is answered only after the turn is on the disk, all of it; a crash at any instant
//!   leaves a whole turn or none;
//! - an entry is in the log once, whether Ingest, `CommitTurn` or the LOG brought it, in whatever
//!   order and however often;
//! - every effect happens once a key, in the host's order, and never after its host gave it up;
//! - bodies are never changed or deleted; the log is an order over them;
//! - a database that is locked or full fails the call as transient, never as an engine that failed.
//!
//! [`open_file`] reads the same file beside it, for auditors.

mod engine;

use std::path::Path;

use contextwire_store::{CORE, CORE_2, CORE_3, Schema, unweighed};
pub use contextwire_store::{Clock, StoreAdmin, StoreError, StoreFile};
pub use engine::{LedgerEngine, LedgerOptions};

/// The tables of a ledger; `CWLG`.
pub const SCHEMA: Schema = Schema {
    application_id: 0x4357_4c47,
    engine: "ledger",
    steps: &[&[CORE], &[CORE_2], &[CORE_3]],
    weigh: unweighed,
};

/// Opens a ledger's file for reading, without changing it.
///
/// # Errors
/// [`StoreError`] when it cannot be read or is no ledger of this release.
pub fn open_file(path: &Path) -> Result<StoreFile, StoreError> {
    StoreFile::open(path, &[SCHEMA])
}
