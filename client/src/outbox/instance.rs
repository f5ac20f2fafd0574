//! Which hosts have the file open: each holds a lock on a file beside it, which ends with its process.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::connection::private;
use super::error::OutboxError;

/// This process's hold on the file.
#[derive(Debug)]
pub(super) struct Instance {
    id: String,
    beside: PathBuf,
    _lock: File,
}

impl Instance {
    /// Registers this process, and takes up what dead ones held.
    pub(super) fn begin(path: &Path, db: &Connection) -> Result<Self, OutboxError> {
        let id = uuid::Uuid::now_v7().to_string();
        let failed = |error: std::io::Error| OutboxError::open(path, error);
        let beside = lock_of(path, &id);
        let lock = private().open(&beside).map_err(failed)?;
        lock.try_lock()
            .map_err(|error| OutboxError::open(path, error))?;
        // Whoever reads of it finds the lock held.
        db.execute("INSERT INTO instance (id) VALUES (?1)", [&id])?;
        let begun = Self {
            id,
            beside,
            _lock: lock,
        };
        let dead = begun.dead_of(path, &others(db, &begun.id)?);
        release(db, &dead)?;
        Ok(begun)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Those of these that have ended.
    pub(super) fn dead_of(&self, path: &Path, ids: &[String]) -> Vec<String> {
        let mut dead = ids.to_vec();
        dead.retain(|id| *id != self.id && is_dead(&lock_of(path, id)));
        dead
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // What stays is removed by the next one that opens the file.
        let _removed = std::fs::remove_file(&self.beside).is_ok();
    }
}

fn lock_of(path: &Path, id: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".host-{id}"));
    name.into()
}

fn is_dead(lock: &Path) -> bool {
    let file = match File::open(lock) {
        Ok(file) => file,
        Err(error) => return error.kind() == std::io::ErrorKind::NotFound,
    };
    match file.try_lock() {
        Ok(()) => {
            let _removed = std::fs::remove_file(lock).is_ok();
            true
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// Every other host that said that it has the file open.
pub(super) fn others(db: &Connection, own: &str) -> Result<Vec<String>, OutboxError> {
    let mut statement = db.prepare_cached("SELECT id FROM instance WHERE id <> ?1")?;
    let ids = statement.query_map([own], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// What dead hosts held is nobody's.
pub(super) fn release(db: &Connection, dead: &[String]) -> Result<(), OutboxError> {
    for id in dead {
        let claims = "UPDATE outbox SET claim = NULL WHERE claim LIKE ?1 || '/%'";
        db.prepare_cached(claims)?.execute(params![id])?;
        let spawns = "UPDATE spawn SET instance = NULL WHERE instance = ?1";
        db.prepare_cached(spawns)?.execute(params![id])?;
        db.prepare_cached("DELETE FROM instance WHERE id = ?1")?
            .execute(params![id])?;
    }
    Ok(())
}
