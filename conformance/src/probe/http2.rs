//! A host below every gRPC library: it sends what the check says.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::{Builder, SendRequest};
use http::{HeaderMap, Request};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Code, Status};

use super::within;
use crate::check::Verdict;
use crate::target::Address;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    requests: SendRequest<Bytes>,
    _connection: AbortOnDropHandle<Result<(), h2::Error>>,
}

fn cut(what: impl std::fmt::Display) -> Verdict {
    Verdict::Broken(format!("the connection was lost: {what}"))
}

/// A message in its frame of five bytes, with the length that it claims.
pub(crate) fn framed(message: &[u8], claimed: usize) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(claimed).unwrap_or(u32::MAX));
    frame.put_slice(message);
    frame.freeze()
}

impl Http2 {
    /// Connects.
    pub(crate) async fn connect(address: &Address) -> Result<Self, Verdict> {
        let wire = within(address.connect()).await;
        let wire = wire
            .ok_or_else(|| Verdict::Inconclusive("connecting took too long".to_owned()))?
            .map_err(|error| Verdict::Inconclusive(format!("cannot connect: {error}")))?;
        let handshake = within(Builder::new().handshake::<_, Bytes>(wire)).await;
        let (requests, connection) = handshake
            .ok_or_else(|| cut("no HTTP/2 handshake"))?
            .map_err(cut)?;
        Ok(Self {
            requests,
            _connection: AbortOnDropHandle::new(tokio::spawn(connection)),
        })
    }

    /// Posts bytes as the whole of a call of this path and gives its status.
    pub(crate) async fn post(
        &self,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Status, Verdict> {
        let request = Request::post(format!("http://engine{path}"))
            .header("content-type", content_type)
            .header("te", "trailers")
            .body(())
            .map_err(|error| Verdict::Inconclusive(error.to_string()))?;
        let ready = within(self.requests.clone().ready()).await;
        let mut requests = ready.ok_or_else(|| cut("no room"))?.map_err(cut)?;
        let (answer, mut sender) = requests.send_request(request, false).map_err(cut)?;
        sender.send_data(body, true).map_err(cut)?;
        let Some(answer) = within(answer).await else {
            return Err(Verdict::Broken("no answer within 10 s".to_owned()));
        };
        let (head, mut body) = answer.map_err(cut)?.into_parts();
        if let Some(status) = status_of(&head.headers) {
            return Ok(status);
        }
        while let Some(data) = within(body.data()).await.flatten() {
            let data = data.map_err(cut)?;
            body.flow_control()
                .release_capacity(data.len())
                .map_err(cut)?;
        }
        let trailers = within(body.trailers()).await.ok_or_else(|| cut("no end"))?;
        let trailers = trailers.map_err(cut)?.unwrap_or_default();
        Ok(status_of(&trailers).unwrap_or_else(|| {
            Status::new(
                Code::Unknown,
                format!("no grpc-status, HTTP {}", head.status),
            )
        }))
    }

    /// Opens a call, sends the bytes, and resets it a moment later without reading an answer.
    pub(crate) async fn abandon(&self, path: &str, body: Bytes) -> Result<(), Verdict> {
        let request = Request::post(format!("http://engine{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(|error| Verdict::Inconclusive(error.to_string()))?;
        let ready = within(self.requests.clone().ready()).await;
        let mut requests = ready.ok_or_else(|| cut("no room"))?.map_err(cut)?;
        let (_answer, mut sender) = requests.send_request(request, false).map_err(cut)?;
        sender.send_data(body, true).map_err(cut)?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        sender.send_reset(h2::Reason::CANCEL);
        Ok(())
    }
}

fn status_of(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers)
}
