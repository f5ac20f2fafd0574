//! An outbox as an operator sees it: also of a host that runs, and of one that does not.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::connection;
use super::error::OutboxError;
use super::instance;
use super::payload;
use super::row::{Row, RowState, StoredCall};
use super::table::{self, WAITING, unsigned};
use crate::status::OutboxStatus;

/// The file of an outbox. It is only read, but by the two methods that say so. All methods wait for the
/// file, for moments.
#[derive(Debug)]
pub struct OutboxFile {
    path: PathBuf,
    db: Connection,
}

impl OutboxFile {
    /// Opens a file that is there.
    ///
    /// # Errors
    /// [`OutboxError::Open`], [`OutboxError::Foreign`], [`OutboxError::Newer`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OutboxError> {
        let path = path.into();
        let db = connection::open_to_read(&path)?;
        Ok(Self { path, db })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    /// All rows in order.
    ///
    /// # Errors
    /// [`OutboxError::Database`].
    pub fn rows(&self) -> Result<Vec<Row>, OutboxError> {
        table::select(&self.db, "true ORDER BY id", ())
    }

    /// One row.
    ///
    /// # Errors
    /// [`OutboxError::UnknownRow`], [`OutboxError::Database`].
    pub fn row(&self, id: i64) -> Result<Row, OutboxError> {
        table::by_id(&self.db, id)
    }

    /// The call in a row.
    ///
    /// # Errors
    /// [`OutboxError::Unreadable`] where this release does not understand it;
    /// [`OutboxError::UnknownRow`], [`OutboxError::Database`].
    pub fn call(&self, id: i64) -> Result<StoredCall, OutboxError> {
        let row = self.row(id)?;
        payload::decode(&row.hook, &table::payload_of(&self.db, id)?)
    }

    /// Puts a row that was set aside, or waits for its time, back in its place: it is tried at once, by a
    /// host that runs within a minute. Writes the file.
    ///
    /// # Errors
    /// [`OutboxError::NotNow`] for a row that is kept as a record or whose turn is not over;
    /// [`OutboxError::UnknownRow`], [`OutboxError::Full`], [`OutboxError::Database`].
    pub fn retry(&self, id: i64) -> Result<Row, OutboxError> {
        let row = self.row(id)?;
        let advice = match row.state {
            RowState::Accepted | RowState::Ready => None,
            RowState::Blocked => Some("its messages can never be read; drop it"),
            RowState::Admitted => Some("its turn is not over, or its host will forget it"),
            RowState::Unrecognised => Some("another release wrote it; use that one"),
        };
        if let Some(advice) = advice {
            return Err(not_now(&row, advice));
        }
        // A row that waited for a week would be set aside again at its first failure.
        let sql = "UPDATE outbox SET aside_ms = NULL, attempts = 0, due_ms = 0, claim = NULL,
               created_ms = max(created_ms, coalesce(aside_ms, 0))
             WHERE id = ?1";
        self.writing()?.execute(sql, [id])?;
        self.row(id)
    }

    /// Removes a row for good: the engine never hears of it by this way. Only one that nobody will
    /// deliver, unless it is forced. Writes the file.
    ///
    /// # Errors
    /// [`OutboxError::NotNow`] for a row that waits and is not forced; otherwise as
    /// [`OutboxFile::retry`].
    pub fn remove(&self, id: i64, is_forced: bool) -> Result<Row, OutboxError> {
        let row = self.row(id)?;
        let is_record = row.set_aside_ms.is_some() || row.state == RowState::Blocked;
        if !is_record && !is_forced {
            return Err(not_now(
                &row,
                "it may still be delivered; force it to lose it",
            ));
        }
        table::remove(&self.writing()?, id)?;
        Ok(row)
    }

    fn writing(&self) -> Result<Connection, OutboxError> {
        connection::open(&self.path, None)
    }

    /// What the file holds, with this engine selected; blank: none.
    ///
    /// # Errors
    /// [`OutboxError::Database`].
    pub fn status(&self, selected: &str) -> Result<OutboxStatus, OutboxError> {
        let sql = format!(
            "SELECT
               count(*) FILTER (WHERE {WAITING} AND (engine = ?1 OR ?1 = '')),
               count(DISTINCT lane) FILTER (WHERE {WAITING} AND (engine = ?1 OR ?1 = '')),
               min(created_ms) FILTER (WHERE {WAITING} AND (engine = ?1 OR ?1 = '')),
               count(*) FILTER (WHERE {WAITING} AND engine <> ?1 AND ?1 <> ''),
               count(*) FILTER (WHERE aside_ms IS NOT NULL),
               count(*) FILTER (WHERE aside_ms IS NULL AND state = 'blocked'),
               count(*) FILTER (WHERE aside_ms IS NULL AND state = 'admitted')
             FROM outbox"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let status = statement.query_row([selected], |row| {
            let count = |place| row.get::<_, i64>(place).map(unsigned);
            Ok(OutboxStatus {
                file: self.path.display().to_string(),
                pending: count(0)?,
                pending_lanes: count(1)?,
                oldest_pending_ms: row.get::<_, Option<i64>>(2)?.map(unsigned),
                deselected: count(3)?,
                set_aside: count(4)?,
                blocked: count(5)?,
                admitted: count(6)?,
                ..OutboxStatus::default()
            })
        })?;
        let spawns = "SELECT count(*) FROM spawn";
        let open_spawns: i64 = self.db.query_row(spawns, (), |row| row.get(0))?;
        let condition = "last_error IS NOT NULL ORDER BY last_attempt_ms DESC LIMIT 1";
        let last = table::select(&self.db, condition, ())?.into_iter().next();
        Ok(OutboxStatus {
            open_spawns: unsigned(open_spawns),
            last_error: last.and_then(|row| row.last_error),
            ..status
        })
    }

    /// Whether something waits in a lane.
    pub(super) fn waits(&self, engine: &str, lane: &str) -> Result<bool, OutboxError> {
        let condition = format!("engine = ?1 AND lane = ?2 AND {WAITING} LIMIT 1");
        let rows = table::select(&self.db, &condition, params![engine, lane])?;
        Ok(!rows.is_empty())
    }

    pub(super) fn others(&self, own: &str) -> Result<Vec<String>, OutboxError> {
        instance::others(&self.db, own)
    }
}

fn not_now(row: &Row, advice: &'static str) -> OutboxError {
    OutboxError::NotNow {
        id: row.id,
        state: row.state.to_string(),
        advice,
    }
}
