//! An engine below every gRPC library: it reads what the test wants, and answers with any frames.

use bytes::{Buf, Bytes, BytesMut};
use contextwire_engine::{EngineInfo, Hook};
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::{limits, v1};
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Response};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::bytes::encoded;
use super::place::Place;
use super::wire::{Listener, Wire};

/// A running engine; ends without a word when it is dropped.
#[derive(Debug)]
pub(crate) struct Http2Engine {
    connections: watch::Receiver<Connections>,
    _serving: AbortOnDropHandle<()>,
}

/// Connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    pub(crate) made: usize,
    pub(crate) ended: usize,
}

impl Http2Engine {
    /// Serves at a place, and lets a host send this many bytes of all streams together before it
    /// has to wait. Describe is answered well, everything else by the script.
    pub(crate) async fn serve<F>(
        place: &Place,
        window: u32,
        script: impl Fn(Http2Request) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = Listener::bind(&place.target()).await;
        let (counted, connections) = watch::channel(Connections::default());
        let serving = tokio::spawn(async move {
            let mut serving = JoinSet::new();
            loop {
                let wire = listener.accept().await;
                counted.send_modify(|connections| connections.made += 1);
                let (script, counted) = (script.clone(), counted.clone());
                serving.spawn(async move {
                    let _broken = serve(wire, window, script).await.is_err();
                    counted.send_modify(|connections| connections.ended += 1);
                });
            }
        });
        Self {
            connections,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> Connections {
        *self.connections.borrow()
    }

    /// Ends when this many connections were made.
    pub(crate) async fn made(&self, connections: usize) {
        let mut counts = self.connections.clone();
        let made = counts.wait_for(|now| now.made >= connections);
        super::soon(made).await.unwrap();
    }

    /// Ends when this many connections have ended.
    pub(crate) async fn ended(&self, connections: usize) {
        let mut counts = self.connections.clone();
        let ended = counts.wait_for(|now| now.ended >= connections);
        super::soon(ended).await.unwrap();
    }
}

async fn serve<F>(
    wire: Wire,
    window: u32,
    script: impl Fn(Http2Request) -> F,
) -> Result<(), h2::Error>
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut builder = Builder::new();
    builder
        .initial_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(window);
    let mut connection = builder.handshake(wire).await?;
    let (go_away, mut away) = mpsc::channel(1);
    let mut calls = JoinSet::new();
    loop {
        let (request, respond) = tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(accepted) => accepted?,
                None => return Ok(()),
            },
            Some(reason) = away.recv() => {
                connection.abrupt_shutdown(reason);
                continue;
            }
        };
        let method = request.uri().path().rsplit('/').next();
        let hook = method.and_then(Hook::from_name).expect("a hook");
        let request = Http2Request {
            hook,
            body: request.into_body(),
            answer: respond,
            go_away: go_away.clone(),
        };
        if hook == Hook::Describe {
            calls.spawn(describe(request));
        } else {
            calls.spawn(script(request));
        }
    }
}

async fn describe(mut request: Http2Request) {
    if request.message().await.is_none() {
        return;
    }
    let mut info = EngineInfo::new("raw", "Raw engine", "1.0.0");
    info.methods = Hook::ALL.into();
    let described = EngineDescription {
        protocol: limits::PROTOCOL,
        info,
        ..EngineDescription::default()
    };
    let mut answer = request.head();
    answer.send(encoded(&v1::DescribeResponse::from(described)));
    answer.end(0);
}

/// A call as it comes in. Its body takes room that all calls of its connection share, until it is
/// read.
#[derive(Debug)]
pub(crate) struct Http2Request {
    pub(crate) hook: Hook,
    body: RecvStream,
    answer: SendResponse<Bytes>,
    go_away: mpsc::Sender<Reason>,
}

impl Http2Request {
    /// Reads the first message; nothing where the host takes the call back before.
    pub(crate) async fn message(&mut self) -> Option<Bytes> {
        let mut read = BytesMut::new();
        loop {
            if let Some(&[_, a, b, c, d]) = read.first_chunk::<5>() {
                let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap();
                if read.len() >= 5 + length {
                    read.advance(5);
                    return Some(read.split_to(length).freeze());
                }
            }
            read.extend(self.chunk().await?);
        }
    }

    /// Reads the next bytes, whatever they are.
    pub(crate) async fn chunk(&mut self) -> Option<Bytes> {
        let chunk = self.body.data().await?.ok()?;
        let _closed = self
            .body
            .flow_control()
            .release_capacity(chunk.len())
            .is_err();
        Some(chunk)
    }

    /// Answers with the head of a call that goes well so far.
    pub(crate) fn head(&mut self) -> Http2Answer {
        let head = Response::builder().header("content-type", "application/grpc");
        let stream = self.answer.send_response(head.body(()).unwrap(), false);
        // A host that is gone already.
        Http2Answer(stream.ok())
    }

    /// Answers with a status and nothing else.
    pub(crate) fn fail(&mut self, code: tonic::Code) {
        let head = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", i32::from(code));
        let _gone = self
            .answer
            .send_response(head.body(()).unwrap(), true)
            .is_err();
    }

    /// Resets the stream.
    pub(crate) fn reset(&mut self, reason: Reason) {
        self.answer.send_reset(reason);
    }

    /// Ends the connection with this GOAWAY.
    pub(crate) async fn go_away(&self, reason: Reason) {
        let _ended = self.go_away.send(reason).await.is_err();
    }

    /// Holds the call, and reads no more of it, for as long as the connection lives.
    pub(crate) async fn hold(self, _answer: Http2Answer) {
        std::future::pending::<()>().await;
    }

    /// Waits until the host resets the stream or the connection ends, while nothing is answered.
    pub(crate) async fn given_up(&mut self) {
        let _ended = std::future::poll_fn(|cx| self.answer.poll_reset(cx))
            .await
            .is_err();
    }
}

/// The engine's side of a call, whose head is sent. Nothing more comes when it is dropped, unless it
/// says so.
#[derive(Debug)]
pub(crate) struct Http2Answer(Option<SendStream<Bytes>>);

impl Http2Answer {
    /// Sends these bytes.
    pub(crate) fn send(&mut self, bytes: Bytes) {
        self.with(|stream| drop(stream.send_data(bytes, false)));
    }

    /// Waits until the host resets the stream or the connection ends.
    pub(crate) async fn given_up(&mut self) {
        let Some(stream) = &mut self.0 else { return };
        let reset = std::future::poll_fn(|cx| stream.poll_reset(cx));
        let _ended = reset.await.is_err();
    }

    /// Ends with trailers of this code.
    pub(crate) fn end(mut self, code: i32) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from(code));
        self.with(|stream| drop(stream.send_trailers(trailers)));
    }

    /// Ends without trailers.
    pub(crate) fn end_without_trailers(mut self) {
        self.with(|stream| drop(stream.send_data(Bytes::new(), true)));
    }

    /// Resets the stream.
    pub(crate) fn reset(mut self, reason: Reason) {
        self.with(|stream| stream.send_reset(reason));
    }

    fn with(&mut self, act: impl FnOnce(&mut SendStream<Bytes>)) {
        if let Some(stream) = &mut self.0 {
            act(stream);
        }
    }
}
