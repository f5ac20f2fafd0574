//! The vectors: messages, lists, Describe and Assemble, with their corners.

mod assemble;
mod describe;
mod list;

use bytes::Bytes;
use contextwire_proto::v1;

/// One vector.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    /// Name of its file.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) why: &'static str,
    /// Full name of its type.
    pub(crate) message: &'static str,
    /// The encoded message.
    pub(crate) bytes: Vec<u8>,
}

impl Vector {
    fn new<M: prost::Message>(
        message: &'static str,
        name: &'static str,
        why: &'static str,
        value: &M,
    ) -> Self {
        Self {
            name,
            why,
            message,
            bytes: value.encode_to_vec(),
        }
    }

    /// Field 2047 at the end of the outermost message, a varint: nobody knows it.
    fn with_unknown_tag(mut self) -> Self {
        self.bytes.extend_from_slice(b"\xf8\x7f\x01");
        self
    }
}

pub(crate) fn vectors() -> Vec<Vector> {
    let mut all = list::messages();
    all.extend(list::lists());
    all.extend(describe::vectors());
    all.extend(assemble::requests());
    all.extend(assemble::responses());
    all
}

/// A message whose header is derived from its payload.
fn message(payload: &'static [u8]) -> v1::Message {
    contextwire_engine::Message::from_payload(Bytes::from_static(payload)).into()
}

/// 32 bytes that are easy to recognise.
fn digest(byte: u8) -> Bytes {
    Bytes::from(vec![byte; 32])
}

fn state(count: u64, byte: u8) -> v1::TranscriptState {
    v1::TranscriptState {
        count,
        chain: digest(byte),
    }
}
