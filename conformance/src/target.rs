//! Where the engine under test listens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::{Channel, Endpoint};

/// An address of an engine: `unix:/path` or `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// Plaintext HTTP/2; `host:port`.
    Tcp(String),
}

/// Text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address: name `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`")]
pub struct NoAddress(String);

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if text.contains(",unix:") || text.contains(",http:") {
            return Err(NoAddress(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let host = text
            .strip_prefix("http://")
            .map(|it| it.trim_end_matches('/'));
        match host.filter(|host| host.contains(':')) {
            Some(host) => Ok(Self::Tcp(host.to_owned())),
            None => Err(NoAddress(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(host) => write!(f, "http://{host}"),
        }
    }
}

/// A byte stream to an engine.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

impl Address {
    /// A channel that connects when it is used, again where it has to.
    ///
    /// # Errors
    /// When the address is no URI.
    pub fn channel(&self) -> Result<Channel, tonic::transport::Error> {
        let endpoint = Endpoint::from_shared(self.to_string())?;
        Ok(endpoint
            .initial_stream_window_size(Some(8 << 20))
            .initial_connection_window_size(Some(16 << 20))
            .connect_lazy())
    }

    /// A connection below every library.
    pub(crate) async fn connect(&self) -> std::io::Result<Box<dyn Wire>> {
        match self {
            #[cfg(unix)]
            Self::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
            #[cfg(not(unix))]
            Self::Unix(_) => Err(std::io::ErrorKind::Unsupported.into()),
            Self::Tcp(host) => Ok(Box::new(tokio::net::TcpStream::connect(host).await?)),
        }
    }
}
