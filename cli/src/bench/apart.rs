//! Servers for measuring, each on a worker thread of its own, so that all of them are treated alike.

use std::future::{Future, pending};

use contextwire_client::Target;
use contextwire_engine::ContextEngine;
use contextwire_proto::v1::context_engine_service_server::ContextEngineServiceServer;
use contextwire_server::{Listen, Server};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::bare::Bare;

/// A running server; it ends without a word when it is dropped.
#[derive(Debug)]
pub(super) struct Apart {
    _running: Running,
    target: Target,
    /// Holds the socket.
    _folder: TempDir,
}

impl Apart {
    /// Serves an engine as `contextwire serve` does.
    pub(super) async fn engine(engine: impl ContextEngine) -> anyhow::Result<Self> {
        let folder = private_folder()?;
        let server = Server::new(engine).listen(listen(&folder));
        Self::start(folder, |up| async move {
            let bound = server.bind().await?;
            if let Some(address) = bound.addresses().first() {
                let _gone = up.send(address.to_string()).is_err();
            }
            Ok(bound.run(pending()).await?)
        })
        .await
    }

    /// Serves what anybody gets from the generated code alone, with tonic's own settings.
    pub(super) async fn bare(service: Bare) -> anyhow::Result<Self> {
        let folder = private_folder()?;
        let listen = listen(&folder);
        Self::start(folder, |up| async move {
            let service = ContextEngineServiceServer::new(service);
            let router = tonic::transport::Server::builder().add_service(service);
            match listen {
                #[cfg(unix)]
                Listen::Unix(path) => {
                    let listener = tokio::net::UnixListener::bind(&path)?;
                    let _gone = up.send(Listen::Unix(path).to_string()).is_err();
                    let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
                    Ok(router.serve_with_incoming(incoming).await?)
                }
                Listen::Tcp(wanted) => {
                    let listener = tokio::net::TcpListener::bind(wanted).await?;
                    let _gone = up
                        .send(Listen::Tcp(listener.local_addr()?).to_string())
                        .is_err();
                    let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
                    Ok(router.serve_with_incoming(incoming).await?)
                }
            }
        })
        .await
    }

    async fn start<F>(
        folder: TempDir,
        serve: impl FnOnce(oneshot::Sender<String>) -> F,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let (up, is_up) = oneshot::channel();
        let serving = runtime.spawn(serve(up));
        // From here on its drop ends the runtime, which must not be waited for in a task.
        let running = Running(Some(runtime));
        let Ok(address) = is_up.await else {
            serving.await??;
            anyhow::bail!("a server ended before it listened");
        };
        Ok(Self {
            _running: running,
            target: address.parse()?,
            _folder: folder,
        })
    }

    /// Where it listens.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }
}

/// A runtime that ends in the background.
#[derive(Debug)]
struct Running(Option<Runtime>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A folder that only its owner may enter, as a server wants it.
fn private_folder() -> std::io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("contextwire-bench-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        folder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    folder.tempdir()
}

/// The usual address of this system: a Unix socket, or a loopback port.
fn listen(folder: &TempDir) -> Listen {
    #[cfg(unix)]
    return Listen::Unix(folder.path().join("engine.sock"));
    #[cfg(not(unix))]
    {
        let _unused = folder;
        Listen::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

/// An address at which connections are refused.
#[derive(Debug)]
pub(super) struct Refusing {
    target: Target,
    /// Holds the socket that nobody listens on any more.
    _folder: TempDir,
}

impl Refusing {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        #[cfg(unix)]
        let target = {
            let path = folder.path().join("engine.sock");
            // The file outlives its listener.
            drop(std::os::unix::net::UnixListener::bind(&path)?);
            Target::Unix(path)
        };
        #[cfg(not(unix))]
        let target = {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            Target::Tcp(listener.local_addr()?)
        };
        Ok(Self {
            target,
            _folder: folder,
        })
    }

    /// Where nobody listens.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }
}
