//! What every engine with a store has in common, written once.
//!
//! - [`log`] is the stored log: bodies that are never changed or deleted, and an order over them
//!   that follows the host's (R3.2), as functions over a trait of rows, [`LogRows`].
//! - [`Tx`] is those rows and the records of [`contextwire_engine::durable`] in SQLite tables;
//!   an engine adds tables of its own in its [`Schema`].
//! - [`Writer`] is the one thread that writes, whose waiting calls share a transaction and a flush;
//!   [`Reader`] the one beside it, which never waits for a commit.
//! - [`LogHooks`] are the hooks that feed a log, over any [`Store`]; [`SqliteStore`] is the one on
//!   these tables.
//! - [`StoreFile`] reads such a file from outside, for auditors; [`StoreAdmin`] is what a running one
//!   shows them.
//! - [`erase`] takes out of it what somebody wants gone, and looks whether anything is left.
//!
//! A database that is locked, full or away fails a call as transient, never as an engine that
//! failed (R6.5).

mod admin;
mod connection;
pub mod erase;
mod error;
mod file;
mod files;
mod hooks;
pub mod log;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod probe;
mod reader;
mod sqlite;
mod store;
mod tx;
mod writer;

pub use admin::StoreAdmin;
pub use connection::{CORE, CORE_2, CORE_3, Schema, Use, open, unweighed};
pub use error::{SqlError, StoreError};
pub use file::StoreFile;
pub use files::Files;
pub use hooks::{Claim, Claimed, LogHooks};
pub use log::{LogRows, LogUpdate, SessionRow};
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryRows;
pub use reader::Reader;
pub use sqlite::SqliteStore;
pub use store::{Clock, Outcome, Store, system_clock};
pub use tx::{MESSAGE_COLUMNS, Tx, bounded, read_message, unbounded};
pub use writer::Writer;
