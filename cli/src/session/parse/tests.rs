use super::*;

fn line(text: &str) -> Line {
    Line {
        number: 7,
        body: Body::Text(Bytes::from(text.to_owned())),
        terminated: true,
    }
}

fn entry_of(text: &str) -> (Entry, Option<Reason>) {
    match parse(&line(text)).unwrap().record {
        Record::Entry(entry, reason) => (entry, reason),
        Record::Header(header, _) => panic!("{header:?}"),
    }
}

fn payload(text: &str) -> String {
    let (entry, _) = entry_of(text);
    String::from_utf8(entry.message().unwrap().payload().to_vec()).unwrap()
}

fn fault(line: &Line) -> (Reason, bool) {
    let fault = parse(line).err().unwrap();
    (fault.reason, fault.is_json)
}

#[test]
fn a_message_keeps_every_byte_of_its_payload() {
    let message = r#"{ "role" : "user","content":[{"n":1e400,"s":"\ud83d"}],"n":12345678901234567890123 ,"role":"tool"}"#;
    let text = format!(r#"{{"type":"message","id":"a","parentId":null,"message":  {message} }}"#);
    assert_eq!(payload(&text), message);
    let (entry, reason) = entry_of(&text);
    assert_eq!(reason, None);
    assert_eq!(entry.message().unwrap().role(), "tool");
}

#[test]
fn a_payload_is_a_slice_of_its_line() {
    let line = line(r#"{"type":"message","message":{"role":"user"}}"#);
    let Body::Text(bytes) = &line.body else {
        unreachable!()
    };
    let Record::Entry(entry, _) = parse(&line).unwrap().record else {
        unreachable!()
    };
    let payload = entry.message().unwrap().payload().as_ptr();
    assert!(bytes.as_ptr_range().contains(&payload));
}

#[test]
fn a_v1_header_has_a_model_and_the_session_it_branched_from() {
    let text = r#"{"type":"session","id":"s","timestamp":"2025-12-09T00:53:29.825Z","cwd":"/w","provider":"p","modelId":"m","branchedFrom":"/old.jsonl"}"#;
    let Record::Header(header, _) = parse(&line(text)).unwrap().record else {
        unreachable!()
    };
    let expected = Header {
        id: Some("s".into()),
        version: 1,
        cwd: Some("/w".into()),
        timestamp_ms: Some(1_765_241_609_825),
        parent_session: Some("/old.jsonl".into()),
        model: Some(Model {
            provider: "p".into(),
            id: "m".into(),
        }),
    };
    assert_eq!(header, expected);
}

#[test]
fn entries_without_a_message_get_the_payload_that_a_host_builds() {
    let time = r#""timestamp":"2026-01-01T00:00:00.001Z""#;
    let cases = [
        (
            format!(
                r#"{{"type":"compaction","id":"c",{time},"summary":"s \u00e9","firstKeptEntryId":"x","tokensBefore":9}}"#
            ),
            r#"{"role":"compactionSummary","summary":"s \u00e9","tokensBefore":9,"timestamp":1767225600001}"#,
        ),
        (
            format!(r#"{{"type":"branch_summary","id":"b",{time},"fromId":"f","summary":"s"}}"#),
            r#"{"role":"branchSummary","summary":"s","fromId":"f","timestamp":1767225600001}"#,
        ),
        (
            format!(
                r#"{{"type":"custom_message","id":"m",{time},"customType":"t","content":[{{"type":"text","text":"x"}}],"display":false,"details":{{"a" :1}}}}"#
            ),
            r#"{"role":"custom","customType":"t","content":[{"type":"text","text":"x"}],"display":false,"details":{"a" :1},"timestamp":1767225600001}"#,
        ),
        (
            r#"{"type":"custom_message","timestamp":"soon","content":"x"}"#.to_owned(),
            r#"{"role":"custom","content":"x","timestamp":0}"#,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(payload(&text), expected);
    }
}

#[test]
fn entries_that_a_model_never_sees_have_no_message() {
    for text in [
        r#"{"type":"custom","customType":"t","data":{}}"#,
        r#"{"type":"branch_summary","fromId":"f","summary":""}"#,
        r#"{"type":"branch_summary","fromId":"f"}"#,
        r#"{"type":"label","targetId":"a"}"#,
        r#"{"type":"reset","reason":"new"}"#,
        r#"{"type":"invented_tomorrow","message":{"role":"user"}}"#,
    ] {
        let (entry, reason) = entry_of(text);
        assert!(entry.message().is_none() && reason.is_none(), "{text}");
    }
}

#[test]
fn a_known_type_without_its_body_is_named_with_the_field() {
    let cases = [
        (r#"{"type":"message","id":"a"}"#, "message", "message"),
        (r#"{"type":"message","message":null}"#, "message", "message"),
        (r#"{"type":"message","message":"hi"}"#, "message", "message"),
        (
            r#"{"type":"compaction","summary":7}"#,
            "compaction",
            "summary",
        ),
        (r#"{"type":"leaf"}"#, "leaf", "targetId"),
        (r#"{"type":"leaf","targetId":5}"#, "leaf", "targetId"),
    ];
    for (text, entry_type, field) in cases {
        let expected = Reason::MalformedEntry {
            entry_type: entry_type.into(),
            field,
        };
        assert_eq!(entry_of(text).1, Some(expected), "{text}");
    }
}

#[test]
fn lines_that_are_no_entries_say_why() {
    let not_json = |detail: &str, column| Reason::NotJson {
        detail: detail.into(),
        column,
    };
    let cases = [
        ("[1,2]", Reason::NotAnObject, true),
        ("\"text\"", Reason::NotAnObject, true),
        ("[1,2", Reason::NotAnObject, false),
        ("{\"id\":\"a\"}", Reason::MissingType, true),
        ("{\"type\":7}", Reason::MissingType, true),
        (
            "{\"type\":\"message\"",
            not_json("EOF while parsing an object", 17),
            false,
        ),
        ("{\"a\" 1}", not_json("expected `:`", 6), false),
        ("hello", not_json("expected value", 1), false),
    ];
    for (text, reason, is_json) in cases {
        assert_eq!(fault(&line(text)), (reason, is_json), "{text}");
    }
}

#[test]
fn a_cut_last_line_is_told_from_damage() {
    let cut = |bytes: &'static [u8]| Line {
        number: 9,
        body: Body::Text(Bytes::from_static(bytes)),
        terminated: false,
    };
    assert_eq!(fault(&cut(b"{\"type\":\"mess")), (Reason::Truncated, false));
    assert_eq!(
        fault(&cut(b"{\"a\":\"\xe6\xba")),
        (Reason::Truncated, false)
    );
    assert_eq!(
        fault(&cut(b"{\"a\":\"\xff\"}")),
        (Reason::InvalidUtf8 { valid_bytes: 6 }, false)
    );
}

#[test]
fn rows_of_an_export_are_unwrapped() {
    let text = r#"{"session_id":"s1","seq":4,"event":{"type":"message","id":"a","parentId":"b","message":{"role":"user"}}}"#;
    let parsed = parse(&line(text)).unwrap();
    assert_eq!(parsed.row_session.as_deref(), Some("s1"));
    assert_eq!(payload(text), r#"{"role":"user"}"#);
    assert_eq!(entry_of(text).0.parent, Parent::Id("b".into()));
}
