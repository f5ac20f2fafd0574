//! Messages, segments, states, updates.
#![expect(clippy::too_many_lines, reason = "tables, one row a vector")]

use bytes::Bytes;
use contextwire_engine::{Segment, Transcript};
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody, diff};
use contextwire_proto::v1;

use super::{Vector, digest, message, state};

const MESSAGE: &str = "contextengine.v1.Message";

const USER: &[u8] = br#"{"role":"user","content":"one","timestamp":1796047442940}"#;
const CALLS: &[u8] = br#"{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"toolCall","id":"c1","name":"ls","arguments":{"path":"."}},null,{"type":"toolCall","id":"c2","name":"read","arguments":{}}],"timestamp":1796047451180}"#;
const RESULT: &[u8] = br#"{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"a b"}],"isError":false}"#;

pub(super) fn messages() -> Vec<Vector> {
    let vector = |name, why, message: v1::Message| Vector::new(MESSAGE, name, why, &message);
    let named = |payload, id: &str| v1::Message {
        entry_id: id.to_owned(),
        ..message(payload)
    };
    let whole = contextwire_engine::digest::sha256(USER);
    vec![
        vector(
            "message_user",
            "an entry with a lineage id",
            named(USER, "e1"),
        ),
        vector(
            "message_without_id",
            "a host without ids sends none",
            message(USER),
        ),
        vector(
            "message_tool_calls",
            "ids of calls in order, a null block skipped",
            named(CALLS, "e2"),
        ),
        vector("message_tool_result", "answers a call", named(RESULT, "e3")),
        vector(
            "message_lone_surrogate",
            "the payload survives; the header reads U+FFFD",
            named(br#"{"role":"us\ud800er","content":"\udfff"}"#, "e4"),
        ),
        vector(
            "message_odd_numbers",
            "numbers beyond any type survive as they are written",
            named(
                br#"{"role":"user","n":1e400,"m":9007199254740993,"z":-0.0}"#,
                "e5",
            ),
        ),
        vector(
            "message_duplicate_keys",
            "the last key wins in the header; the payload keeps both",
            named(
                br#"{"role":"user","role":"assistant","content":null}"#,
                "e6",
            ),
        ),
        vector(
            "message_unknown_role",
            "roles are open",
            named(br#"{"role":"x-note","display":true}"#, "e7"),
        ),
        vector(
            "message_not_json",
            "any bytes are a payload",
            named(b"{\"role\":\"user\"\xff", "e8"),
        ),
        vector(
            "message_view_item",
            "shows a log entry, with an estimate of zero that is not absent",
            v1::Message {
                log_entry_id: Some("e1".to_owned()),
                estimated_tokens: Some(0),
                ..message(br#"{"role":"user","content":"one, merged"}"#)
            },
        ),
        vector(
            "message_synthetic",
            "invented by an engine",
            v1::Message {
                synthetic: true,
                ..message(br#"{"role":"user","content":"<summary>\u2026</summary>"}"#)
            },
        ),
        vector(
            "message_omitted",
            "a stub with the digest of the message that it stands for: equal to message_user",
            v1::Message {
                payload: Bytes::from_static(br#"{"role":"user","content":"[57 bytes omitted]"}"#),
                omitted: Some(v1::OmittedPayload {
                    bytes: USER.len() as u64,
                    sha256: Bytes::copy_from_slice(&whole),
                }),
                ..named(USER, "e1")
            },
        ),
        vector(
            "message_every_wire_type_of_unknown_tag",
            "fields of a newer minor are skipped by their type, whatever is in them",
            named(USER, "e1"),
        )
        .with_every_wire_type(),
        vector(
            "message_unknown_tag",
            "a field of a newer minor is skipped",
            named(USER, "e1"),
        )
        .with_unknown_tag(),
    ]
}

pub(super) fn lists() -> Vec<Vector> {
    let mut all = segments_and_states();
    all.extend(updates());
    all
}

fn segments_and_states() -> Vec<Vector> {
    const SEGMENT: &str = "contextengine.v1.Segment";
    const STATE: &str = "contextengine.v1.TranscriptState";
    let keep = v1::segment::Kind::Keep(v1::Keep {
        start: 0,
        count: 300,
    });
    let insert = v1::segment::Kind::Insert(message(USER));
    let segment = |name, why, kind| Vector::new(SEGMENT, name, why, &v1::Segment { kind });
    let one: Transcript = [contextwire_engine::Message::from_payload(USER)]
        .into_iter()
        .collect();
    vec![
        segment("segment_keep", "a range from the start", Some(keep)),
        segment("segment_insert", "a new message", Some(insert)),
        segment(
            "segment_of_unknown_tag",
            "a kind of a newer minor reads as none",
            None,
        )
        .with_unknown_tag(),
        Vector::new(
            STATE,
            "state_empty",
            "the empty list costs nothing",
            &v1::TranscriptState::default(),
        ),
        Vector::new(
            STATE,
            "state_one",
            "the list of message_without_id alone",
            &v1::TranscriptState::from(one.state()),
        ),
    ]
}

fn updates() -> Vec<Vector> {
    const UPDATE: &str = "contextengine.v1.TranscriptUpdate";
    const NEED: &str = "contextengine.v1.NeedTranscript";
    let list = |payloads: &[&'static [u8]]| -> Transcript {
        payloads
            .iter()
            .map(|payload| contextwire_engine::Message::from_payload(*payload))
            .collect()
    };
    let update = |name, why, base: &Transcript, new: &Transcript, segments: Vec<Segment>, more| {
        let part = Part {
            base: base.state(),
            segments,
            head: new.state(),
            more,
        };
        let update = TranscriptUpdate {
            seq: 1,
            list: List::View,
            body: UpdateBody::Part(part),
        };
        Vector::new(UPDATE, name, why, &v1::TranscriptUpdate::from(update))
    };
    let (none, two, three) = (
        list(&[]),
        list(&[USER, CALLS]),
        list(&[USER, CALLS, RESULT]),
    );
    let edited = list(&[USER, RESULT]);
    let unavailable = TranscriptUpdate {
        seq: 2,
        list: List::Log,
        body: UpdateBody::Unavailable,
    };
    vec![
        update(
            "update_full",
            "a send from zero",
            &none,
            &two,
            diff(&none, &two),
            false,
        ),
        update(
            "update_append",
            "one message more",
            &two,
            &three,
            diff(&two, &three),
            false,
        ),
        update(
            "update_edit",
            "a message less in the middle",
            &three,
            &edited,
            diff(&three, &edited),
            false,
        ),
        update(
            "update_part",
            "the next part continues",
            &none,
            &list(&[USER]),
            diff(&none, &list(&[USER])),
            true,
        ),
        update(
            "update_without_base",
            "a host that has just restarted",
            &two,
            &two,
            Vec::new(),
            false,
        ),
        Vector::new(
            UPDATE,
            "update_unavailable",
            "the host cannot serve the list",
            &v1::TranscriptUpdate::from(unavailable),
        ),
        Vector::new(
            UPDATE,
            "update_unknown_list",
            "an unknown enum number",
            &v1::TranscriptUpdate {
                seq: 1,
                list: 77,
                base: Some(state(1, 7)),
                ..Default::default()
            },
        ),
        Vector::new(
            NEED,
            "need_transcript",
            "states to start from, the newest first",
            &v1::NeedTranscript {
                seq: 2,
                list: v1::TranscriptList::Log.into(),
                have: [(10, 1), (9, 2), (8, 3)]
                    .map(|(count, byte)| v1::TranscriptState {
                        count,
                        chain: digest(byte),
                    })
                    .to_vec(),
            },
        ),
    ]
}
