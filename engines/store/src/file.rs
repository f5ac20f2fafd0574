//! A store's file as an auditor reads it, beside the engine that writes it.

use std::path::{Path, PathBuf};

use contextwire_engine::durable::Preparation;
use contextwire_engine::{Message, SessionId, StoredLog};
use rusqlite::{OptionalExtension, params};

use crate::connection::{self, ReadOnly, Schema};
use crate::error::StoreError;
use crate::probe;
use crate::tx::{MESSAGE_COLUMNS, Tx, bounded, read_message};

/// A store's file, open for reading.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    tx: Tx,
    schema: Schema,
    is_still: bool,
}

impl StoreFile {
    /// Opens the file without changing it, or anything beside it where no engine has it open.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read, or has none of these schemas in a version of this
    /// release.
    pub fn open(path: &Path, schemas: &[Schema]) -> Result<Self, StoreError> {
        let ReadOnly {
            connection,
            schema,
            is_still,
        } = connection::open_read_only(path, schemas)?;
        Ok(Self {
            path: path.to_owned(),
            tx: Tx::new(connection),
            schema,
            is_still,
        })
    }

    /// Its rows as they are now, for the tables of one engine.
    pub fn rows(&self) -> &Tx {
        &self.tx
    }

    /// Which engine's it is.
    pub fn engine(&self) -> &'static str {
        self.schema.engine
    }

    /// The sessions that it holds, in the order in which they came.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let names = self.tx.session_names();
        names.map_err(|error| self.failed(error))
    }

    /// The log of a session; `None` where the file does not know it.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read, or an engine opens it while it is read as one
    /// that nobody has open.
    pub fn log(&self, session: &SessionId) -> Result<Option<StoredLog>, StoreError> {
        let snapshot = self
            .tx
            .connection()
            .unchecked_transaction()
            .map_err(|error| self.failed(error))?;
        let log = self.tx.stored_log(session);
        let log = log.map_err(|error| self.failed(error))?;
        snapshot.finish().map_err(|error| self.failed(error))?;
        if self.is_still && probe::log_beside(&self.path).exists() {
            return Err(self.failed("an engine opened it meanwhile; try again"));
        }
        Ok(log)
    }

    /// The message at a place of the log, counted from 0, with its body.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read.
    pub fn message(&self, session: &SessionId, place: u64) -> Result<Option<Message>, StoreError> {
        let sql = format!(
            "SELECT {MESSAGE_COLUMNS} FROM entry
             WHERE session = (SELECT id FROM session WHERE name = ?1) AND place = ?2"
        );
        let found = self
            .tx
            .connection()
            .prepare_cached(&sql)
            .and_then(|mut query| {
                query
                    .query_row(params![session.as_str(), bounded(place)], read_message)
                    .optional()
            });
        found.map_err(|error| self.failed(error))
    }

    /// Every preparation and tombstone.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be read.
    pub fn preparations(&self) -> Result<Vec<Preparation>, StoreError> {
        let all = self.tx.preparations("true ORDER BY id", ());
        all.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError::open(&self.path, source)
    }
}
