//! What the walk of a strict engine costs beside decoding: a ratio within one run, best of many.
//!
//! `cargo run --release -p contextwire-proto --example strict_cost`
#![expect(clippy::print_stdout, reason = "its result")]

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use contextwire_engine::{Hook, HookId, Message, Segment, Session, SessionId, Transcript};
use contextwire_proto::CallContext;
use contextwire_proto::convert::AssembleStart;
use contextwire_proto::frame::HostFrame;
use contextwire_proto::limits::PROTOCOL;
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody};
use contextwire_proto::{strict, v1};
use prost::Message as _;
use tokio::time::Instant;

const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    println!("walk / decode of a full send");
    for (name, messages, bytes) in [
        ("5200 messages of 150 B", 5200, 150),
        ("620 messages of 1.5 KiB", 620, 1536),
        ("16 messages of 64 KiB", 16, 65_536),
    ] {
        let request = full_send(messages, bytes)?;
        let findings = strict::unknown_fields(Hook::Assemble, PROTOCOL.minor, &request)?;
        assert!(findings.is_empty());
        let decode = best(|| v1::AssembleRequest::decode(request.clone()).is_ok());
        let walk =
            best(|| strict::unknown_fields(Hook::Assemble, PROTOCOL.minor, &request).is_ok());
        let percent = 100.0 * walk.as_secs_f64() / decode.as_secs_f64();
        println!("{name}: {percent:.1} % ({walk:?} / {decode:?})");
    }
    Ok(())
}

/// An Assemble that sends its whole list.
fn full_send(messages: usize, bytes: usize) -> Result<Bytes, Box<dyn Error>> {
    let list: Transcript = (0..messages).map(|n| message(n, bytes)).collect();
    let part = Part {
        segments: list.iter().cloned().map(Segment::Insert).collect(),
        head: list.state(),
        ..Part::default()
    };
    let update = TranscriptUpdate {
        seq: 1,
        list: List::View,
        body: UpdateBody::Part(part),
    };
    let session = Session::new(SessionId::new("a-session")?);
    let start = AssembleStart {
        call: CallContext::new(HookId::mint(), session),
        request: contextwire_engine::Assemble::default(),
        update,
    };
    let request = v1::AssembleRequest::from(HostFrame::Start(Box::new(start)));
    Ok(request.encode_to_vec().into())
}

fn message(n: usize, bytes: usize) -> Message {
    let text = "m".repeat(bytes.saturating_sub(40));
    let payload = format!(r#"{{"role":"user","content":"{text}","timestamp":{n}}}"#);
    Message::from_payload(payload).with_entry_id(format!("entry-{n:08}"))
}

/// The shortest of many runs.
fn best(mut work: impl FnMut() -> bool) -> Duration {
    let runs = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    });
    runs.min().unwrap_or_default()
}
