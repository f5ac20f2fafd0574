//! Who delivers a row: one holder at a time, and what a former one does changes nothing.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::OutboxError;
use super::row::{Row, RowState};
use super::table::{self, WAITING, signed};

/// How long a claim holds without a word. Longer than any try.
const LEASE_MS: u64 = 30_000;

/// The first row of a lane, for whoever may deliver it.
#[derive(Debug)]
pub(super) enum Head {
    /// It is the caller's, with what it holds.
    Claimed(Box<Row>, Vec<u8>),
    /// The lane is empty.
    Empty,
    /// It waits for its time.
    NotDue,
    /// Another process delivers it.
    Elsewhere,
    /// This release cannot read it, and nothing of the lane goes before it.
    Unrecognised,
}

/// What a claim asks for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) engine: String,
    pub(super) lane: String,
    /// The claim's own name, `INSTANCE/NUMBER`.
    pub(super) claim: String,
    pub(super) now_ms: u64,
    /// Whether a row that waits for its time is left alone.
    pub(super) heeds_due: bool,
}

/// Claims the first row of a lane. A claim of the same instance is taken over: within a process the
/// lane has one delivery at a time.
pub(super) fn head(db: &Connection, wanted: &Wanted) -> Result<Head, OutboxError> {
    let Wanted {
        engine,
        lane,
        claim,
        now_ms,
        heeds_due,
    } = wanted;
    let condition = format!("engine = ?1 AND lane = ?2 AND {WAITING} ORDER BY id LIMIT 1");
    let found = table::select(db, &condition, params![engine, lane])?;
    let Some(row) = found.into_iter().next() else {
        return Ok(Head::Empty);
    };
    if *heeds_due && row.due_ms > *now_ms {
        return Ok(Head::NotDue);
    }
    if !matches!(row.state, RowState::Accepted | RowState::Ready) {
        return Ok(Head::Unrecognised);
    }
    let instance = claim.split('/').next().unwrap_or_default();
    let taken = db
        .prepare_cached(
            "UPDATE outbox SET claim = ?2, claimed_until_ms = ?3
             WHERE id = ?1 AND (claim IS NULL OR claimed_until_ms <= ?4 OR claim LIKE ?5 || '/%')",
        )?
        .execute(params![
            row.id,
            claim,
            signed(now_ms.saturating_add(LEASE_MS)),
            signed(*now_ms),
            instance,
        ])?;
    if taken == 0 {
        return Ok(Head::Elsewhere);
    }
    let payload = table::payload_of(db, row.id)?;
    Ok(Head::Claimed(Box::new(row), payload))
}

/// Whether a claim still holds.
pub(super) fn holds(db: &Connection, id: i64, claim: &str) -> Result<bool, OutboxError> {
    let sql = "SELECT 1 FROM outbox WHERE id = ?1 AND claim = ?2";
    let mut statement = db.prepare_cached(sql)?;
    let found = statement
        .query_row(params![id, claim], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// The engine did not take it: it is tried again.
pub(super) fn failed(
    db: &Connection,
    id: i64,
    error: &str,
    (now_ms, due_ms): (u64, u64),
) -> Result<(), OutboxError> {
    db.prepare_cached(
        "UPDATE outbox SET attempts = attempts + 1, last_attempt_ms = ?2, last_error = ?3,
           due_ms = ?4, claim = NULL
         WHERE id = ?1",
    )?
    .execute(params![id, signed(now_ms), error, signed(due_ms)])?;
    Ok(())
}

/// It is not tried any more, and holds nothing back.
pub(super) fn set_aside(
    db: &Connection,
    id: i64,
    error: &str,
    now_ms: u64,
) -> Result<(), OutboxError> {
    db.prepare_cached(
        "UPDATE outbox SET attempts = attempts + 1, last_attempt_ms = ?2, last_error = ?3,
           aside_ms = ?2, claim = NULL
         WHERE id = ?1",
    )?
    .execute(params![id, signed(now_ms), error])?;
    Ok(())
}
