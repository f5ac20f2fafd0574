//! What the serving side makes of bytes that are no request.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use contextwire_proto::codec::EdgeCodec;
use contextwire_proto::edge::{Edge, UnknownFields};
use contextwire_proto::{Reason, reason_of, v1};
use http_body_util::Full;
use prost::Message as _;
use tonic::Status;
use tonic::codec::{Codec, Streaming};
use tonic::codegen::Service;

type Requests = Streaming<v1::AssembleRequest>;

/// One frame as it comes out of HTTP/2.
fn stream(message: &[u8]) -> Requests {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    let decoder = EdgeCodec::<v1::AssembleResponse, v1::AssembleRequest>::default().decoder();
    let body = Full::new(Bytes::from(frame));
    Streaming::new_request(decoder, body, None, None)
}

fn first(mut stream: Requests) -> Result<Option<v1::AssembleRequest>, Status> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(stream.message())
}

fn decode(message: &[u8]) -> Result<Option<v1::AssembleRequest>, Status> {
    first(stream(message))
}

/// A service that makes its codec as generated ones do: by `Default`, while it answers.
#[derive(Clone, Debug)]
struct Opens;

impl Service<Vec<u8>> for Opens {
    type Response = Requests;
    type Error = Infallible;
    type Future = Ready<Result<Requests, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, message: Vec<u8>) -> Self::Future {
        ready(Ok(stream(&message)))
    }
}

/// The frame, read after the service has answered and on another thread.
fn decode_inside(choice: UnknownFields, message: &[u8]) -> Result<v1::AssembleRequest, Status> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let Ok(stream) = runtime.block_on(Edge::new(Opens, choice).call(message.to_vec()));
    let read = std::thread::spawn(move || first(stream)).join().unwrap();
    read.map(Option::unwrap)
}

/// A start with this call.
fn start(call: v1::CallContext) -> v1::AssembleRequest {
    let start = v1::AssembleStart {
        call: Some(call),
        ..v1::AssembleStart::default()
    };
    v1::AssembleRequest {
        frame: Some(v1::assemble_request::Frame::Start(start)),
    }
}

#[test]
fn garbage_is_an_invalid_request_and_no_fault_of_the_connection() {
    for garbage in [&b"\xff\xff\xff\xff"[..], &b"\x0a\x7f"[..], &b"\x0a"[..]] {
        let status = decode(garbage).unwrap_err();
        assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
        assert!(status.message().len() <= 512);
    }
}

#[test]
fn e_fld_18_invalid_utf_8_in_a_text_names_the_field_and_not_the_content() {
    let session = v1::Session {
        session_id: "canary".to_owned(),
        ..Default::default()
    };
    let call = v1::CallContext {
        session: Some(session),
        ..Default::default()
    };
    let start = v1::AssembleStart {
        call: Some(call),
        ..Default::default()
    };
    let frame = v1::AssembleRequest {
        frame: Some(v1::assemble_request::Frame::Start(start)),
    };
    let mut bytes = frame.encode_to_vec();
    let at = bytes
        .windows(6)
        .position(|window| window == b"canary")
        .unwrap();
    bytes[at + 5] = 0xff;
    let status = decode(&bytes).unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
    assert!(
        status.message().contains("session_id"),
        "{}",
        status.message()
    );
    assert!(!status.message().contains("cana"), "{}", status.message());
}

#[test]
fn unknown_fields_are_ignored() {
    // Field 2047, a varint.
    assert_eq!(
        decode(b"\xf8\x7f\x01").unwrap(),
        Some(v1::AssembleRequest::default())
    );
}

#[test]
fn a_strict_edge_refuses_unknown_fields_and_a_tolerant_one_does_not() {
    let foreign = b"\xf8\x7f\x01";
    assert!(decode_inside(UnknownFields::Ignore, foreign).is_ok());
    let status = decode_inside(UnknownFields::Reject, foreign).unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::UnknownField));
    let known = start(v1::CallContext::default());
    assert_eq!(
        decode_inside(UnknownFields::Reject, &known.encode_to_vec()).unwrap(),
        known
    );
}

#[test]
fn a_strict_edge_calls_bytes_that_are_no_message_what_a_tolerant_one_calls_them() {
    for choice in [UnknownFields::Ignore, UnknownFields::Reject] {
        for garbage in [&b"\xff\xff\xff\xff"[..], &b"\x0a\x7f"[..], &b"\x0a"[..]] {
            let status = decode_inside(choice, garbage).unwrap_err();
            assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
        }
    }
}

#[test]
fn meaning_is_judged_inside_of_every_edge_and_not_outside() {
    let call = v1::CallContext {
        must_understand: vec!["call.mood".to_owned()],
        ..v1::CallContext::default()
    };
    let bytes = start(call).encode_to_vec();
    for choice in [UnknownFields::Ignore, UnknownFields::Reject] {
        let status = decode_inside(choice, &bytes).unwrap_err();
        assert_eq!(reason_of(&status), Some(Reason::NotUnderstood));
    }
    assert!(decode(&bytes).is_ok());
}
