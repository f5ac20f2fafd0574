//! Small files that are read whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Puts these bytes in the place of a file: whoever reads it sees all of the old or all of the new.
/// Only the user may read it. The folder is made where it is not there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = filled(path, bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The same, and it is on the disk before this returns.
pub(crate) fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = filled(path, bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder(path))
}

/// Puts on the disk which files a folder has.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, and the file system sees to it.
    if cfg!(unix) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A new file beside the one that it is to replace.
fn filled(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = folder(path);
    std::fs::create_dir_all(folder)?;
    let mut file = Builder::new().prefix(".contextwire-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn folder(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left_in_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/status.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let left = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
