//! The codec of the serving side: bytes that are no request are refused with a reason, and inside of
//! an [`Edge`](crate::edge::Edge) every request is judged before a handler sees it.

use std::marker::PhantomData;

use bytes::Buf;
use prost::{DecodeError, Message};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::edge::{self, EdgeRequest, UnknownFields};
use crate::limits::PROTOCOL;
use crate::reason::Reason;
use crate::status::Refusal;
use crate::strict;

/// Encodes like [`ProstCodec`]; a frame that cannot be decoded is `INVALID_ARGUMENT` /
/// `INVALID_REQUEST` instead of an INTERNAL without a reason, which a host would count against the
/// connection (R6.2).
#[derive(Debug)]
pub struct EdgeCodec<T, U> {
    judge: Option<UnknownFields>,
    types: PhantomData<(T, U)>,
}

impl<T, U> Default for EdgeCodec<T, U> {
    fn default() -> Self {
        Self {
            judge: edge::current(),
            types: PhantomData,
        }
    }
}

impl<T, U> Codec for EdgeCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + EdgeRequest + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = EdgeDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        EdgeDecoder {
            judge: self.judge,
            types: PhantomData,
        }
    }
}

/// The decoding half of [`EdgeCodec`].
#[derive(Debug)]
pub struct EdgeDecoder<U> {
    judge: Option<UnknownFields>,
    types: PhantomData<U>,
}

impl<U: Message + EdgeRequest + Default> Decoder for EdgeDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // The frame in one piece, without a copy.
        let frame = frame.copy_to_bytes(frame.remaining());
        if self.judge == Some(UnknownFields::Reject) {
            let findings = strict::unknown_fields(U::HOOK, PROTOCOL.minor, &frame)
                .map_err(|fault| undecodable(&fault))?;
            if !findings.is_empty() {
                return Err(findings.into_refusal().into_status());
            }
        }
        let request = U::decode(frame).map_err(|fault| undecodable(&fault))?;
        if self.judge.is_some() {
            edge::understood(&request)?;
        }
        Ok(Some(request))
    }
}

/// prost names message and field of the fault, never the content.
fn undecodable(fault: &DecodeError) -> Status {
    let text = format!("request could not be decoded: {fault}");
    Refusal::new(Reason::InvalidRequest, text)
        .with("fault", fault)
        .into_status()
}
