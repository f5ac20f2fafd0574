//! What a database's file says of itself, read without a trace: no lock, no file beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// What tells whose file it is.
pub(crate) struct Identity {
    pub(crate) application_id: i32,
    pub(crate) version: u32,
    /// Whether it has no table.
    pub(crate) is_empty: bool,
}

impl Identity {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let count = "SELECT count(*) = 0 FROM sqlite_schema";
        Ok(Self {
            application_id: i32::try_from(pragma("application_id")?).unwrap_or_default(),
            version: u32::try_from(pragma("user_version")?).unwrap_or(u32::MAX),
            is_empty: connection.query_row(count, (), |row| row.get(0))?,
        })
    }
}

/// The file as it lies on the disk, for reading. Right only while nobody writes it, and without
/// what waits in a [`log_beside`] it.
pub(crate) fn as_it_lies(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags)
}

/// The file for reading, beside whoever writes it.
pub(crate) fn beside_writers(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// The write-ahead log of a database: there while somebody has the file open, and after a crash.
pub(crate) fn log_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A path inside a URI.
fn escaped(path: &Path) -> String {
    let mut escaped = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                escaped.push(char::from(*byte));
            }
            // Writing to a text never fails.
            other => drop(write!(escaped, "%{other:02X}")),
        }
    }
    escaped
}
