//! A host below every gRPC library: it sends what the test says and reads only when told to.

use bytes::Bytes;
use contextwire_client::Target;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::Request;
use prost::Message;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use super::bytes::encoded;
use super::soon;
use super::wire::connect;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    requests: SendRequest<Bytes>,
    connection: AbortOnDropHandle<Result<(), h2::Error>>,
}

impl Http2 {
    /// Connects, and lets the server send this many bytes of a stream before it has to wait.
    pub(crate) async fn connect(target: &Target, window: u32) -> Self {
        let wire = connect(target).await.unwrap();
        let handshake = Builder::new()
            .initial_window_size(window)
            .handshake::<_, Bytes>(wire);
        let (requests, connection) = soon(handshake).await.unwrap();
        Self {
            requests,
            connection: AbortOnDropHandle::new(tokio::spawn(connection)),
        }
    }

    /// Streams that the server lets this connection have; known after the first answer.
    pub(crate) fn max_streams(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Waits until the server has ended the connection.
    pub(crate) async fn ended(self) {
        // An acknowledgement that crosses the end finds a closed socket.
        let _crossed = soon(self.connection).await.unwrap().is_err();
    }

    /// Opens a call of this method and sends none of its request.
    pub(crate) async fn open(&self, method: &str) -> Http2Call {
        let request = Request::post(format!(
            "http://engine/contextengine.v1.ContextEngineService/{method}"
        ))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
        let mut requests = soon(self.requests.clone().ready()).await.unwrap();
        let (answer, body) = requests.send_request(request, false).unwrap();
        Http2Call { answer, body }
    }
}

/// A call whose answer nobody reads yet.
#[derive(Debug)]
pub(crate) struct Http2Call {
    answer: ResponseFuture,
    body: SendStream<Bytes>,
}

impl Http2Call {
    /// Sends a message of the request.
    pub(crate) fn send(&mut self, message: &impl Message) {
        self.body.send_data(encoded(message), false).unwrap();
    }

    /// Waits for the head of the answer, and gives its status where that is all there is.
    pub(crate) async fn head(self) -> (Option<Status>, RecvStream) {
        let (head, body) = soon(self.answer).await.unwrap().into_parts();
        (Status::from_header_map(&head.headers), body)
    }
}
