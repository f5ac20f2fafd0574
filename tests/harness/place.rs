//! Addresses, and servers that come and go at them.

use std::net::SocketAddr;

use contextwire_client::{ClientOptions, EngineClient, Policy, Target};
use contextwire_engine::ContextEngine;
use contextwire_server::{Listen, ServeError, Server, ServerOptions};
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::soon;

/// An address that stays the same while servers come and go.
#[derive(Debug)]
pub(crate) enum Place {
    #[cfg(unix)]
    Unix(TempDir),
    Tcp {
        address: SocketAddr,
        /// Held, never used: on Linux a bound socket that never listens keeps the port while no
        /// server is up.
        _reserved: Option<TcpSocket>,
    },
}

impl Place {
    /// A Unix socket in a private folder of its own.
    #[cfg(unix)]
    pub(crate) fn unix() -> Self {
        use std::os::unix::fs::DirBuilderExt;

        let root = tempfile::tempdir().unwrap();
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(root.path().join("s"))
            .unwrap();
        Self::Unix(root)
    }

    /// A free port of the loopback interface.
    pub(crate) fn tcp() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = socket.local_addr().unwrap();
        Self::Tcp {
            address,
            _reserved: cfg!(target_os = "linux").then_some(socket),
        }
    }

    /// An address that somebody else listens at.
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self::Tcp {
            address,
            _reserved: None,
        }
    }

    /// The usual one of this system.
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        return Self::unix();
        #[cfg(not(unix))]
        return Self::tcp();
    }

    /// One of each kind.
    pub(crate) fn each() -> Vec<Self> {
        vec![
            #[cfg(unix)]
            Self::unix(),
            Self::tcp(),
        ]
    }

    /// Another place of the same kind.
    pub(crate) fn another(&self) -> Self {
        match self {
            #[cfg(unix)]
            Self::Unix(_) => Self::unix(),
            Self::Tcp { .. } => Self::tcp(),
        }
    }

    /// The address as a host names it.
    pub(crate) fn target(&self) -> Target {
        match self {
            #[cfg(unix)]
            Self::Unix(root) => Target::Unix(root.path().join("s/engine.sock")),
            Self::Tcp { address, .. } => Target::Tcp(*address),
        }
    }

    /// A client with these options.
    pub(crate) fn client_with(&self, options: &ClientOptions) -> EngineClient {
        EngineClient::with_options(&self.target(), options).unwrap()
    }

    /// A client whose every call is one try, whatever became of the calls before.
    pub(crate) fn direct(&self) -> EngineClient {
        self.client_with(&ClientOptions {
            policy: Policy::Direct,
            ..ClientOptions::default()
        })
    }

    /// A client with the default options.
    pub(crate) fn client(&self) -> EngineClient {
        EngineClient::new(&self.target()).unwrap()
    }

    /// Serves an engine here with the default options.
    pub(crate) async fn serve(&self, engine: impl ContextEngine) -> Running {
        self.serve_with(engine, ServerOptions::default()).await
    }

    /// Serves an engine here; when this returns, hosts can connect.
    pub(crate) async fn serve_with(
        &self,
        engine: impl ContextEngine,
        options: ServerOptions,
    ) -> Running {
        let listen = match self.target() {
            #[cfg(unix)]
            Target::Unix(path) => Listen::Unix(path),
            #[cfg(not(unix))]
            Target::Unix(_) => panic!("no Unix sockets here"),
            Target::Tcp(address) => Listen::Tcp(address),
            Target::Spawn(_) | Target::Replicas(_) => panic!("one address"),
        };
        let server = Server::new(engine).options(options).listen(listen.clone());
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let stop = CancellationToken::new();
        let (stopped, (up, is_up)) = (stop.clone(), oneshot::channel());
        let run = runtime.spawn(async move {
            let bound = server.bind().await?;
            let _gone = up.send(bound.addresses()).is_err();
            bound.run(stopped.cancelled_owned()).await
        });
        let taken = soon(is_up).await.expect("the server did not come up");
        assert_eq!(taken, std::slice::from_ref(&listen));
        Running {
            listen,
            runtime: Some(runtime),
            stop,
            run,
        }
    }
}

/// A server in a runtime of its own, as if it were another process.
#[derive(Debug)]
pub(crate) struct Running {
    listen: Listen,
    runtime: Option<Runtime>,
    stop: CancellationToken,
    run: JoinHandle<Result<(), ServeError>>,
}

impl Running {
    /// Ends it without a word: tasks, connections, listener. As after a real kill, the socket file
    /// stays behind.
    pub(crate) async fn kill(mut self) {
        let runtime = self.runtime.take().unwrap();
        let down = move || runtime.shutdown_timeout(super::HUNG);
        tokio::task::spawn_blocking(down).await.unwrap();
        #[cfg(unix)]
        if let Listen::Unix(path) = &self.listen {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        }
    }

    /// Begins to drain.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end of a drain; what the server left behind may go on.
    pub(crate) async fn ended(&mut self) -> Result<(), ServeError> {
        soon(&mut self.run).await.unwrap()
    }

    /// Drains, and waits for the end.
    pub(crate) async fn stop(mut self) -> Result<(), ServeError> {
        self.begin_stop();
        self.ended().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
