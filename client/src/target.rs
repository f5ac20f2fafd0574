//! Where an engine is.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::spawned::SpawnCommand;

/// The address of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A Unix socket.
    Unix(PathBuf),
    /// A loopback TCP address, in plaintext.
    Tcp(SocketAddr),
    /// A command that this process runs and watches over; see [`Target::spawn`].
    Spawn(SpawnCommand),
    /// Several equal engines over one store; see [`Target::replicas`].
    Replicas(Vec<Target>),
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

    /// An engine of this process's own: the command is run when a client is made inside a tokio
    /// runtime, else with the first call, and again whenever it ends. It listens on the Unix socket
    /// that it is told, and ends with the last clone of its client, or with this process however
    /// that ends. Unix only. See [`SpawnCommand`].
    ///
    /// ```
    /// use contextwire_client::{SpawnCommand, Target};
    ///
    /// let target = Target::spawn(SpawnCommand::new("contextwire").arg("serve"));
    /// assert_eq!(target.to_string(), "spawn:contextwire serve");
    /// ```
    pub fn spawn(command: impl Into<SpawnCommand>) -> Self {
        Self::Spawn(command.into())
    }

    /// Several endpoints of one engine, which share its store: a session stays with one of them
    /// while it is well, and goes on at another one when it is not. The order means nothing; one
    /// that is named twice is one.
    ///
    /// # Errors
    /// [`InvalidTarget::Nobody`] where there is none.
    pub fn replicas(targets: impl IntoIterator<Item = Target>) -> Result<Self, InvalidTarget> {
        let mut several: Vec<Self> = Vec::new();
        for target in targets {
            for endpoint in target.endpoints() {
                if !several.contains(endpoint) {
                    several.push(endpoint.clone());
                }
            }
        }
        match several.len() {
            0 | 1 => several.pop().ok_or(InvalidTarget::Nobody),
            _ => Ok(Self::Replicas(several)),
        }
    }

    /// The endpoints that it comes to.
    pub(crate) fn endpoints(&self) -> Vec<&Self> {
        match self {
            Self::Unix(_) | Self::Tcp(_) | Self::Spawn(_) => vec![self],
            Self::Replicas(several) => several.iter().flat_map(Self::endpoints).collect(),
        }
    }
}

/// Why a text names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// Neither a path nor an address.
    #[error(
        "`{0}` is no engine address: write unix:/path/to/engine.sock, http://127.0.0.1:PORT, \
         spawn:COMMAND, or several addresses with commas between them"
    )]
    Unreadable(String),
    /// No endpoint at all.
    #[error("there is no endpoint: name at least one")]
    Nobody,
    /// Plaintext to another machine.
    #[error("`{0}` would cross the network in plaintext: use a Unix socket or a loopback address")]
    NotLoopback(SocketAddr),
}

impl FromStr for Target {
    type Err = InvalidTarget;

    /// `unix:/path`, `unix:///path`, a path with a slash, `http://127.0.0.1:PORT` or
    /// `127.0.0.1:PORT`; `spawn:COMMAND` with the words of a shell; or several addresses with commas
    /// between them.
    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        if let Some(command) = text.strip_prefix("spawn:") {
            let command = command.parse();
            return command
                .map(Self::Spawn)
                .map_err(|_| InvalidTarget::Unreadable(text.to_owned()));
        }
        if text.contains(',') {
            let targets: Result<Vec<Self>, _> =
                text.split(',').map(|it| it.trim().parse()).collect();
            return Self::replicas(targets?);
        }
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
            Self::Spawn(command) => write!(f, "spawn:{command}"),
            Self::Replicas(several) => {
                for (at, target) in several.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{target}")?;
                }
                Ok(())
            }
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
            (
                "unix:/run/b.sock, 127.0.0.1:5000",
                "unix:/run/b.sock,http://127.0.0.1:5000",
            ),
            ("127.0.0.1:5000,127.0.0.1:5000", "http://127.0.0.1:5000"),
            ("spawn:contextwire serve", "spawn:contextwire serve"),
            ("spawn: a  'b, c' ", "spawn:a 'b, c'"),
        ] {
            assert_eq!(
                text.parse::<Target>().map(|t| t.to_string()),
                Ok(printed.to_owned())
            );
        }
    }

    #[test]
    fn what_is_no_address_or_leaves_the_machine_is_refused() {
        for text in [
            "",
            "engine",
            "unix:",
            "https://example.org",
            "ftp://a/b",
            "spawn:",
            "spawn:it's",
            "127.0.0.1:1,",
        ] {
            let refused = text.parse::<Target>();
            assert!(
                matches!(refused, Err(InvalidTarget::Unreadable(_))),
                "{text}"
            );
        }
        let away = "10.0.0.1:80".parse::<Target>();
        assert!(matches!(away, Err(InvalidTarget::NotLoopback(_))));
        assert_eq!(Target::replicas([]), Err(InvalidTarget::Nobody));
    }
}
