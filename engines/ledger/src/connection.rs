//! One connection to the file, and the file's schema.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::LedgerError;

/// Tells a ledger from any other database: `CWLG`.
const APPLICATION_ID: i32 = 0x4357_4c47;
/// The schema that this release writes.
const VERSION: u32 = 1;
const SCHEMA: &str = include_str!("schema.sql");
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 64;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Writes, and survives a loss of power after each commit.
    Write,
    /// Reads beside a writer.
    Read,
}

/// Opens the file; a writer creates it, readable for its owner alone, and brings its schema up.
pub(crate) fn open(path: &Path, what_for: Use, busy: Duration) -> Result<Connection, LedgerError> {
    if what_for == Use::Write {
        create_private(path).map_err(|error| LedgerError::open(path, error))?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error| LedgerError::open(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection, what_for, busy).map_err(failed)?;
    if what_for == Use::Write {
        migrate(&mut connection, path)?;
        sync_folder(path).map_err(|error| LedgerError::open(path, error))?;
    }
    Ok(connection)
}

/// Opens the file of another process for reading, and refuses what is no ledger.
pub(crate) fn open_read_only(path: &Path) -> Result<Connection, LedgerError> {
    let failed = |error| LedgerError::open(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(failed)?;
    let id: i32 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    if id != APPLICATION_ID {
        return Err(LedgerError::NoLedger {
            path: path.to_owned(),
        });
    }
    refuse_newer(version(&connection).map_err(failed)?, path)?;
    Ok(connection)
}

fn configure(connection: &Connection, what_for: Use, busy: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let pragma = |name, value: &str| connection.pragma_update(None, name, value);
    // A database in this mode stays in it; switching needs the file for itself for a moment.
    pragma("journal_mode", "WAL")?;
    pragma("synchronous", "FULL")?;
    // Without these two, a commit on macOS stops at the drive's own cache.
    pragma("fullfsync", "ON")?;
    pragma("checkpoint_fullfsync", "ON")?;
    pragma("foreign_keys", "ON")?;
    pragma("temp_store", "MEMORY")?;
    pragma("cache_size", "-65536")?;
    pragma("mmap_size", "268435456")?;
    pragma("wal_autocheckpoint", "1000")?;
    if what_for == Use::Read {
        pragma("query_only", "ON")?;
    }
    Ok(())
}

/// Two processes may open a new file at once: the second one finds the schema of the first.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), LedgerError> {
    let failed = |error| LedgerError::open(path, error);
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = version(&tx).map_err(failed)?;
    refuse_newer(found, path)?;
    let id: i32 = tx
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    let is_empty = || {
        tx.query_row("SELECT count(*) = 0 FROM sqlite_schema", (), |row| {
            row.get::<_, bool>(0)
        })
    };
    match (id, found) {
        (APPLICATION_ID, VERSION) => {}
        (0, 0) if is_empty().map_err(failed)? => {
            tx.execute_batch(SCHEMA).map_err(failed)?;
            tx.pragma_update(None, "application_id", APPLICATION_ID)
                .map_err(failed)?;
            tx.pragma_update(None, "user_version", VERSION)
                .map_err(failed)?;
        }
        _ => {
            return Err(LedgerError::NoLedger {
                path: path.to_owned(),
            });
        }
    }
    tx.commit().map_err(failed)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn refuse_newer(found: u32, path: &Path) -> Result<(), LedgerError> {
    if found > VERSION {
        return Err(LedgerError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        });
    }
    Ok(())
}

/// SQLite gives the files beside this one the same mode.
#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map(drop)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map(drop)
}

/// A new file survives a loss of power only when its name does.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    std::fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_11_every_commit_of_a_writer_is_flushed_to_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite3");
        let connection = open(&path, Use::Write, Duration::ZERO).unwrap();
        let pragma = |name| {
            let value = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            connection.pragma_query_value(None, name, value).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        // 2 is FULL: the log of the database is flushed at each commit.
        assert_eq!(pragma("synchronous"), 2.into());
        assert_eq!(pragma("fullfsync"), 1.into());
    }
}
