//! The file: private, on the disk with each commit, and of a known version.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::OutboxError;

/// Tells outboxes from any other database: `cwob`.
const APPLICATION_ID: i32 = 0x6377_6f62;
/// SQL by version: the first step makes version 1 of an empty file.
const STEPS: [&str; 1] = [include_str!("schema.sql")];
/// How long a write waits for another process on the same file.
const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS: usize = 64;
/// Pages beyond the limit of a file, so that what is in it can be claimed and deleted.
const RESERVE: i64 = 32;

fn version() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Opens the file to write; makes it and its folder where they are missing.
pub(super) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Connection, OutboxError> {
    let failed = |error: rusqlite::Error| OutboxError::open(path, error);
    create_private(path).map_err(|error| OutboxError::open(path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    // Before anything is changed, the journal's mode included.
    check(&connection, path)?;
    configure(&connection).map_err(failed)?;
    migrate(&mut connection, path)?;
    if let Some(bytes) = max_bytes {
        limit(&connection, bytes).map_err(failed)?;
    }
    sync_folder(path).map_err(|error| OutboxError::open(path, error))?;
    Ok(connection)
}

/// Opens the file of a host to look at it; refuses what is no outbox.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, OutboxError> {
    let failed = |error: rusqlite::Error| OutboxError::open(path, error);
    std::fs::metadata(path).map_err(|error| OutboxError::open(path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    connection
        .pragma_update(None, "query_only", "ON")
        .map_err(failed)?;
    let is_empty = check(&connection, path)? == 0;
    if is_empty {
        return Err(foreign(path));
    }
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let pragma = |name, value: &str| connection.pragma_update(None, name, value);
    pragma("journal_mode", "WAL")?;
    // A commit is on the disk before it is answered; the next two say so on macOS as well.
    pragma("synchronous", "FULL")?;
    pragma("fullfsync", "ON")?;
    pragma("checkpoint_fullfsync", "ON")?;
    pragma("temp_store", "MEMORY")
}

fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let size = u64::try_from(size).unwrap_or(4096).max(1);
    let pages = i64::try_from(bytes / size).unwrap_or(i64::MAX).max(1);
    let pages = pages.saturating_add(RESERVE);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}

/// Refuses what was written in this transaction where it took what deliveries need to make room.
pub(super) fn check_room(connection: &Connection) -> Result<(), OutboxError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let most = pragma("max_page_count")?;
    let used = pragma("page_count")? - pragma("freelist_count")?;
    if used.saturating_add(RESERVE) > most {
        return Err(OutboxError::Full);
    }
    Ok(())
}

/// The version of the file, 0 where it is empty.
fn check(connection: &Connection, path: &Path) -> Result<u32, OutboxError> {
    let failed = |error: rusqlite::Error| OutboxError::open(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application_id = pragma("application_id").map_err(failed)?;
    let found = u32::try_from(pragma("user_version").map_err(failed)?).unwrap_or(u32::MAX);
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .map_err(failed)?;
    let is_new = application_id == 0 && found == 0 && tables == 0;
    if !is_new && application_id != i64::from(APPLICATION_ID) {
        return Err(foreign(path));
    }
    if found > version() {
        return Err(OutboxError::Newer {
            path: path.to_owned(),
            found,
            known: version(),
        });
    }
    Ok(found)
}

/// Two processes may open a new file at once: the second one finds the tables of the first.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OutboxError> {
    let failed = |error: rusqlite::Error| OutboxError::open(path, error);
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let found = check(&tx, path)?;
    if found < version() {
        let done = usize::try_from(found).unwrap_or(usize::MAX);
        for step in STEPS.iter().skip(done) {
            tx.execute_batch(step).map_err(failed)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(failed)?;
        tx.pragma_update(None, "user_version", version())
            .map_err(failed)?;
    }
    tx.commit().map_err(failed)
}

fn foreign(path: &Path) -> OutboxError {
    OutboxError::Foreign {
        path: path.to_owned(),
    }
}

fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// SQLite gives the files beside this one the same mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder(path))?;
    private().truncate(false).open(path).map(drop)
}

/// For files that their user alone may read.
pub(super) fn private() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file survives a loss of power only when its name does.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        return std::fs::File::open(folder(path))?.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_11_every_commit_is_flushed_to_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let connection = open(&folder.path().join("new/outbox.sqlite3"), None).unwrap();
        let pragma = |name| {
            let value = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            connection.pragma_query_value(None, name, value).unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        // 2 is FULL.
        assert_eq!(pragma("synchronous"), 2.into());
        assert_eq!(pragma("fullfsync"), 1.into());
    }

    #[test]
    fn the_database_of_something_else_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.sqlite3");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE mine (a)").unwrap();
        drop(other);
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(
            open(&path, None),
            Err(OutboxError::Foreign { .. })
        ));
        assert!(matches!(
            open_to_read(&path),
            Err(OutboxError::Foreign { .. })
        ));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_file_of_a_newer_release_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.sqlite3");
        let newer = open(&path, None).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        drop(newer);
        assert!(matches!(
            open(&path, None),
            Err(OutboxError::Newer { found: 99, .. })
        ));
    }

    #[test]
    fn an_empty_file_is_no_outbox_to_look_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        assert!(open_to_read(&path).is_err());
        std::fs::write(&path, "").unwrap();
        assert!(matches!(
            open_to_read(&path),
            Err(OutboxError::Foreign { .. })
        ));
    }
}
