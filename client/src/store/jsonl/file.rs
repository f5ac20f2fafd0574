//! Opening a transcript's file: lock, mode, header, and the end that a crash left.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::{Access, JsonlOptions};
use crate::store::error::StoreError;
use crate::store::journal::FileJournal;
use crate::store::line::{Line, iso};
use crate::store::load::{self, CutTail, Loaded};
use crate::store::state::{Journal, Step};
use crate::store::tree::Tree;

/// The version that new files name: a tree of entries.
const VERSION: &[u8] = b"3";

/// A file, open.
pub(super) struct Opened {
    pub(super) tree: Tree,
    /// Absent where the file was opened for reading.
    pub(super) journal: Option<OpenJournal>,
    pub(super) cut: Option<CutTail>,
}

/// A journal and the lock that makes it the only one.
#[derive(Debug)]
pub(super) struct OpenJournal {
    journal: FileJournal<File>,
    _lock: File,
}

impl Journal for OpenJournal {
    fn write(&mut self, lines: &[Bytes], step: Step) -> Result<(), StoreError> {
        self.journal.write(lines, step)
    }

    fn settled(&mut self) {
        self.journal.settled();
    }
}

/// # Errors
/// As [`super::JsonlStore::open`].
pub(super) fn open(path: &Path, options: &JsonlOptions) -> Result<Opened, StoreError> {
    match options.access {
        Access::Read => {
            let mut file = File::open(path).map_err(StoreError::io("opened"))?;
            let Loaded { tree, cut, .. } = load::load(&read(&mut file)?, &options.session)?;
            let journal = None;
            Ok(Opened { tree, journal, cut })
        }
        Access::Write => open_for_writing(path, options),
    }
}

fn open_for_writing(path: &Path, options: &JsonlOptions) -> Result<Opened, StoreError> {
    // One file has one lock, by whatever link it is reached.
    let path = resolve(path).map_err(StoreError::io("found"))?;
    let lock = lock(&path)?;
    let mut file = private().open(&path).map_err(StoreError::io("opened"))?;
    make_private(&file).map_err(StoreError::io("made private"))?;
    let loaded = load::load(&read(&mut file)?, &options.session)?;
    let len = mend(&mut file, &path, &loaded, options).map_err(StoreError::io("written"))?;
    let Loaded { tree, cut, .. } = loaded;
    if let Some(CutTail { line, bytes }) = cut {
        tracing::warn!(
            line,
            bytes,
            "dropped an unfinished line at the end of a transcript"
        );
    }
    let journal = FileJournal::new(file, len, options.durability);
    Ok(Opened {
        tree,
        journal: Some(OpenJournal {
            journal,
            _lock: lock,
        }),
        cut,
    })
}

/// Makes the file end with a whole line and begin with a header; gives its length.
fn mend(file: &mut File, path: &Path, loaded: &Loaded, options: &JsonlOptions) -> io::Result<u64> {
    let mut missing = Vec::new();
    if loaded.cut.is_some() {
        file.set_len(loaded.len)?;
    }
    if loaded.lacks_line_feed {
        missing.push(b'\n');
    }
    if !loaded.has_header {
        missing.extend_from_slice(&header(options));
        missing.push(b'\n');
    }
    file.write_all(&missing)?;
    if loaded.cut.is_some() || !missing.is_empty() {
        file.sync_all()?;
        sync_folder(path)?;
    }
    Ok(loaded.len + missing.len() as u64)
}

fn header(options: &JsonlOptions) -> Bytes {
    let line = Line::new()
        .text("type", "session")
        .json("version", VERSION)
        .text("id", options.session.as_str())
        .text("timestamp", &iso(options.now_ms));
    let cwd = options.cwd.as_ref();
    cwd.into_iter()
        .fold(line, |line, cwd| line.text("cwd", cwd))
        .finish()
}

fn read(file: &mut File) -> Result<Bytes, StoreError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(StoreError::io("read"))?;
    Ok(bytes.into())
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = OsString::from(path);
    name.push(".lock");
    let file = private().open(&name).map_err(StoreError::io("locked"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::Io {
            doing: "locked",
            source,
        }),
    }
}

/// The file that a path leads to, also where it does not exist yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or(error)?;
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            Ok(fs::canonicalize(folder.unwrap_or(Path::new(".")))?.join(name))
        }
        found => found,
    }
}

/// Options that make a file which only its owner can read, from its first instant on.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes everybody else's rights from a file that was there already.
#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let of_others = file.metadata()?.permissions().mode() & 0o077;
    if of_others == 0 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// A new file's name is on disk only once its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
