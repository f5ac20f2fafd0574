//! What stands before an honest engine and changes what is said.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::server::{NamedService, StreamingService};
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status, Streaming};
use tower::Service;

use super::{Change, Exchange, fields};
use crate::probe::{Bare, SERVICE};

type Messages = Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>;
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A server that hands everything on to an engine, changed.
#[derive(Clone, Debug)]
pub struct Front {
    engine: Channel,
    change: Change,
}

impl Front {
    /// A front of the engine behind this channel.
    pub fn new(engine: Channel, change: Change) -> Self {
        Self { engine, change }
    }

    /// Serves on a loopback port until it is dropped; gives the address when hosts can connect.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn serve(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, Boxed<Result<(), tonic::transport::Error>>)> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let server = Server::builder()
            .http2_max_pending_accept_reset_streams(Some(1000))
            .initial_stream_window_size(Some(8 << 20))
            .add_service(Engine(self.clone()))
            .add_service(Health(self))
            .serve_with_incoming(TcpListenerStream::new(listener));
        Ok((address, Box::pin(server)))
    }

    fn hand_on(&self, request: http::Request<Body>) -> Boxed<http::Response<Body>> {
        let path = request.uri().path().to_owned();
        let relay = Relay {
            front: self.clone(),
            path,
        };
        let mut grpc = tonic::server::Grpc::new(Bare)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        Box::pin(async move { grpc.streaming(relay, request).await })
    }
}

macro_rules! named {
    ($name:ident, $service:literal) => {
        #[derive(Clone, Debug)]
        struct $name(Front);

        impl NamedService for $name {
            const NAME: &'static str = $service;
        }

        impl Service<http::Request<Body>> for $name {
            type Response = http::Response<Body>;
            type Error = Infallible;
            type Future = Boxed<Result<Self::Response, Infallible>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: http::Request<Body>) -> Self::Future {
                let answer = self.0.hand_on(request);
                Box::pin(async move { Ok(answer.await) })
            }
        }
    };
}

named!(Engine, "contextengine.v1.ContextEngineService");
named!(Health, "grpc.health.v1.Health");

/// One call, handed on.
struct Relay {
    front: Front,
    path: String,
}

impl StreamingService<Bytes> for Relay {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = Boxed<Result<Response<Messages>, Status>>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let (front, path) = (self.front.clone(), self.path.clone());
        Box::pin(async move {
            let messages: Messages = match relay(&front, path, request).await {
                Ok(messages) => messages,
                Err(status) => Box::pin(stream::once(async { Err(status) })),
            };
            Ok(Response::new(messages))
        })
    }
}

fn bytes_of(metadata: &MetadataMap) -> usize {
    let headers = metadata.clone().into_headers();
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}

async fn relay(
    front: &Front,
    path: String,
    request: Request<Streaming<Bytes>>,
) -> Result<Messages, Status> {
    let (metadata, _, mut inbound) = request.into_parts();
    let change = front.change;
    let first = inbound.message().await.ok().flatten();
    let exchange = Exchange {
        method: path.strip_prefix(SERVICE).unwrap_or(&path).to_owned(),
        first: first.clone().unwrap_or_default(),
        metadata_bytes: bytes_of(&metadata),
        is_marked: false,
    };
    let refused = |refuses| super::calls::refused(refuses, &exchange);
    let answer = change.call.and_then(|call| call(&exchange));
    let nothing = |method| super::stores::answered(method, &exchange);
    let answer = answer
        .or_else(|| change.refuses.and_then(refused))
        .or_else(|| change.instead.and_then(nothing));
    if let Some(answer) = answer {
        return answer.map(|message| -> Messages { Box::pin(stream::iter([Ok(message)])) });
    }
    let exchange = Arc::new(Mutex::new(exchange));
    let (outgoing, closed) = pump(change, Arc::clone(&exchange), first, inbound);
    let mut onward = Request::new(ReceiverStream::new(outgoing));
    *onward.metadata_mut() = metadata;
    let mut grpc = tonic::client::Grpc::new(front.engine.clone())
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    grpc.ready()
        .await
        .map_err(|error| Status::from_error(error.into()))?;
    let path = PathAndQuery::from_maybe_shared(path)
        .map_err(|error| Status::internal(error.to_string()))?;
    let answer = grpc.streaming(onward, path, Bare).await;
    if change.waits_for_half_close {
        let mut closed = closed;
        let _gone = closed.wait_for(|is_closed| *is_closed).await.is_err();
    }
    let seen = move || {
        exchange
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    };
    let words: Messages = match answer {
        Ok(answer) => Box::pin(answer.into_inner()),
        Err(status) => Box::pin(stream::once(async { Err(status) })),
    };
    Ok(Box::pin(words.flat_map(move |word| {
        stream::iter(changed(change, &seen(), word))
    })))
}

/// What becomes of one word of the engine.
fn changed(
    change: Change,
    exchange: &Exchange,
    word: Result<Bytes, Status>,
) -> Vec<Result<Bytes, Status>> {
    let word = word.map(|message| fields::told(change, exchange, message));
    let words = match (word, change.response, change.failure) {
        (Ok(message), Some(change), _) => change(exchange, message),
        (Ok(message), None, _) => Ok(vec![message]),
        (Err(status), _, Some(change)) => change(exchange, status),
        (Err(status), _, None) => Err(status),
    };
    match words {
        Ok(messages) => messages.into_iter().map(Ok).collect(),
        Err(status) => vec![Err(status)],
    }
}

/// Hands the host's messages on; the second value becomes true with the host's half-close.
fn pump(
    change: Change,
    exchange: Arc<Mutex<Exchange>>,
    first: Option<Bytes>,
    mut inbound: Streaming<Bytes>,
) -> (mpsc::Receiver<Bytes>, watch::Receiver<bool>) {
    let (sender, outgoing) = mpsc::channel(16);
    let (ended, closed) = watch::channel(false);
    let method = exchange
        .lock()
        .map(|it| it.method.clone())
        .unwrap_or_default();
    let is_prepare = method == "PrepareSubagentSpawn";
    drop(tokio::spawn(async move {
        let mut next = first;
        'host: while let Some(message) = next {
            let messages = match change.request {
                Some(change) => {
                    let mut exchange = exchange.lock().unwrap_or_else(PoisonError::into_inner);
                    change(&mut exchange, message)
                }
                None => vec![message],
            };
            let messages = match change.prepare.filter(|_| is_prepare) {
                Some(change) => messages
                    .into_iter()
                    .map(|it| fields::typed(it, change))
                    .collect(),
                None => messages,
            };
            let messages: Vec<Bytes> = match change.context {
                Some(change) => {
                    let exchange = exchange.lock().unwrap_or_else(PoisonError::into_inner);
                    let edit = |it: &Bytes| fields::edit_call(&exchange, it, change);
                    messages.iter().map(edit).collect()
                }
                None => messages,
            };
            for message in messages {
                if sender.send(message).await.is_err() {
                    break 'host;
                }
            }
            // The engine's end is seen too: hosts close after it.
            next = tokio::select! {
                received = inbound.message() => received.ok().flatten(),
                () = sender.closed() => break,
            };
        }
        while change.waits_for_half_close && inbound.message().await.ok().flatten().is_some() {}
        let _unheard = ended.send(true).is_err();
        if change.hides_half_close && fields::is_stream(&method) {
            sender.closed().await;
        }
    }));
    (outgoing, closed)
}
