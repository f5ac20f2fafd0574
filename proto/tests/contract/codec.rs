//! What the serving side makes of bytes that are no request.

use bytes::{BufMut, Bytes, BytesMut};
use contextwire_proto::codec::EdgeCodec;
use contextwire_proto::{Reason, reason_of, v1};
use http_body_util::Full;
use prost::Message as _;
use tonic::Status;
use tonic::codec::{Codec, Streaming};

/// One frame as it comes out of HTTP/2.
fn decode(message: &[u8]) -> Result<Option<v1::AssembleRequest>, Status> {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    let decoder = EdgeCodec::<v1::AssembleResponse, v1::AssembleRequest>::default().decoder();
    let body = Full::new(Bytes::from(frame));
    let mut stream = Streaming::new_request(decoder, body, None, None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(stream.message())
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
