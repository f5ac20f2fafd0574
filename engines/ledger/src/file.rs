//! A ledger's file as an auditor reads it, beside the engine that writes it.

use std::path::{Path, PathBuf};

use contextwire_engine::durable::Preparation;
use contextwire_engine::{Message, Omitted, SessionId, StoredLog};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::connection;
use crate::error::LedgerError;
use crate::store::{Tx, bounded, unbounded};

/// A ledger's file, open for reading.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    connection: Connection,
}

impl LedgerFile {
    /// Opens the file without changing it.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be read or is no ledger of this release.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let connection = connection::open_read_only(path)?;
        Ok(Self {
            path: path.to_owned(),
            connection,
        })
    }

    /// The sessions that it holds, in the order in which they came.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionId>, LedgerError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut query = self
                .connection
                .prepare("SELECT name FROM session ORDER BY id")?;
            query.query_map((), |row| row.get(0))?.collect()
        };
        let names = read().map_err(|error| self.failed(error))?;
        // Every stored name was an id when it came.
        Ok(names
            .into_iter()
            .filter_map(|name| SessionId::new(name).ok())
            .collect())
    }

    /// The log of a session; `None` where the file does not know it.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn log(&self, session: &SessionId) -> Result<Option<StoredLog>, LedgerError> {
        let snapshot = self
            .connection
            .unchecked_transaction()
            .map_err(|error| self.failed(error))?;
        let log = Tx::new(&snapshot).stored_log(session);
        log.map_err(|error| self.failed(error))
    }

    /// The message at a place of the log, counted from 0, with its body.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn message(&self, session: &SessionId, place: u64) -> Result<Option<Message>, LedgerError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT entry_id, synthetic, omitted_bytes, omitted_sha256, payload FROM entry
                 WHERE session = (SELECT id FROM session WHERE name = ?1) AND place = ?2",
            )
            .and_then(|mut query| {
                query
                    .query_row(params![session.as_str(), bounded(place)], message)
                    .optional()
            });
        found.map_err(|error| self.failed(error))
    }

    /// Every preparation and tombstone.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn preparations(&self) -> Result<Vec<Preparation>, LedgerError> {
        let all = Tx::new(&self.connection).preparations("true ORDER BY id", ());
        all.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> LedgerError {
        LedgerError::open(&self.path, source)
    }
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let bytes = row.get::<_, Option<i64>>("omitted_bytes")?.map(unbounded);
    let sha256: Option<[u8; 32]> = row.get("omitted_sha256")?;
    let omitted = bytes
        .zip(sha256)
        .map(|(bytes, sha256)| Omitted { bytes, sha256 });
    Ok(Message::from_payload(row.get::<_, Vec<u8>>("payload")?)
        .with_entry_id(row.get::<_, String>("entry_id")?)
        .with_synthetic(row.get("synthetic")?)
        .with_omitted(omitted))
}
