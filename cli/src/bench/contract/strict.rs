//! A full send as a strict server reads it: the scan that names unknown fields, and the decoding
//! that comes after it.

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use contextwire_engine::{Assemble, Hook, HookId, Segment};
use contextwire_proto::CallContext;
use contextwire_proto::convert::AssembleStart;
use contextwire_proto::frame::HostFrame;
use contextwire_proto::limits::PROTOCOL;
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody};
use contextwire_proto::{strict, v1};
use prost::Message as _;
use tokio::time::Instant;

use crate::bench::conversation::{session, transcript};
use crate::bench::measure::Subject;

/// The list.
const MESSAGES: usize = 620;
/// Payload of each of its messages in bytes.
const MESSAGE_BYTES: usize = 1_536;

/// The scan and the decoding of one request.
pub(super) fn subjects() -> anyhow::Result<(Scan, Decode)> {
    let request = full_send()?;
    Ok((Scan(request.clone()), Decode(request)))
}

/// An Assemble that sends its whole list in one frame.
fn full_send() -> anyhow::Result<Bytes> {
    let list = transcript(MESSAGES, MESSAGE_BYTES);
    let part = Part {
        segments: list.iter().cloned().map(Segment::Insert).collect(),
        head: list.state(),
        ..Part::default()
    };
    let start = AssembleStart {
        call: CallContext::new(HookId::mint(), session("strict")?),
        request: Assemble::default(),
        update: TranscriptUpdate {
            seq: 1,
            list: List::View,
            body: UpdateBody::Part(part),
        },
    };
    let request = v1::AssembleRequest::from(HostFrame::Start(Box::new(start)));
    Ok(request.encode_to_vec().into())
}

/// Names what this build does not know of the request, which is nothing.
pub(super) struct Scan(Bytes);

impl Subject for Scan {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let findings = strict::unknown_fields(Hook::Assemble, PROTOCOL.minor, black_box(&self.0))?;
        let elapsed = started.elapsed();
        anyhow::ensure!(findings.is_empty(), "an unknown field in our own request");
        Ok(elapsed)
    }
}

/// Decodes the request, payloads without a copy; freeing it again does not count.
pub(super) struct Decode(Bytes);

impl Subject for Decode {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let request = self.0.clone();
        let started = Instant::now();
        let decoded = black_box(v1::AssembleRequest::decode(request)?);
        let elapsed = started.elapsed();
        anyhow::ensure!(decoded.frame.is_some(), "nothing was decoded");
        Ok(elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_scan_and_the_decoding_are_of_a_whole_list() {
        let (mut scan, mut decode) = subjects().unwrap();
        assert!(scan.0.len() > MESSAGES * MESSAGE_BYTES);
        assert!(scan.call().await.is_ok() && decode.call().await.is_ok());
    }
}
