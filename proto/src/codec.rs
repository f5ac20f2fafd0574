//! The codec of the serving side: bytes that are no request are refused with a reason.
//!
//! It is also the place where a strict walk over the raw request belongs (R5.6): before decoding,
//! before any effect.

use std::marker::PhantomData;

use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::reason::Reason;
use crate::status::Refusal;

/// Encodes like [`ProstCodec`]; a frame that cannot be decoded is `INVALID_ARGUMENT` /
/// `INVALID_REQUEST` instead of an INTERNAL without a reason, which a host would count against the
/// connection (R6.2).
#[derive(Debug)]
pub struct EdgeCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for EdgeCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for EdgeCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = EdgeDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        EdgeDecoder(PhantomData)
    }
}

/// The decoding half of [`EdgeCodec`].
#[derive(Debug)]
pub struct EdgeDecoder<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for EdgeDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // prost names message and field of the fault, never the content.
        U::decode(frame).map(Some).map_err(|fault| {
            Refusal::new(
                Reason::InvalidRequest,
                format!("request could not be decoded: {fault}"),
            )
            .into_status()
        })
    }
}
