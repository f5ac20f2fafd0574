//! One connection to the file, and the file's schema.

use std::path::Path;
use std::time::Duration;

use contextwire_engine::Message;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;
use crate::probe::{self, Identity};

/// The tables of [`crate::Tx`]; part of the first step of every [`Schema`].
pub const CORE: &str = include_str!("schema.sql");
/// What the second version of [`CORE`] adds; the step after it, or beside it in a new engine's first.
pub const CORE_2: &str = include_str!("schema_2.sql");
/// What the third version adds.
pub const CORE_3: &str = include_str!("schema_3.sql");
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 128;

/// The tables of one engine, and how an older file gets them.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Tells its files from any other database.
    pub application_id: i32,
    /// The engine's name, for people.
    pub engine: &'static str,
    /// SQL by version: the first step makes version 1 of an empty file. A step only adds tables,
    /// columns and indexes; what is to be computed for old rows is an engine's later work, so that
    /// no file keeps its hosts waiting.
    pub steps: &'static [&'static [&'static str]],
    /// What a new entry costs in a prompt, where the engine keeps that beside it.
    pub weigh: fn(&Message) -> Option<u32>,
}

/// The [`Schema::weigh`] of an engine that keeps no costs.
pub const fn unweighed(_: &Message) -> Option<u32> {
    None
}

impl Schema {
    /// The version that this release writes.
    fn version(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Writes, and survives a loss of power after each commit.
    Write,
    /// Reads beside a writer.
    Read,
}

/// Opens the file; a writer creates it, readable for its owner alone, and brings its schema up.
///
/// # Errors
/// [`StoreError`] when the file cannot be used.
pub fn open(
    path: &Path,
    schema: &Schema,
    what_for: Use,
    busy: Duration,
) -> Result<Connection, StoreError> {
    if what_for == Use::Write {
        create_private(path).map_err(|error| StoreError::open(path, error))?;
        refuse_foreign(path, schema)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error| StoreError::open(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection, what_for, busy).map_err(failed)?;
    if what_for == Use::Write {
        migrate(&mut connection, schema, path)?;
        sync_folder(path).map_err(|error| StoreError::open(path, error))?;
    }
    Ok(connection)
}

/// A file opened for reading.
pub(crate) struct ReadOnly {
    pub(crate) connection: Connection,
    /// The schema that it has.
    pub(crate) schema: Schema,
    /// Whether it is right only as long as nobody opens the file to write.
    pub(crate) is_still: bool,
}

/// Opens the file of another process for reading, and refuses what is none of these. A file that
/// nobody has open is read as it lies: nothing is left beside it, and its folder may be read-only.
pub(crate) fn open_read_only(path: &Path, schemas: &[Schema]) -> Result<ReadOnly, StoreError> {
    let failed = |error| StoreError::open(path, error);
    std::fs::metadata(path).map_err(|error| StoreError::open(path, error))?;
    let is_still = !probe::log_beside(path).exists();
    let connection = if is_still {
        probe::as_it_lies(path)
    } else {
        probe::beside_writers(path)
    };
    let connection = connection.map_err(failed)?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(failed)?;
    let said = Identity::read(&connection).map_err(failed)?;
    let is_its = |schema: &&Schema| schema.application_id == said.application_id;
    let Some(schema) = schemas.iter().find(is_its) else {
        return Err(foreign(
            path,
            schemas.first().map_or("any", |schema| schema.engine),
        ));
    };
    refuse_newer(said.version, schema, path)?;
    Ok(ReadOnly {
        connection,
        schema: *schema,
        is_still,
    })
}

/// Refuses the file of something else before anything is done to it: even its journal's mode would
/// stay another one.
fn refuse_foreign(path: &Path, schema: &Schema) -> Result<(), StoreError> {
    let failed = |error| StoreError::open(path, error);
    if std::fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        return Ok(());
    }
    let may_have = |said: &Identity| {
        said.application_id == schema.application_id
            || (said.application_id == 0 && said.version == 0 && said.is_empty)
    };
    let lies = probe::as_it_lies(path).and_then(|file| Identity::read(&file));
    if may_have(&lies.map_err(failed)?) {
        return Ok(());
    }
    // What is newer waits beside a file that is in use, and in that mode already.
    if probe::log_beside(path).exists() {
        let live = probe::beside_writers(path).and_then(|file| Identity::read(&file));
        if may_have(&live.map_err(failed)?) {
            return Ok(());
        }
    }
    Err(foreign(path, schema.engine))
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
    pragma("cache_size", "-16384")?;
    pragma("mmap_size", "268435456")?;
    pragma("wal_autocheckpoint", "1000")?;
    match what_for {
        Use::Read => pragma("query_only", "ON")?,
        // What is erased is not to be found in pages that are free again.
        Use::Write => pragma("secure_delete", "ON")?,
    }
    Ok(())
}

/// Two processes may open a new file at once: the second one finds the schema of the first.
fn migrate(connection: &mut Connection, schema: &Schema, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::open(path, error);
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(failed)?;
    let said = Identity::read(&tx).map_err(failed)?;
    let found = said.version;
    refuse_newer(found, schema, path)?;
    let is_ours = said.application_id == schema.application_id && found > 0;
    let is_new = said.application_id == 0 && found == 0 && said.is_empty;
    if !is_ours && !is_new {
        return Err(foreign(path, schema.engine));
    }
    if found < schema.version() {
        let done = usize::try_from(found).unwrap_or(usize::MAX);
        let mut missing = schema.steps.iter().skip(done).copied().flatten();
        missing
            .try_for_each(|sql| tx.execute_batch(sql))
            .map_err(failed)?;
        tx.pragma_update(None, "application_id", schema.application_id)
            .map_err(failed)?;
        tx.pragma_update(None, "user_version", schema.version())
            .map_err(failed)?;
    }
    tx.commit().map_err(failed)
}

fn foreign(path: &Path, engine: &'static str) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        engine,
    }
}

fn refuse_newer(found: u32, schema: &Schema, path: &Path) -> Result<(), StoreError> {
    if found > schema.version() {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: schema.version(),
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

    const ONE: Schema = Schema {
        application_id: 7,
        engine: "first",
        steps: &[&[CORE]],
        weigh: unweighed,
    };
    const TWO: Schema = Schema {
        steps: &[
            &[CORE],
            &[
                "ALTER TABLE entry ADD COLUMN later INTEGER",
                "CREATE TABLE more (a)",
            ],
        ],
        ..ONE
    };

    #[test]
    fn a_file_of_an_older_release_gets_the_steps_that_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite3");
        let old = open(&path, &ONE, Use::Write, Duration::ZERO).unwrap();
        old.execute(
            "INSERT INTO session (name, placed, placed_chain, total, total_chain, ingest_floor)
             VALUES ('s', 0, x'', 0, x'', 0)",
            (),
        )
        .unwrap();
        drop(old);
        for _ in 0..2 {
            let new = open(&path, &TWO, Use::Write, Duration::ZERO).unwrap();
            assert_eq!(Identity::read(&new).unwrap().version, 2);
            let rows: i64 = new
                .query_row(
                    "SELECT count(*) FROM session LEFT JOIN entry ON later LEFT JOIN more ON true",
                    (),
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(rows, 1);
        }
        let back = open(&path, &ONE, Use::Write, Duration::ZERO);
        assert!(matches!(
            back,
            Err(StoreError::Newer {
                found: 2,
                known: 1,
                ..
            })
        ));
    }

    #[test]
    fn the_file_of_another_engine_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite3");
        open(&path, &ONE, Use::Write, Duration::ZERO).unwrap();
        let other = Schema {
            application_id: 8,
            engine: "second",
            ..ONE
        };
        let refused = open(&path, &other, Use::Write, Duration::ZERO).unwrap_err();
        assert!(matches!(
            refused,
            StoreError::Foreign {
                engine: "second",
                ..
            }
        ));
        assert!(open_read_only(&path, &[other]).is_err());
        assert_eq!(
            open_read_only(&path, &[other, ONE]).unwrap().schema.engine,
            "first"
        );
    }

    #[test]
    fn r7_11_every_commit_of_a_writer_is_flushed_to_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite3");
        let connection = open(&path, &ONE, Use::Write, Duration::ZERO).unwrap();
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
