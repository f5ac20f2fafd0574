use bytes::Bytes;
use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::limits::{DETAILS_BYTES, PROTOCOL};
use crate::status::{metadata, violations};
use crate::{Reason, reason_of, v1};

/// A field that nobody has: number 99 and a varint.
const FOREIGN: [u8; 3] = [0x98, 0x06, 0x01];

fn walk(hook: Hook, request: &[u8]) -> Vec<(String, Fault)> {
    let findings = unknown_fields(hook, PROTOCOL.minor, request).unwrap();
    let kept = findings.kept().cloned();
    kept.map(|Finding { path, fault }| (path, fault)).collect()
}

fn unknown(path: &str) -> (String, Fault) {
    (path.to_owned(), Fault::Unknown)
}

/// A field of bytes.
fn field(number: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_key(number, WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(value.len() as u64, &mut bytes);
    bytes.extend(value);
    bytes
}

fn with(mut known: Vec<u8>, foreign: &[u8]) -> Vec<u8> {
    known.extend(foreign);
    known
}

#[test]
fn a_known_request_has_no_findings() {
    let message = v1::Message {
        payload: Bytes::from_static(b"{}"),
        tool_call_ids: vec!["a".to_owned(), "b".to_owned()],
        ..v1::Message::default()
    };
    let request = v1::IngestRequest {
        call: Some(v1::CallContext::default()),
        message: Some(message),
        is_heartbeat: true,
    };
    assert_eq!(walk(Hook::Ingest, &request.encode_to_vec()), []);
    assert_eq!(walk(Hook::Ingest, &[]), []);
}

#[test]
fn e_fld_06_every_offender_is_named_at_once_by_its_place() {
    let session = with(v1::Session::default().encode_to_vec(), &field(7, b"secret"));
    let call = with(field(4, &session), &FOREIGN);
    let insert = field(2, &FOREIGN);
    let segments: Vec<_> = [field(1, &[]), insert.clone(), insert, FOREIGN.to_vec()]
        .iter()
        .flat_map(|segment| field(4, segment))
        .collect();
    let start = [field(1, &call), field(4, &segments), FOREIGN.to_vec()].concat();
    let request = field(1, &start);
    assert_eq!(
        walk(Hook::Assemble, &request),
        [
            unknown("call.session.#7"),
            unknown("call.#99"),
            unknown("transcript.segments[1].insert.#99"),
            unknown("transcript.segments[3].#99"),
            unknown("#99"),
            // The same field in a further place.
            unknown("transcript.segments[2].insert.#99"),
        ]
    );
}

#[test]
fn frames_after_the_start_are_walked_too() {
    let segments = field(4, &field(2, &FOREIGN));
    assert_eq!(
        walk(Hook::Assemble, &field(2, &segments)),
        [unknown("transcript.segments[0].insert.#99")]
    );
    assert_eq!(
        walk(Hook::Compact, &field(4, &FOREIGN)),
        [unknown("cancel.#99")]
    );
    assert_eq!(walk(Hook::Maintain, &FOREIGN), [unknown("frame.#99")]);
}

#[test]
fn entries_of_maps_are_walked_and_their_keys_stay_private() {
    let entry = |foreign: &[u8]| field(16, &with(field(1, b"key"), foreign));
    let context = with(entry(&[]), &entry(&FOREIGN));
    assert_eq!(
        walk(Hook::Assemble, &field(1, &field(3, &context))),
        [unknown("runtime_context.extra[1].#99")]
    );
}

#[test]
fn repeated_numbers_may_be_packed_or_not_but_not_of_another_type() {
    // DescribeRequest.runtime_settings_versions = 5.
    assert_eq!(walk(Hook::Describe, &field(5, &[1, 2])), []);
    assert_eq!(walk(Hook::Describe, &[0x28, 1, 0x28, 2]), []);
    let fixed = Fault::WrongType {
        found: WireType::ThirtyTwoBit,
        expected: WireType::Varint,
    };
    assert_eq!(
        walk(Hook::Describe, &[0x2d, 1, 0, 0, 0]),
        [("runtime_settings_versions".to_owned(), fixed)]
    );
}

#[test]
fn e_fld_10_a_known_number_of_another_type_is_named() {
    let varint = Fault::WrongType {
        found: WireType::Varint,
        expected: WireType::LengthDelimited,
    };
    // CallContext.session = 4 as a varint.
    assert_eq!(
        walk(Hook::Ingest, &field(1, &[0x20, 5])),
        [("call.session".to_owned(), varint)]
    );
    let group = Fault::WrongType {
        found: WireType::StartGroup,
        expected: WireType::LengthDelimited,
    };
    // IngestRequest.message = 4 as a group.
    assert_eq!(
        walk(Hook::Ingest, &[0x23, 0x24]),
        [("message".to_owned(), group)]
    );
}

#[test]
fn an_unknown_group_is_one_unknown_field_whatever_is_inside() {
    // Group 99 with a field 1, a group 1 and the end of both.
    let group = [0x9b, 0x06, 0x08, 0x01, 0x0b, 0x0c, 0x9c, 0x06];
    assert_eq!(walk(Hook::Ingest, &field(1, &group)), [unknown("call.#99")]);
}

#[test]
fn what_is_no_message_is_an_error() {
    let nested = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
    let deep = |depth| [vec![0x9b, 0x06], nested(depth), vec![0x9c, 0x06]].concat();
    assert_eq!(walk(Hook::Ingest, &deep(98)), [unknown("#99")]);
    let malformed: [&[u8]; 9] = [
        b"\x0a",                                         // no length
        b"\x0a\x05abc",                                  // too short
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // length out of range
        b"\x00\x01",                                     // number 0
        b"\x0e",                                         // type 6
        b"\x0c",                                         // end of no group
        b"\x0b\x14",                                     // end of another group
        b"\x0b",                                         // group without an end
        &deep(200),
    ];
    for bytes in malformed {
        assert!(unknown_fields(Hook::Ingest, 3, bytes).is_err(), "{bytes:?}");
        assert!(v1::IngestRequest::decode(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn an_engine_of_an_older_minor_knows_newer_fields_by_their_numbers_only() {
    let call = v1::CallContext {
        host_epoch: 7,
        operation: Some("agent-run".to_owned()),
        ..v1::CallContext::default()
    };
    let request = v1::IngestRequest {
        call: Some(call),
        ..v1::IngestRequest::default()
    };
    let of_minor = |minor| {
        let findings = unknown_fields(Hook::Ingest, minor, &request.encode_to_vec()).unwrap();
        findings
            .kept()
            .map(|it| it.path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of_minor(0), ["call.#7", "call.#8"]);
    assert_eq!(of_minor(2), ["call.#8"]);
    assert_eq!(of_minor(3), [""; 0]);
}

#[test]
fn e_err_04_a_thousand_violations_fit_and_are_counted() {
    let segments: Vec<_> = (0..1000)
        .flat_map(|_| field(4, &field(2, &FOREIGN)))
        .collect();
    let start = with(field(4, &segments), &field(1, &FOREIGN));
    let findings = unknown_fields(Hook::Assemble, 3, &field(1, &start)).unwrap();
    assert_eq!(findings.count(), 1001);
    let status = findings.into_refusal().into_status();
    assert_eq!(reason_of(&status), Some(Reason::UnknownField));
    assert!(status.details().len() <= DETAILS_BYTES);
    let named = violations(&status);
    let paths: Vec<_> = named.iter().map(|it| it.field.as_str()).collect();
    // Different fields come first: a host learns them all from one answer.
    assert_eq!(
        paths[..2],
        ["transcript.segments[0].insert.#99", "call.#99"]
    );
    let metadata = metadata(&status);
    let omitted: usize = metadata["violations_omitted"].parse().unwrap();
    assert_eq!(named.len() + omitted, 1001);
    assert_eq!(metadata["count"], "1001");
}

#[test]
fn different_fields_beyond_what_is_kept_are_counted() {
    let numbers = 1000..2000;
    let request: Vec<_> = numbers.flat_map(|number| field(number, &[])).collect();
    let findings = unknown_fields(Hook::Ingest, 3, &request).unwrap();
    assert_eq!(findings.count(), 1000);
    assert_eq!(findings.kept().count(), 320);
    let status = findings.into_refusal().into_status();
    let omitted: usize = metadata(&status)["violations_omitted"].parse().unwrap();
    assert_eq!(violations(&status).len() + omitted, 1000);
}

proptest! {
    #[test]
    fn no_bytes_at_all_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for hook in Hook::ALL {
            let walked = unknown_fields(hook, 3, &bytes);
            // What a decoder can read, the walk can read.
            if hook == Hook::Ingest && v1::IngestRequest::decode(&*bytes).is_ok() {
                prop_assert!(walked.is_ok());
            }
        }
    }
}
