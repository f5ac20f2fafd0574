//! Calls as bare bytes: generated types can hold nothing that they do not know.

use bytes::{Buf, BufMut, Bytes};
use contextwire_engine::Hook;
use http::uri::PathAndQuery;
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status};

use super::soon;

/// Sends the frames, closes the host's side, and waits for the last answer.
pub(crate) async fn call(
    channel: &Channel,
    hook: Hook,
    frames: impl IntoIterator<Item = Vec<u8>>,
) -> Result<Bytes, Status> {
    call_with(channel, hook, frames, |_| {}).await
}

/// The same with a change to the call's metadata.
pub(crate) async fn call_with(
    channel: &Channel,
    hook: Hook,
    frames: impl IntoIterator<Item = Vec<u8>>,
    change: impl FnOnce(&mut Request<()>),
) -> Result<Bytes, Status> {
    let path = format!("/contextengine.v1.ContextEngineService/{hook}");
    let path = PathAndQuery::from_maybe_shared(path).unwrap();
    let frames: Vec<Bytes> = frames.into_iter().map(Bytes::from).collect();
    let mut grpc = Grpc::new(channel.clone());
    soon(grpc.ready()).await.unwrap();
    let mut request = Request::new(());
    change(&mut request);
    let call = grpc.streaming(request.map(|()| tokio_stream::iter(frames)), path, Bare);
    let mut answers = soon(call).await?.into_inner();
    let mut last = Bytes::new();
    while let Some(answer) = soon(answers.message()).await? {
        last = answer;
    }
    Ok(last)
}

/// A field of bytes.
pub(crate) fn field(number: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(value.len() as u64, &mut bytes);
    bytes.extend(value);
    bytes
}

/// A number.
pub(crate) fn number(field: u32, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(field, WireType::Varint, &mut bytes);
    encode_varint(value, &mut bytes);
    bytes
}

pub(super) struct Bare;

impl Codec for Bare {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bare {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, frame: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(frame);
        Ok(())
    }
}

impl Decoder for Bare {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(frame.copy_to_bytes(frame.remaining())))
    }
}
