//! Bytes on a socket of either kind.

use std::io;

use contextwire_client::Target;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

/// A connection of either kind.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// A connection of either kind.
pub(crate) type Wire = Box<dyn Duplex>;

/// Connects without speaking.
pub(crate) async fn connect(target: &Target) -> io::Result<Wire> {
    Ok(match target {
        #[cfg(unix)]
        Target::Unix(path) => Box::new(UnixStream::connect(path).await?),
        #[cfg(not(unix))]
        Target::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        Target::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // A dropped connection is a reset, as of a host that died.
            stream.set_zero_linger()?;
            Box::new(stream)
        }
        Target::Spawn(_) | Target::Replicas(_) => panic!("one address"),
    })
}

/// A listener that accepts and does nothing else.
#[derive(Debug)]
pub(crate) enum Listener {
    #[cfg(unix)]
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    pub(crate) async fn bind(target: &Target) -> Self {
        match target {
            #[cfg(unix)]
            Target::Unix(path) => Self::Unix(UnixListener::bind(path).unwrap()),
            #[cfg(not(unix))]
            Target::Unix(_) => panic!("no Unix sockets here"),
            Target::Tcp(address) => Self::Tcp(TcpListener::bind(address).await.unwrap()),
            Target::Spawn(_) | Target::Replicas(_) => panic!("one address"),
        }
    }

    pub(crate) async fn accept(&self) -> Wire {
        match self {
            #[cfg(unix)]
            Self::Unix(listener) => Box::new(listener.accept().await.unwrap().0),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_zero_linger().unwrap();
                Box::new(stream)
            }
        }
    }
}
