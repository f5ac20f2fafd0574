//! Where an engine is.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Unix socket.
    Unix(PathBuf),
    /// A loopback TCP address, in plaintext.
    Tcp(SocketAddr),
}

impl Target {
    /// The engine that listens at this path.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self::Unix(path.into())
    }

    /// The engine that listens at this address of the loopback interface.
    ///
    /// # Errors
    /// [`InvalidTarget::NotLoopback`] for any other: plaintext stays on the machine.
    pub fn tcp(address: SocketAddr) -> Result<Self, InvalidTarget> {
        if address.ip().is_loopback() {
            Ok(Self::Tcp(address))
        } else {
            Err(InvalidTarget::NotLoopback(address))
        }
    }
}

/// Why a text names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// Neither a path nor an address.
    #[error("`{0}` is no engine address: write unix:/path/to/engine.sock or http://127.0.0.1:PORT")]
    Unreadable(String),
    /// Plaintext to another machine.
    #[error("`{0}` would cross the network in plaintext: use a Unix socket or a loopback address")]
    NotLoopback(SocketAddr),
}

impl FromStr for Target {
    type Err = InvalidTarget;

    /// `unix:/path`, `unix:///path`, a path with a slash, `http://127.0.0.1:PORT` or
    /// `127.0.0.1:PORT`.
    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(InvalidTarget::Unreadable(text.to_owned())),
                path => Ok(Self::Unix(PathBuf::from(path))),
            };
        }
        let address = text
            .strip_prefix("http://")
            .unwrap_or(text)
            .trim_end_matches('/');
        let address = address.replace("localhost:", "127.0.0.1:");
        match address.parse::<SocketAddr>() {
            Ok(addr) if addr.ip().is_loopback() => Ok(Self::Tcp(addr)),
            Ok(addr) => Err(InvalidTarget::NotLoopback(addr)),
            Err(_) if text.contains('/') && !text.contains("://") => {
                Ok(Self::Unix(PathBuf::from(text)))
            }
            Err(_) => Err(InvalidTarget::Unreadable(text.to_owned())),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(addr) => write!(f, "http://{addr}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_usual_form() {
        for (text, printed) in [
            ("unix:/run/e.sock", "unix:/run/e.sock"),
            ("unix:///run/e.sock", "unix:/run/e.sock"),
            ("./e.sock", "unix:./e.sock"),
            ("http://127.0.0.1:5000/", "http://127.0.0.1:5000"),
            ("localhost:5000", "http://127.0.0.1:5000"),
            ("[::1]:5000", "http://[::1]:5000"),
        ] {
            assert_eq!(
                text.parse::<Target>().map(|t| t.to_string()),
                Ok(printed.to_owned())
            );
        }
    }

    #[test]
    fn what_is_no_address_or_leaves_the_machine_is_refused() {
        for text in ["", "engine", "unix:", "https://example.org", "ftp://a/b"] {
            let refused = text.parse::<Target>();
            assert!(
                matches!(refused, Err(InvalidTarget::Unreadable(_))),
                "{text}"
            );
        }
        let away = "10.0.0.1:80".parse::<Target>();
        assert!(matches!(away, Err(InvalidTarget::NotLoopback(_))));
    }
}
