//! The engine of the other process that breaks HTTP/2 and gRPC themselves, as the first word of the
//! session's id says.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use contextwire_engine::Hook;
use contextwire_proto::v1;
use h2::Reason;
use prost::Message;
use tonic::Code;

use super::child::say;
use crate::harness::bare::{field, number};
use crate::harness::{Gate, Http2Answer, Http2Engine, Http2Request, Place, framed};

/// Room for whatever hosts send.
const WINDOW: u32 = 16 << 20;

/// A unary request, or the start of a stream. Dispose has no session.
#[derive(Clone, PartialEq, prost::Message)]
struct Called {
    #[prost(message, optional, tag = "1")]
    call: Option<v1::CallContext>,
}

/// The first frame of a stream.
#[derive(Clone, PartialEq, prost::Message)]
struct Opened {
    #[prost(message, optional, tag = "1")]
    start: Option<Called>,
}

/// Serves until it is dropped.
pub(super) async fn serve(place: &Place) -> Http2Engine {
    let gate = Gate::new();
    Http2Engine::serve(place, WINDOW, move |request| {
        misbehave(request, gate.clone())
    })
    .await
}

/// The fault that the session is named for, with its number.
fn fault(hook: Hook, message: &Bytes) -> (String, u32) {
    let called = if hook.profile().streaming {
        Opened::decode(message.clone()).unwrap().start.unwrap()
    } else {
        Called::decode(message.clone()).unwrap()
    };
    let session = called.call.unwrap().session;
    let id = match session {
        Some(session) => session.session_id,
        None => {
            v1::DisposeRequest::decode(message.clone())
                .unwrap()
                .host_instance
        }
    };
    let fault = id.split(' ').next().unwrap();
    let (name, number) = fault.split_once(':').unwrap_or((fault, "0"));
    (name.to_owned(), number.parse().unwrap())
}

async fn misbehave(mut request: Http2Request, gate: Gate) {
    let Some(message) = request.message().await else {
        return;
    };
    let (fault, number) = fault(request.hook, &message);
    let good = framed(&good(request.hook, &message));
    match fault.as_str() {
        "silent" => request.given_up().await,
        "unavailable" => request.fail(Code::Unavailable),
        "reset-at-once" => request.reset(number.into()),
        "goes-away" => request.go_away(number.into()).await,
        "held" => {
            say("arrived");
            gate.pass().await;
            whole(&mut request, good);
        }
        "release" => {
            gate.open();
            whole(&mut request, good);
        }
        _ => answer(&fault, number.into(), request, good).await,
    }
}

fn whole(request: &mut Http2Request, good: Bytes) {
    let mut answer = request.head();
    answer.send(good);
    answer.end(0);
}

/// What is wrong after the head of the answer.
async fn answer(fault: &str, reason: Reason, mut request: Http2Request, good: Bytes) {
    let mut answer = request.head();
    match fault {
        "no-result" => answer.given_up().await,
        "no-end" => {
            answer.send(good);
            answer.given_up().await;
        }
        "reset-before" => answer.reset(reason),
        "reset-after" => {
            answer.send(good);
            answer.reset(reason);
        }
        "no-trailers" => {
            answer.send(good);
            answer.end_without_trailers();
        }
        "nothing" => answer.end(0),
        "twice" => {
            answer.send(good.clone());
            answer.send(good);
            answer.end(0);
        }
        "cut-short" => {
            answer.send(announced(100, &[0; 10]));
            answer.end(0);
        }
        "garbage" => {
            answer.send(framed(&[0xff; 16]));
            answer.end(0);
        }
        "oversized" => {
            answer.send(announced(64 << 20, &[0; 10]));
            answer.given_up().await;
        }
        "drips" => drip(answer).await,
        _ => {
            answer.send(good);
            answer.end(0);
        }
    }
}

/// The head of a message of this size, and some of it.
fn announced(size: u32, some: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(size);
    bytes.put_slice(some);
    bytes.freeze()
}

/// Sends a long answer byte by byte.
async fn drip(mut answer: Http2Answer) {
    answer.send(announced(1 << 20, &[]));
    let pause = Duration::from_millis(5);
    while tokio::time::timeout(pause, answer.given_up())
        .await
        .is_err()
    {
        answer.send(Bytes::from_static(&[0]));
    }
}

/// A good answer.
fn good(hook: Hook, message: &Bytes) -> Vec<u8> {
    if hook == Hook::Assemble {
        let request = v1::AssembleRequest::decode(message.clone()).unwrap();
        let Some(v1::assemble_request::Frame::Start(start)) = request.frame else {
            panic!("a start")
        };
        let head = start.transcript.unwrap().head;
        return kept(head.map_or(0, |head| head.count));
    }
    let is_commit = hook == Hook::CommitTurn;
    match (hook.profile().streaming, is_commit) {
        (true, _) => field(1, &[]),
        // COMMITTED
        (false, true) => number(2, 1),
        (false, false) => Vec::new(),
    }
}

/// All of a list is kept.
pub(super) fn kept(count: u64) -> Vec<u8> {
    let keep = v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start: 0, count })),
    };
    let messages = v1::AssembledMessages {
        segments: vec![keep],
        ..v1::AssembledMessages::default()
    };
    let result = v1::AssembleResult {
        reply: None,
        outcome: Some(v1::assemble_result::Outcome::Messages(messages)),
    };
    let frame = Some(v1::assemble_response::Frame::Result(result));
    v1::AssembleResponse { frame }.encode_to_vec()
}
