//! Where a server listens: a private Unix socket, or loopback TCP.

mod cut;
mod tcp;
#[cfg(unix)]
mod unix;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(crate) use cut::Cuttable;
pub(crate) use tcp::{bind as bind_tcp, incoming as incoming_tcp};
#[cfg(unix)]
pub(crate) use unix::{BoundSocket, bind as bind_unix};

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A Unix socket, readable and writable by its owner only, in a folder of mode 0700.
    #[cfg(unix)]
    Unix(PathBuf),
    /// A loopback TCP address; port 0 picks a free one. Any user of the machine may connect.
    Tcp(SocketAddr),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(unix)]
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(addr) => write!(f, "http://{addr}"),
        }
    }
}

/// Why an address could not be listened on; each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Plaintext TCP that other machines could reach.
    #[error(
        "plaintext on {0} would be readable by others: listen on 127.0.0.1 or on a Unix socket"
    )]
    NotLoopback(SocketAddr),
    /// The socket's folder is open to other users, or belongs to one.
    #[error("the folder {} is not private ({problem}): name a socket in a folder of your own with mode 0700, for instance {}", folder.display(), example.display())]
    FolderNotPrivate {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// A path that would do.
        example: PathBuf,
    },
    /// Somebody answers at the path.
    #[error("another service answers at {}: stop it, or choose another path", .0.display())]
    InUse(PathBuf),
    /// The path holds something that is not a socket.
    #[error("{} exists and is no socket: choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The path is longer than the system allows.
    #[error("the socket path holds {len} bytes, the system allows {max}: choose a shorter one")]
    PathTooLong {
        /// Bytes of the path.
        len: usize,
        /// Bytes that fit.
        max: usize,
    },
    /// The system refused.
    #[error("cannot {action} {at}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        at: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl ListenError {
    fn io(action: &'static str, at: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            at: at.to_string(),
            source,
        }
    }
}
