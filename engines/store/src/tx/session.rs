//! The row of a session: its order and the two ends of its log.

use contextwire_engine::durable::Pair;
use contextwire_engine::{EngineError, SessionId, TranscriptState};
use rusqlite::{OptionalExtension, Row, params};

use super::{Tx, bounded, unbounded};
use crate::error::SqlError;
use crate::log::SessionRow;

impl Tx {
    pub(super) fn read_session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, host_epoch, session_seq, placed, placed_chain, total, total_chain,
                        ingest_floor
                 FROM session WHERE scope = 0 AND name = ?1",
            )
            .and_then(|mut query| query.query_row([name.as_str()], session_row).optional());
        Ok(found.map_err(SqlError)?)
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
            ingest_floor: 0,
        })
    }

    pub(super) fn update_ends(&self, session: &SessionRow) -> Result<(), EngineError> {
        self.execute(
            "UPDATE session SET placed = ?2, placed_chain = ?3, total = ?4, total_chain = ?5,
                    ingest_floor = ?6
             WHERE id = ?1",
            params![
                session.id,
                bounded(session.placed.count),
                session.placed.chain,
                bounded(session.total.count),
                session.total.chain,
                bounded(session.ingest_floor)
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
        ingest_floor: count(row, "ingest_floor")?,
    })
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
