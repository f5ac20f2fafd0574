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

    /// Fields 2040 to 2044, one of each type that the wire has: a varint, eight bytes, a text that
    /// looks like a field, a group with a group in it, four bytes.
    fn with_every_wire_type(mut self) -> Self {
        let fields: [(u32, &[u8]); 5] = [
            (2040 << 3, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            (2041 << 3 | 1, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
            (2042 << 3 | 2, b"\x03\x0a\x01x"),
            // Inside, field 1 is a group as well, and ends before this one does.
            (2043 << 3 | 3, b"\x0b\x10\x07\x0c\xdc\x7f"),
            (2044 << 3 | 5, b"\x01\x02\x03\x04"),
        ];
        for (key, value) in fields {
            prost::encoding::encode_varint(key.into(), &mut self.bytes);
            self.bytes.extend_from_slice(value);
        }
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
