//! From an engine to a running service.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{AnyAdmin, AnyEngine, ContextEngine, EngineAdmin};
use contextwire_proto::edge::Edge;
use contextwire_proto::v1::context_engine_service_server::ContextEngineServiceServer;
use contextwire_proto::v1::engine_admin_service_server::EngineAdminServiceServer;
use contextwire_proto::{FILE_DESCRIPTOR_SET, limits};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::transport::server::{Connected, Router};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::util::MapResponseLayer;

use crate::admin::AdminService;
use crate::admit::Admit;
use crate::listen::{self, Cuttable, Listen, ListenError};
use crate::methods::Methods;
use crate::options::ServerOptions;
use crate::service::EngineService;
use crate::shared::Shared;
use crate::size;

/// Resets of a host that are tolerated before its connection is closed: a burst of abandoned calls
/// must not end the calls of others (PROTOCOL R1.5).
const PENDING_RESETS: usize = 1000;

/// How long connections may take to close after the last hook ended. An idle or half-open one
/// would hold the process for ever.
const HARD_STOP: Duration = Duration::from_secs(2);

type EngineServer = ContextEngineServiceServer<EngineService>;

/// Why a server could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An address could not be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// No address was given.
    #[error("nothing to listen on: name a Unix socket or a loopback address")]
    NoAddress,
    /// The engine's own description breaks the contract.
    #[error("the engine's description breaks the contract: {0}")]
    Engine(String),
    /// Reflection could not be set up.
    #[error("reflection could not be set up")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// A listener stopped by itself.
    #[error("the server on {address} stopped")]
    Transport {
        /// Which.
        address: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
}

/// An engine and the addresses it will be served on.
#[derive(Debug)]
pub struct Server {
    engine: AnyEngine,
    admin: Option<AnyAdmin>,
    options: ServerOptions,
    listen: Vec<Listen>,
}

impl Server {
    /// A server of this engine, with no address yet.
    pub fn new(engine: impl ContextEngine) -> Self {
        Self {
            engine: AnyEngine::new(engine),
            admin: None,
            options: ServerOptions::default(),
            listen: Vec::new(),
        }
    }

    /// Sets limits and timers.
    #[must_use]
    pub fn options(self, options: ServerOptions) -> Self {
        Self { options, ..self }
    }

    /// Lets operators look at what the engine stores (`EngineAdminService`).
    #[must_use]
    pub fn admin(self, admin: impl EngineAdmin) -> Self {
        let admin = Some(AnyAdmin::new(admin));
        Self { admin, ..self }
    }

    /// Adds an address.
    #[must_use]
    pub fn listen(mut self, address: Listen) -> Self {
        self.listen.push(address);
        self
    }

    /// Adds a Unix socket.
    #[cfg(unix)]
    #[must_use]
    pub fn listen_unix(self, path: impl Into<std::path::PathBuf>) -> Self {
        self.listen(Listen::Unix(path.into()))
    }

    /// Listens; from now on hosts can connect, and [`BoundServer::run`] answers them.
    ///
    /// # Errors
    /// When an address cannot be listened on or the engine's description breaks the contract.
    pub async fn bind(self) -> Result<BoundServer, ServeError> {
        let problems = self.engine.info().problems();
        if !problems.is_empty() {
            return Err(ServeError::Engine(problems.join("; ")));
        }
        if self.listen.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let mut listeners = Vec::new();
        for address in &self.listen {
            listeners.push(Listener::bind(address).await?);
        }
        Ok(BoundServer {
            shared: Arc::new(Shared::new(self.engine, self.options)),
            admin: self.admin,
            listeners,
        })
    }

    /// Listens and serves until Ctrl-C or SIGTERM, then drains.
    ///
    /// # Errors
    /// As [`Server::bind`] and [`BoundServer::run`].
    pub async fn run(self) -> Result<(), ServeError> {
        self.bind().await?.run(crate::stop_signal()).await
    }
}

/// A server whose addresses are taken.
#[derive(Debug)]
pub struct BoundServer {
    shared: Arc<Shared>,
    admin: Option<AnyAdmin>,
    listeners: Vec<Listener>,
}

#[derive(Debug)]
struct Listener {
    address: Listen,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    #[cfg(unix)]
    Unix(listen::BoundSocket),
    Tcp(TcpListener),
}

impl Listener {
    async fn bind(address: &Listen) -> Result<Self, ListenError> {
        match address {
            #[cfg(unix)]
            Listen::Unix(path) => {
                let socket = Socket::Unix(listen::bind_unix(path).await?);
                Ok(Self {
                    address: address.clone(),
                    socket,
                })
            }
            Listen::Tcp(wanted) => {
                let listener = listen::bind_tcp(*wanted).await?;
                let taken: SocketAddr = listener.local_addr().unwrap_or(*wanted);
                Ok(Self {
                    address: Listen::Tcp(taken),
                    socket: Socket::Tcp(listener),
                })
            }
        }
    }

    async fn serve(self, routes: Routes, max_streams: u32, ends: Ends) -> Result<(), ServeError> {
        let router = transport(max_streams).add_routes(routes);
        let served = match self.socket {
            #[cfg(unix)]
            Socket::Unix(socket) => ends.serve(router, socket).await,
            Socket::Tcp(listener) => ends.serve(router, listen::incoming_tcp(listener)).await,
        };
        served.map_err(|source| ServeError::Transport {
            address: self.address.to_string(),
            source,
        })
    }
}

/// How connections end.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// No new ones; the others are told to go and may finish what they began.
    closing: CancellationToken,
    /// All of them, at once.
    cut: CancellationToken,
}

impl Ends {
    async fn serve<T>(
        self,
        router: Router<TransportLayer>,
        incoming: impl Stream<Item = std::io::Result<T>>,
    ) -> Result<(), tonic::transport::Error>
    where
        T: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        let Self { closing, cut } = self;
        let incoming =
            incoming.map(|stream| stream.map(|stream| Cuttable::new(stream, cut.clone())));
        let closing = closing.cancelled_owned();
        router.serve_with_incoming_shutdown(incoming, closing).await
    }
}

impl BoundServer {
    /// Where it listens, with the port that was picked.
    pub fn addresses(&self) -> Vec<Listen> {
        self.listeners
            .iter()
            .map(|listener| listener.address.clone())
            .collect()
    }

    /// Serves until `stop` ends, then drains in the order of PROTOCOL 11: health says `NOT_SERVING`,
    /// new hooks are refused, running ones finish within the grace, the rest are stopped, then the
    /// connections close, by force if need be. Dropping the future cuts everything at once.
    ///
    /// # Errors
    /// When a listener fails or reflection cannot be set up.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        let (health, routes) = routes(&self.shared, self.admin).await?;
        let ends = Ends::default();
        // However this ends, the transport's own tasks must not go on.
        let _cut = ends.cut.clone().drop_guard();
        let mut serving = JoinSet::new();
        for listener in self.listeners {
            let max_streams = self.shared.options.max_streams;
            serving.spawn(listener.serve(routes.clone(), max_streams, ends.clone()));
        }
        tokio::select! {
            () = stop => {}
            Some(ended) = serving.join_next() => {
                if let Ok(Err(error)) = ended {
                    return Err(error);
                }
            }
        }
        drain(&self.shared, &health).await;
        ends.closing.cancel();
        let closed = tokio::time::timeout(HARD_STOP, async {
            while serving.join_next().await.is_some() {}
        });
        if closed.await.is_err() {
            tracing::warn!("connections that did not close are cut");
        }
        Ok(())
    }
}

async fn drain(shared: &Shared, health: &HealthReporter) {
    tracing::info!("draining: new calls are refused");
    for service in ["", EngineServer::NAME] {
        health
            .set_service_status(service, ServingStatus::NotServing)
            .await;
    }
    shared.drain.refuse();
    shared.drain.finish(shared.options.drain_grace).await;
    tracing::info!("drained");
}

async fn routes(
    shared: &Arc<Shared>,
    admin: Option<AnyAdmin>,
) -> Result<(HealthReporter, Routes), ServeError> {
    let max = shared.options.max_message_bytes;
    let engine = ContextEngineServiceServer::new(EngineService(Arc::clone(shared)))
        .max_decoding_message_size(max)
        .max_encoding_message_size(max);
    let (reporter, health) = tonic_health::server::health_reporter();
    for service in ["", EngineServer::NAME] {
        reporter
            .set_service_status(service, ServingStatus::Serving)
            .await;
    }
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(ServeError::Reflection)?;
    let engine = Admit::new(engine, Arc::clone(shared));
    let engine = Methods::new(engine, &shared.engine.info().methods);
    let mut routes = Routes::new(Edge::new(engine, shared.options.unknown_fields))
        .add_service(health)
        .add_service(reflection);
    if let Some(admin) = admin {
        routes = routes.add_service(EngineAdminServiceServer::new(AdminService::new(
            admin,
            Arc::clone(shared),
        )));
    }
    Ok((reporter, routes))
}

type TransportLayer =
    tower::layer::util::Stack<MapResponseLayer<size::Rewrite>, tower::layer::util::Identity>;

fn transport(max_streams: u32) -> tonic::transport::Server<TransportLayer> {
    tonic::transport::Server::builder()
        .max_concurrent_streams(max_streams)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .http2_keepalive_interval(Some(limits::KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(limits::KEEP_ALIVE_TIMEOUT))
        .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS))
        .layer(MapResponseLayer::new(size::rewrite as size::Rewrite))
}
