//! Reads a session out of OpenClaw's own store, an SQLite database, without changing a byte of it.

mod access;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, Row};
use ruzstd::decoding::StreamingDecoder;

use super::Session;
use super::format::Format;
use super::line::{Body, Line, MAX_LINE_BYTES};
use super::problem::{Outcome, Reason, Source};
use super::read_error::ReadError;
use super::reader::Reader;
use access::Opened;

const MAGIC: &[u8] = b"SQLite format 3\0";

/// How long another program's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Times that a store is read again that changed meanwhile.
const ATTEMPTS: usize = 3;

/// The table that holds the transcripts, and what has to be in it.
const TABLE: &str = "transcript_events";
const COLUMNS: [&str; 3] = ["session_id", "seq", "event_json"];

/// Why a database gave no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It could not be opened or read.
    #[error("database could not be read")]
    Read(#[source] rusqlite::Error),
    /// Another program holds it.
    #[error("database is locked by another program; stop that program or try again")]
    Locked(#[source] rusqlite::Error),
    /// It is no database after all, or a damaged one.
    #[error("database is damaged or encrypted; read a backup of it, or let its host repair it")]
    Damaged(#[source] rusqlite::Error),
    /// Its host was killed in the middle of a change, which only a writer can undo.
    #[error("database was left in the middle of a change; start and stop its host once")]
    Unfinished(#[source] rusqlite::Error),
    /// It is something else.
    #[error("an SQLite database, but not OpenClaw's store: it has no table `{TABLE}` with {}; it has {found}", COLUMNS.join(", "))]
    Foreign {
        /// Its tables, or that it has none.
        found: String,
    },
    /// It changed each time that it was read.
    #[error("database is being written to; stop its host or try again")]
    Unsteady,
    /// A copy of it could not be made, which reading it in its present state needs.
    #[error("database has changes beside it that only a copy shows, and none could be made")]
    Copy(#[source] io::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(error),
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged(error),
            Some(ErrorCode::ReadOnly) => Self::Unfinished(error),
            Some(_) | None => Self::Read(error),
        }
    }
}

/// Whether a file is an SQLite database, by its first bytes.
///
/// # Errors
/// When it cannot be read.
pub(super) fn is_database(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)?;
    Ok(start == MAGIC)
}

/// Reads the chosen session, or the only one.
///
/// # Errors
/// [`ReadError::Store`], [`ReadError::NoSuchSession`], [`ReadError::SeveralSessions`].
pub(super) fn read(path: &Path, chosen: Option<&str>) -> Result<Session, ReadError> {
    read_within(path, chosen, PATIENCE)
}

fn read_within(
    path: &Path,
    chosen: Option<&str>,
    patience: Duration,
) -> Result<Session, ReadError> {
    for _ in 0..ATTEMPTS {
        let store = access::open(path, patience)?;
        let session = session(&store, chosen);
        if store.is_steady() {
            return session;
        }
    }
    Err(StoreError::Unsteady.into())
}

fn session(store: &Opened, chosen: Option<&str>) -> Result<Session, ReadError> {
    let connection = store.connection();
    let columns = columns(connection).map_err(StoreError::from)?;
    if !COLUMNS.iter().all(|name| columns.contains(*name)) {
        let found = tables(connection).map_err(StoreError::from)?;
        return Err(StoreError::Foreign { found }.into());
    }
    let known = sessions(connection, &columns).map_err(StoreError::from)?;
    let id = match (chosen, known.as_slice()) {
        (Some(chosen), _) if known.iter().any(|id| id == chosen) => chosen,
        (None, [only]) => only,
        (None, [_, ..]) => return Err(ReadError::SeveralSessions { known }),
        (chosen, _) => {
            return Err(ReadError::NoSuchSession {
                id: chosen.unwrap_or_default().to_owned(),
                known,
            });
        }
    };
    Ok(rows(connection, id, &columns).map_err(StoreError::from)?)
}

fn columns(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    query.query_map([TABLE], |row| row.get(0))?.collect()
}

/// The first few tables of a foreign database.
fn tables(connection: &Connection) -> rusqlite::Result<String> {
    const SHOWN: usize = 5;
    let mut query =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let names: Vec<String> = query
        .query_map((), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let shown: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    Ok(match names.len().checked_sub(SHOWN) {
        _ if names.is_empty() => "no table".to_owned(),
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    })
}

/// The ids of the sessions, the one written last first.
fn sessions(connection: &Connection, columns: &HashSet<String>) -> rusqlite::Result<Vec<String>> {
    let newest = if columns.contains("created_at") {
        "max(created_at)"
    } else {
        "max(rowid)"
    };
    let mut query = connection.prepare(&format!(
        "SELECT session_id FROM {TABLE} GROUP BY session_id ORDER BY {newest} DESC, session_id"
    ))?;
    query.query_map((), |row| row.get(0))?.collect()
}

/// What a row holds.
enum Event {
    Json(Bytes),
    TooLong(u64),
    Unreadable,
}

fn rows(connection: &Connection, id: &str, columns: &HashSet<String>) -> rusqlite::Result<Session> {
    let packed = if columns.contains("event_zstd") {
        "event_zstd"
    } else {
        "NULL"
    };
    let mut query = connection.prepare(&format!(
        "SELECT seq, event_json, {packed} FROM {TABLE} WHERE session_id = ?1 ORDER BY seq"
    ))?;
    let mut reader = Reader::of_numbered(Format::Store, Source::Rows);
    let mut rows = query.query([id])?;
    while let Some(row) = rows.next()? {
        let number = row.get::<_, i64>(0)?;
        let number = u64::try_from(number).unwrap_or(0);
        let body = match event(row)? {
            Event::Json(json) => Body::Text(json),
            Event::TooLong(bytes) => Body::TooLong(bytes),
            Event::Unreadable => {
                reader.report(number, Reason::NotUnpacked, Outcome::Skipped);
                continue;
            }
        };
        reader.line(&Line {
            number,
            body,
            terminated: true,
        });
    }
    Ok(reader.finish())
}

/// A row holds its event as text or packed, never both.
fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let json = row.get_ref(1)?;
    if let Some(json) = json.as_bytes_or_null()? {
        return Ok(Event::Json(Bytes::copy_from_slice(json)));
    }
    let Some(packed) = row.get_ref(2)?.as_bytes_or_null()? else {
        return Ok(Event::Unreadable);
    };
    let mut json = Vec::new();
    let unpacked = StreamingDecoder::new(packed)
        .ok()
        .and_then(|decoder| decoder.take(MAX_LINE_BYTES + 1).read_to_end(&mut json).ok());
    Ok(match unpacked {
        None => Event::Unreadable,
        Some(_) if json.len() as u64 > MAX_LINE_BYTES => Event::TooLong(json.len() as u64),
        Some(_) => Event::Json(json.into()),
    })
}

#[cfg(test)]
mod tests;
