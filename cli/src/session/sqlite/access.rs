//! Opens a database of somebody else so that nothing of it changes: no file appears beside it, no
//! lock stays, no journal is written back.
//!
//! A database in write-ahead mode has changes in a `-wal` file and an index of it in a `-shm` file.
//! SQLite makes both where they are missing, in read-only mode as well, so each state of the two is
//! opened in its own way.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::StoreError;

/// Where the header says how changes are written, and what stands there in write-ahead mode.
const WRITE_VERSION: usize = 18;
const WRITE_AHEAD: u8 = 2;

/// An open database.
pub(super) struct Opened {
    connection: Connection,
    path: PathBuf,
    way: Way,
    before: State,
    /// Holds the copy that the connection reads.
    _copy: Option<TempDir>,
}

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Under a shared lock, which is all that a database with a rollback journal needs.
    Locked,
    /// As a file that does not change: nobody has it open, and nothing waits beside it.
    Still,
    /// Through the index that is there, which somebody may be using.
    Shared,
    /// As a copy, whose index may be made: changes wait beside the original and have none.
    Copied,
}

/// What of the files tells whether somebody wrote meanwhile.
#[derive(PartialEq, Eq)]
struct State {
    database: Option<(u64, SystemTime)>,
    wal: Option<(u64, SystemTime)>,
}

impl Opened {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether what was read is one state of the database. A locked or shared one always is; of the
    /// others that holds only when nobody wrote.
    pub(super) fn is_steady(&self) -> bool {
        match self.way {
            Way::Locked | Way::Shared => true,
            Way::Still | Way::Copied => self.before == State::of(&self.path),
        }
    }
}

/// # Errors
/// [`StoreError`] when it cannot be opened.
pub(super) fn open(path: &Path, patience: Duration) -> Result<Opened, StoreError> {
    let before = State::of(path);
    let way = way(path).map_err(StoreError::Copy)?;
    let (connection, copy) = match way {
        Way::Locked => (connect(path, "")?, None),
        Way::Still => (connect(path, "&immutable=1")?, None),
        Way::Shared => (connect(path, "&readonly_shm=1")?, None),
        Way::Copied => {
            let (folder, copy) = copied(path).map_err(StoreError::Copy)?;
            (connect(&copy, "")?, Some(folder))
        }
    };
    connection.busy_timeout(patience)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // One transaction, so that all queries see one state; it ends with the connection.
    connection.execute_batch("BEGIN")?;
    Ok(Opened {
        connection,
        path: path.to_owned(),
        way,
        before,
        _copy: copy,
    })
}

fn connect(path: &Path, how: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{}?mode=ro{how}", escaped(path)), flags)
}

fn way(path: &Path) -> io::Result<Way> {
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    if header.get(WRITE_VERSION) != Some(&WRITE_AHEAD) {
        return Ok(Way::Locked);
    }
    let wal = fs::metadata(beside(path, "-wal")).ok();
    let has_index = beside(path, "-shm").exists();
    Ok(match wal.map(|wal| wal.len()) {
        Some(_) if has_index => Way::Shared,
        None | Some(0) => Way::Still,
        Some(_) => Way::Copied,
    })
}

/// The database and its changes in a folder of their own.
fn copied(path: &Path) -> io::Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.sqlite");
    fs::copy(path, &copy)?;
    fs::copy(beside(path, "-wal"), beside(&copy, "-wal"))?;
    Ok((folder, copy))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A path as a URI has it: everything escaped that could mean something there.
fn escaped(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let mut escaped = String::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                escaped.push(char::from(*byte));
            }
            other => {
                let _fits = write!(escaped, "%{other:02X}").is_ok();
            }
        }
    }
    escaped
}

impl State {
    fn of(path: &Path) -> Self {
        let seen = |path: &Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        Self {
            database: seen(path),
            wal: seen(&beside(path, "-wal")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_means_nothing_else_in_a_uri() {
        let path = Path::new("/tmp/a b?mode=rw#x%20é");
        assert_eq!(escaped(path), "/tmp/a%20b%3Fmode%3Drw%23x%2520%C3%A9");
    }
}
