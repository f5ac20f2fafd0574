//! A bare service of one message and the caller of it, with nothing of ours in between.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::TryFutureExt;
use futures_util::future::{BoxFuture, ready};
use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::Stream;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::NamedService;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::harness::soon;

/// What goes in and out.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Note {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) body: Bytes,
}

/// A note of this many bytes.
pub(super) fn note(bytes: usize) -> Note {
    let body = vec![b'x'; bytes].into();
    Note { body }
}

/// The frames that a stream answers with.
pub(super) type Notes = std::pin::Pin<Box<dyn Stream<Item = Result<Note, Status>> + Send>>;

type Unary = Arc<dyn Fn(Request<Note>) -> BoxFuture<'static, Result<Note, Status>> + Send + Sync>;
type Bidi = Arc<dyn Fn(Streaming<Note>) -> Notes + Send + Sync>;

const UNARY: &str = "/facts.Facts/Unary";
const BIDI: &str = "/facts.Facts/Bidi";

/// The service: a unary method and a stream of frames, both of the test's own.
#[derive(Clone)]
pub(super) struct Facts {
    unary: Unary,
    bidi: Bidi,
    gzip: bool,
}

impl Facts {
    /// Answers what it gets.
    pub(super) fn echo() -> Self {
        let unary: Unary = Arc::new(|request| Box::pin(async { Ok(request.into_inner()) }));
        Self {
            unary,
            bidi: Arc::new(|inbound| Box::pin(inbound)),
            gzip: false,
        }
    }

    /// The same with this for the unary method.
    pub(super) fn unary<F>(
        self,
        answer: impl Fn(Request<Note>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Note, Status>> + Send + 'static,
    {
        let unary: Unary = Arc::new(move |request| Box::pin(answer(request)));
        Self { unary, ..self }
    }

    /// The same with this for the stream.
    pub(super) fn bidi(
        self,
        answer: impl Fn(Streaming<Note>) -> Notes + Send + Sync + 'static,
    ) -> Self {
        let bidi: Bidi = Arc::new(answer);
        Self { bidi, ..self }
    }

    /// The same taking compressed messages.
    pub(super) fn with_gzip(self) -> Self {
        Self { gzip: true, ..self }
    }

    /// Serves it with the library's own settings.
    pub(super) async fn serve(self) -> Serving {
        self.serve_by(Server::builder()).await
    }

    /// Serves it with these settings.
    pub(super) async fn serve_by(self, mut server: Server) -> Serving {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let router = server.add_service(self);
        let run = tokio::spawn(
            router.serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopped),
        );
        Serving { address, stop, run }
    }
}

impl NamedService for Facts {
    const NAME: &'static str = "facts.Facts";
}

impl tower::Service<http::Request<Body>> for Facts {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Self { unary, bidi, gzip } = self.clone();
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<Note, Note>::default());
        if gzip {
            grpc = grpc.accept_compressed(CompressionEncoding::Gzip);
        }
        if request.uri().path() == UNARY {
            let answer = service_fn(move |request| unary(request).map_ok(Response::new));
            return Box::pin(async move { Ok(grpc.unary(answer, request).await) });
        }
        let answer = service_fn(move |request: Request<Streaming<Note>>| {
            ready(Ok(Response::new(bidi(request.into_inner()))))
        });
        Box::pin(async move { Ok(grpc.streaming(answer, request).await) })
    }
}

/// A running service.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) run: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Serving {
    /// A caller with the library's own settings.
    pub(super) fn caller(&self) -> Caller {
        Caller::at(self.address)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.run.abort();
    }
}

/// The other end. Clones share a connection.
#[derive(Clone, Debug)]
pub(super) struct Caller(pub(super) tonic::client::Grpc<Channel>);

impl Caller {
    pub(super) fn at(address: SocketAddr) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        Self(tonic::client::Grpc::new(endpoint.connect_lazy()))
    }

    /// Calls the unary method.
    pub(super) async fn unary(&self, request: Request<Note>) -> Result<Note, Status> {
        let mut grpc = self.0.clone();
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<Note, Note>::default();
        let path = PathAndQuery::from_static(UNARY);
        let answer = grpc.unary(request, path, codec).await?;
        Ok(answer.into_inner())
    }

    /// Opens a stream.
    pub(super) async fn bidi(
        &self,
        request: Request<impl Stream<Item = Note> + Send + 'static>,
    ) -> Result<Streaming<Note>, Status> {
        let mut grpc = self.0.clone();
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<Note, Note>::default();
        let path = PathAndQuery::from_static(BIDI);
        let answers = grpc.streaming(request, path, codec).await?;
        Ok(answers.into_inner())
    }

    /// Whether a good call goes through.
    pub(super) async fn works(&self) -> bool {
        soon(self.unary(Request::new(note(1))))
            .await
            .is_ok_and(|answer| answer == note(1))
    }
}
