//! The rows in the file, as functions over one transaction.

use contextwire_engine::HookId;
use rusqlite::{Connection, OptionalExtension, Row as Found, params};

use super::connection;
use super::error::OutboxError;
use super::payload;
use super::row::{Addressee, NewRow, Row, RowState};

const COLUMNS: &str = "id, kind, key, engine, owner, session, lane, state, length(payload), \
    created_ms, attempts, last_attempt_ms, last_error, due_ms, aside_ms";

/// What waits and is in nobody's hands for good; as the index says it.
pub(super) const WAITING: &str = "aside_ms IS NULL AND state NOT IN ('admitted', 'blocked')";

/// Times travel as signed numbers.
pub(super) fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}

fn row(found: &Found<'_>) -> rusqlite::Result<Row> {
    let time = |place| {
        found
            .get::<_, Option<i64>>(place)
            .map(|ms| ms.map(unsigned))
    };
    let number = |place| found.get::<_, i64>(place).map(unsigned);
    Ok(Row {
        id: found.get(0)?,
        hook: found.get(1)?,
        key: found.get(2)?,
        engine: found.get(3)?,
        owner: found.get(4)?,
        session: found.get(5)?,
        lane: found.get(6)?,
        state: RowState::named(&found.get::<_, String>(7)?),
        bytes: number(8)?,
        created_ms: number(9)?,
        attempts: number(10)?,
        last_attempt_ms: time(11)?,
        last_error: found.get(12)?,
        due_ms: number(13)?,
        set_aside_ms: time(14)?,
    })
}

/// Rows in order; `condition` is SQL over the table with these parameters.
pub(super) fn select(
    db: &Connection,
    condition: &str,
    with: impl rusqlite::Params,
) -> Result<Vec<Row>, OutboxError> {
    let sql = format!("SELECT {COLUMNS} FROM outbox WHERE {condition}");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(with, row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn by_id(db: &Connection, id: i64) -> Result<Row, OutboxError> {
    let found = select(db, "id = ?1", [id])?;
    found
        .into_iter()
        .next()
        .ok_or(OutboxError::UnknownRow { id })
}

pub(super) fn payload_of(db: &Connection, id: i64) -> Result<Vec<u8>, OutboxError> {
    let sql = "SELECT payload FROM outbox WHERE id = ?1";
    let mut statement = db.prepare_cached(sql)?;
    let found = statement.query_row([id], |row| row.get(0)).optional()?;
    found.ok_or(OutboxError::UnknownRow { id })
}

/// A row under its key, with what it holds.
pub(super) fn by_key(
    db: &Connection,
    hook: &str,
    key: &str,
) -> Result<Option<(Row, Vec<u8>)>, OutboxError> {
    let found = select(db, "kind = ?1 AND key = ?2", params![hook, key])?;
    let Some(row) = found.into_iter().next() else {
        return Ok(None);
    };
    let payload = payload_of(db, row.id)?;
    Ok(Some((row, payload)))
}

/// Whether a row is for this engine of this owner.
pub(super) fn is_for(row: &Row, to: &Addressee) -> bool {
    row.engine == to.engine && row.owner == to.owner
}

/// Writes a row at the end of its lane.
pub(super) fn insert(
    db: &Connection,
    new: &NewRow,
    (key, state): (&str, RowState),
    hook_id: HookId,
    now_ms: u64,
) -> Result<i64, OutboxError> {
    if key.is_empty() {
        return Err(OutboxError::Unreadable("a call without a key".to_owned()));
    }
    let call = payload::context(hook_id, &new.session, &new.scope);
    let mut statement = db.prepare_cached(
        "INSERT INTO outbox (kind, key, engine, owner, session, lane, state, payload, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let id = statement.insert(params![
        new.hook().name(),
        key,
        new.to.engine,
        new.to.owner,
        new.session.id.as_str(),
        new.lane(),
        state.name(),
        payload::encode(call, &new.call),
        signed(now_ms),
    ])?;
    connection::check_room(db)?;
    Ok(id)
}

/// Writes a row in another state; tries and errors begin anew.
pub(super) fn advance(
    db: &Connection,
    id: i64,
    state: RowState,
    payload: &[u8],
) -> Result<(), OutboxError> {
    let mut statement = db.prepare_cached(
        "UPDATE outbox SET state = ?2, payload = ?3, attempts = 0, last_attempt_ms = NULL,
           last_error = NULL, due_ms = 0
         WHERE id = ?1",
    )?;
    statement.execute(params![id, state.name(), payload])?;
    Ok(())
}

/// Removes a row, whatever it is.
pub(super) fn remove(db: &Connection, id: i64) -> Result<(), OutboxError> {
    db.prepare_cached("DELETE FROM outbox WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}
