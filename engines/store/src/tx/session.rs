//! The row of a session: its order and the two ends of its log.

use contextwire_engine::durable::Pair;
use contextwire_engine::{EngineError, SessionId, TranscriptState};
use rusqlite::{OptionalExtension, Row, params};

use super::{Tx, bounded, hook, unbounded};
use crate::error::SqlError;
use crate::log::{Heard, SessionRow};

impl Tx {
    pub(super) fn read_session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, host_epoch, session_seq, placed, placed_chain, total, total_chain
                 FROM session WHERE scope = 0 AND name = ?1",
            )
            .and_then(|mut query| query.query_row([name.as_str()], session_row).optional());
        Ok(found.map_err(SqlError)?)
    }

    /// The names of all sessions, in the order in which they came.
    ///
    /// # Errors
    /// What the database says.
    pub fn session_names(&self) -> Result<Vec<SessionId>, EngineError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut query = self
                .connection
                .prepare_cached("SELECT name FROM session ORDER BY id")?;
            query.query_map((), |row| row.get(0))?.collect()
        };
        let names = read().map_err(SqlError)?.into_iter();
        // Every stored name was an id when it came.
        Ok(names.filter_map(|name| SessionId::new(name).ok()).collect())
    }

    pub(super) fn insert_session(&self, name: &SessionId) -> Result<SessionRow, EngineError> {
        let empty = TranscriptState::EMPTY;
        self.execute(
            "INSERT INTO session (name, placed, placed_chain, total, total_chain, ingest_floor)
             VALUES (?1, 0, ?2, 0, ?2, 0)",
            params![name.as_str(), empty.chain],
        )?;
        Ok(SessionRow {
            id: self.connection.last_insert_rowid(),
            highest: None,
            placed: empty,
            total: empty,
        })
    }

    pub(super) fn update_ends(&self, session: &SessionRow) -> Result<(), EngineError> {
        self.execute(
            "UPDATE session SET placed = ?2, placed_chain = ?3, total = ?4, total_chain = ?5
             WHERE id = ?1",
            params![
                session.id,
                bounded(session.placed.count),
                session.placed.chain,
                bounded(session.total.count),
                session.total.chain
            ],
        )
    }

    pub(super) fn read_heard(&self, session: i64) -> Result<Heard, EngineError> {
        let found = self
            .connection
            .prepare_cached("SELECT log_hook, log_epoch, process FROM session WHERE id = ?1")
            .and_then(|mut query| query.query_row([session], heard).optional());
        Ok(found.map_err(SqlError)?.unwrap_or_default())
    }

    pub(super) fn write_heard(&self, session: i64, heard: &Heard) -> Result<(), EngineError> {
        self.execute(
            "UPDATE session SET log_hook = ?2, log_epoch = ?3, process = ?4 WHERE id = ?1",
            params![
                session,
                heard.log.map(|hook| hook.to_string()),
                heard.epoch.map(u64::cast_signed),
                heard.process.map(u64::cast_signed)
            ],
        )
    }
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let epoch: Option<i64> = row.get("host_epoch")?;
    let seq: Option<i64> = row.get("session_seq")?;
    Ok(SessionRow {
        id: row.get("id")?,
        highest: epoch.zip(seq).map(|(epoch, seq)| Pair {
            host_epoch: epoch.cast_unsigned(),
            session_seq: seq.cast_unsigned(),
        }),
        placed: state(row, "placed", "placed_chain")?,
        total: state(row, "total", "total_chain")?,
    })
}

fn heard(row: &Row<'_>) -> rusqlite::Result<Heard> {
    Ok(Heard {
        log: hook(row, "log_hook")?,
        epoch: epoch(row, "log_epoch")?,
        process: epoch(row, "process")?,
    })
}

fn epoch(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let bits: Option<i64> = row.get(column)?;
    Ok(bits.map(i64::cast_unsigned))
}

fn state(row: &Row<'_>, number: &str, chain: &str) -> rusqlite::Result<TranscriptState> {
    Ok(TranscriptState {
        count: count(row, number)?,
        chain: row.get(chain)?,
    })
}

fn count(row: &Row<'_>, name: &str) -> rusqlite::Result<u64> {
    row.get(name).map(unbounded)
}
