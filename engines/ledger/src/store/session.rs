//! The row of a session: its order and the two ends of its log.

use contextwire_engine::durable::Pair;
use contextwire_engine::{EngineError, SessionId, TranscriptState};
use rusqlite::{OptionalExtension, Row, params};

use super::{Tx, bounded, unbounded};
use crate::error::StoreError;

/// A session as stored.
#[derive(Clone, Debug)]
pub(crate) struct SessionRow {
    pub(crate) id: i64,
    /// The highest pair that had an effect.
    pub(crate) highest: Option<Pair>,
    /// What updates of the LOG placed.
    pub(crate) placed: TranscriptState,
    /// The same with the provisional tail behind it.
    pub(crate) total: TranscriptState,
    /// Entries before this place are never meant by an Ingest without an entry id.
    pub(crate) ingest_floor: u64,
}

impl Tx<'_> {
    pub(crate) fn session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT id, host_epoch, session_seq, placed, placed_chain, total, total_chain,
                        ingest_floor
                 FROM session WHERE name = ?1",
            )
            .and_then(|mut query| query.query_row([name.as_str()], session_row).optional());
        Ok(found.map_err(StoreError)?)
    }

    /// The row, made where there is none yet.
    pub(crate) fn session_for_writing(&self, name: &SessionId) -> Result<SessionRow, EngineError> {
        if let Some(known) = self.session(name)? {
            return Ok(known);
        }
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

    /// Writes where the log ends.
    pub(crate) fn write_ends(&self, session: &SessionRow) -> Result<(), EngineError> {
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

    /// A host whose log has the state of the stored one, tail included, has it in that order: the
    /// tail is placed, as an update of the LOG without news would place it.
    pub(crate) fn confirm(
        &self,
        session: &SessionId,
        host: TranscriptState,
    ) -> Result<(), EngineError> {
        match self.session(session)? {
            Some(row) if row.total == host && row.placed != host => self.write_ends(&SessionRow {
                placed: row.total,
                ..row
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// The stored log as a host is told it: up to what the LOG placed where the host's own log ends
    /// there, with the provisional tail else.
    pub(crate) fn log_state(
        &self,
        session: &SessionId,
        host: Option<TranscriptState>,
    ) -> Result<TranscriptState, EngineError> {
        Ok(match self.session(session)? {
            Some(row) if host == Some(row.placed) => row.placed,
            Some(row) => row.total,
            None => TranscriptState::EMPTY,
        })
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
