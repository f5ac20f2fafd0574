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
//! [`LedgerFile`] reads the same file beside it, for auditors; [`LedgerAdmin`] is what a running
//! engine tells them.

mod admin;
mod connection;
mod engine;
mod error;
mod file;
mod log;
mod reader;
mod store;
mod writer;

pub use admin::LedgerAdmin;
pub use engine::{Clock, LedgerEngine, LedgerOptions};
pub use error::LedgerError;
pub use file::LedgerFile;
