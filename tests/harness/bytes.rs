//! A call whose bytes are right or wrong as the test wants, below all stubs.

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use prost::Message;
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::{Service, ServiceExt};

use super::soon;

/// A message in its frame of five bytes.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    frame.freeze()
}

/// The same of a message as it is.
pub(crate) fn encoded(message: &impl Message) -> Bytes {
    framed(&message.encode_to_vec())
}

/// Posts the bytes as the whole of a call, further headers with it, and gives its status.
pub(crate) async fn post(
    channel: &Channel,
    rpc: &str,
    body: Bytes,
    headers: &[(&'static str, &'static str)],
) -> Status {
    let mut request = Request::post(format!("/contextengine.v1.ContextEngineService/{rpc}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::new(Full::new(body))).unwrap();
    let mut channel = channel.clone();
    let call = async { channel.ready().await?.call(request).await };
    let (head, body) = match soon(call).await {
        Ok(response) => response.into_parts(),
        Err(error) => return Status::from_error(error.into()),
    };
    let trailers = match soon(body.collect()).await {
        Ok(collected) => collected.trailers().cloned().unwrap_or_default(),
        Err(status) => return status,
    };
    let status = |map: &HeaderMap| Status::from_header_map(map);
    status(&head.headers)
        .or_else(|| status(&trailers))
        .unwrap_or_else(|| Status::new(Code::Unknown, format!("no status, HTTP {}", head.status)))
}
