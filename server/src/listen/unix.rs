//! Private Unix sockets (PROTOCOL 11): mode 0600 in a 0700 folder from the first instant, peers of
//! the same user only, stale sockets replaced only when nothing answers.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::net::{UnixListener, UnixStream};
use tokio_stream::Stream;

use super::ListenError;

/// `sun_path` holds 108 bytes on Linux and 104 on macOS, the final NUL included.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A listening socket; its file goes away with it, if it is still the same file.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    listener: UnixListener,
    path: PathBuf,
    inode: (u64, u64),
    owner: u32,
}

pub(crate) async fn bind(path: &Path) -> Result<BoundSocket, ListenError> {
    let len = path.as_os_str().as_bytes().len();
    if len > MAX_PATH {
        return Err(ListenError::PathTooLong { len, max: MAX_PATH });
    }
    private_folder(path)?;
    remove_stale(path).await?;
    // The folder keeps everybody else out until the mode is set.
    let listener =
        UnixListener::bind(path).map_err(ListenError::io("listen on", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(0o600))
        .map_err(ListenError::io("set the mode of", path.display()))?;
    let made = fs::symlink_metadata(path).map_err(ListenError::io("look at", path.display()))?;
    let bound = BoundSocket {
        listener,
        path: path.to_owned(),
        inode: (made.dev(), made.ino()),
        owner: made.uid(),
    };
    // Whoever owns the folder can put another socket in this one's place.
    let folder = folder_of(path);
    let found = fs::symlink_metadata(folder);
    let found = found.map_err(ListenError::io("look at", folder.display()))?;
    if found.uid() != bound.owner {
        return Err(not_private(
            path,
            format!("it belongs to user {}", found.uid()),
        ));
    }
    Ok(bound)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Creates the socket's folder, or checks that an existing one is private.
fn private_folder(path: &Path) -> Result<(), ListenError> {
    let folder = folder_of(path);
    match fs::symlink_metadata(folder) {
        Ok(found) => check_private(path, &found),
        Err(error) if error.kind() == ErrorKind::NotFound => DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(ListenError::io("create the folder", folder.display())),
        Err(error) => Err(ListenError::io("look at", folder.display())(error)),
    }
}

fn check_private(path: &Path, found: &Metadata) -> Result<(), ListenError> {
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_dir() {
        Err(not_private(path, "it is a link or no folder".to_owned()))
    } else if mode & 0o077 != 0 {
        Err(not_private(path, format!("its mode is {mode:04o}")))
    } else {
        Ok(())
    }
}

fn not_private(path: &Path, problem: String) -> ListenError {
    let folder = folder_of(path);
    let file = path.file_name().unwrap_or_default();
    ListenError::FolderNotPrivate {
        folder: folder.to_owned(),
        problem,
        example: folder.join("contextwire").join(file),
    }
}

/// Removes a socket file behind which nobody listens.
async fn remove_stale(path: &Path) -> Result<(), ListenError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ListenError::io("look at", path.display())(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ListenError::NotASocket(path.to_owned()));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(ListenError::io("remove the stale", path.display()))
        }
        // An answer, or anything but a plain refusal, may be a service that is alive and busy.
        Ok(_) | Err(_) => Err(ListenError::InUse(path.to_owned())),
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket file stays behind");
        }
    }
}

impl Stream for BoundSocket {
    type Item = std::io::Result<UnixStream>;

    /// The next connection of the socket's own user; others are turned away unread.
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let (stream, _) = ready!(self.listener.poll_accept(cx))?;
            match stream.peer_cred() {
                Ok(peer) if peer.uid() == self.owner => return Poll::Ready(Some(Ok(stream))),
                Ok(peer) => tracing::warn!(uid = peer.uid(), "turned away a foreign user"),
                Err(error) => tracing::warn!(%error, "turned away a peer without credentials"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn open_folder(root: &Path) -> PathBuf {
        let folder = root.join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[tokio::test]
    async fn br_165_the_socket_is_its_owners_and_goes_away() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/engine.sock");
        let socket = bind(&path).await.unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_folder_that_others_may_enter_is_refused_with_a_way_out() {
        let root = tempfile::tempdir().unwrap();
        let folder = open_folder(root.path());
        let error = bind(&folder.join("engine.sock"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("0755") && error.contains("contextwire/engine.sock"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("s/engine.sock");
        let living = bind(&path).await.unwrap();
        assert!(matches!(bind(&path).await, Err(ListenError::InUse(_))));
        drop(living);
        // The file stays when its process dies without a word.
        let other = root.path().join("s/other.sock");
        drop(std::os::unix::net::UnixListener::bind(&other).unwrap());
        assert!(other.exists());
        assert!(bind(&other).await.is_ok());
    }

    #[tokio::test]
    async fn a_file_or_a_long_path_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("s");
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        fs::write(folder.join("engine.sock"), "notes").unwrap();
        let refused = bind(&folder.join("engine.sock")).await;
        assert!(matches!(refused, Err(ListenError::NotASocket(_))));
        let long = folder.join("x".repeat(200));
        assert!(matches!(
            bind(&long).await,
            Err(ListenError::PathTooLong { .. })
        ));
    }
}
