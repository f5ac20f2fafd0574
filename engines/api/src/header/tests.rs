use proptest::prelude::*;

use super::*;

fn header(role: &str, timestamp_ms: Option<i64>, calls: &[&str], result: Option<&str>) -> Header {
    Header {
        role: role.to_owned(),
        timestamp_ms,
        tool_call_ids: calls.iter().map(|&id| id.to_owned()).collect(),
        tool_result_for: result.map(str::to_owned),
    }
}

/// Payload and header; these rows hold for every implementation of the protocol.
#[test]
fn golden_headers() {
    let nested = format!(
        r#"{{"a":{}{},"role":"user"}}"#,
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    let rows: Vec<(&[u8], Header)> = vec![
        (br#"{"role":"user","content":"hi","timestamp":1796047442940}"#, header("user", Some(1_796_047_442_940), &[], None)),
        (br#"{"role":"assistant","content":null}"#, header("assistant", None, &[], None)),
        (br#"{"role":"custom"}"#, header("custom", None, &[], None)),
        (br#"{"role":"somethingNew","x":1}"#, header("somethingNew", None, &[], None)),
        (br#"{"role":"user","role":"assistant","timestamp":1,"timestamp":2}"#, header("assistant", Some(2), &[], None)),
        (br#"{"role":"user","role":7}"#, header("", None, &[], None)),
        (br#"{"role":"user","timestamp":1e400}"#, header("user", None, &[], None)),
        (br#"{"big":1e400,"n":9007199254740993,"role":"user","timestamp":12.9}"#, header("user", Some(12), &[], None)),
        (br#"{"role":"user","timestamp":-1.5e3}"#, header("user", Some(-1500), &[], None)),
        (br#"{"role":"user","timestamp":1e19}"#, header("user", None, &[], None)),
        (br#"{"role":"us\ud83der"}"#, header("us\u{fffd}er", None, &[], None)),
        (b"{\"role\":\"us\xffer\"}", header("us\u{fffd}er", None, &[], None)),
        (br#"{"r\u006fle":"us\u0065r"}"#, header("user", None, &[], None)),
        (nested.as_bytes(), header("user", None, &[], None)),
        (br#"{"__openclaw":{"role":"admin","toolCallId":"x"},"role":"user","_x":[{"role":1}]}"#, header("user", None, &[], None)),
        (br#"{"role":"assistant","content":[]}"#, header("assistant", None, &[], None)),
        (
            br#"{"role":"assistant","content":[null,7,"t",{"type":"text","text":"a","id":"t1"},{"type":"toolCall","id":"c1","name":"read","arguments":{"id":"no"}},{"id":"c2","type":"toolCall"},{"type":"toolCall","id":""},{"type":"toolCall"},{"type":"tool_use","id":"c3"},{"type":"functionCall","id":"c4"},{"type":"toolUse","id":"c5"}]}"#,
            header("assistant", None, &["c1", "c2", "c3", "c4", "c5"], None),
        ),
        (br#"{"content":[{"type":"toolCall","id":"c1","id":"c2"}],"role":"assistant"}"#, header("assistant", None, &["c2"], None)),
        (br#"{"role":"assistant","content":[{"type":"toolCall","id":"c1"}],"content":"x"}"#, header("assistant", None, &[], None)),
        (br#"{"role":"assistant","content":[{"type":"toolCall","id":"a"},{"type":"toolCall","id":"a"}]}"#, header("assistant", None, &["a", "a"], None)),
        (
            br#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}},{"id":"b"},{}]}"#,
            header("assistant", None, &["a", "b"], None),
        ),
        (
            br#"{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}],"content":[{"type":"toolCall","id":"a"}]}"#,
            header("assistant", None, &["a", "b"], None),
        ),
        (br#"{"role":"user","content":[{"type":"toolCall","id":"c1"}]}"#, header("user", None, &[], None)),
        (br#"{"role":"toolResult","toolCallId":"c1","toolName":"update_plan","content":[],"details":{"a":1}}"#, header("toolResult", None, &[], Some("c1"))),
        (br#"{"role":"tool","tool_call_id":"c1","content":"x"}"#, header("tool", None, &[], Some("c1"))),
        (br#"{"role":"toolResult","tool_use_id":"b","toolUseId":"a"}"#, header("toolResult", None, &[], Some("a"))),
        (br#"{"role":"toolResult","toolCallId":"","tool_call_id":"x"}"#, header("toolResult", None, &[], Some("x"))),
        (br#"{"role":"toolResult","toolCallId":5}"#, header("toolResult", None, &[], None)),
        (br#"{"role":"user","toolCallId":"c1"}"#, header("user", None, &[], None)),
        (br#"{"role":"compactionSummary","summary":"s","timestamp":"2025-12-09T00:53:29.825Z"}"#, header("compactionSummary", Some(1_765_241_609_825), &[], None)),
        (br#"{"role":"compactionSummary","timestamp":"yesterday"}"#, header("compactionSummary", None, &[], None)),
        (br#"{"role":"assistant","content":[{"type":"toolCall","id":"c1"},{"type":"toolCall","id":"c2","na"#, header("assistant", None, &["c1", "c2"], None)),
        (br#"{"role":"user","timestamp":5,"content":"cut of"#, header("user", Some(5), &[], None)),
        (br#"{"role":"user"} trailing"#, header("user", None, &[], None)),
        (b"not json at all", Header::default()),
        (b"", Header::default()),
        (b"[1,2]", Header::default()),
        (br#""user""#, Header::default()),
        (b"{}", Header::default()),
    ];
    for (payload, expected) in rows {
        let shown = String::from_utf8_lossy(payload.get(..200).unwrap_or(payload)).into_owned();
        assert_eq!(derive(payload), expected, "{shown}");
    }
}

#[test]
fn iso_timestamps() {
    let rows = [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("1970-01-01", Some(0)),
        ("1969-12-31T23:59:59.999Z", Some(-1)),
        ("2000-02-29T12:00:00+02:00", Some(951_818_400_000)),
        ("2000-02-29 12:00:00-0130", Some(951_831_000_000)),
        ("2025-12-09T00:53:29.8259999Z", Some(1_765_241_609_825)),
        ("2025-12-09t00:53z", Some(1_765_241_580_000)),
        ("2025-12-09T00:53:29", Some(1_765_241_609_000)),
        ("0001-01-01T00:00:00Z", Some(-62_135_596_800_000)),
        ("9999-12-31T23:59:59Z", Some(253_402_300_799_000)),
        ("1900-02-29", None),
        ("2025-13-01", None),
        ("2025-00-01", None),
        ("2025-04-31", None),
        ("2025-12-09T24:00Z", None),
        ("2025-12-09T00:60Z", None),
        ("2025-12-09T00:00:00.Z", None),
        ("2025-12-09T00:00+99:00", None),
        ("2025-12-09T00:00Zx", None),
        ("2025-12-09T", None),
        ("２０２５-12-09", None),
        ("1796047442940", None),
        ("", None),
    ];
    for (text, expected) in rows {
        assert_eq!(timestamp::from_iso(text), expected, "{text}");
    }
}

fn any_payload() -> impl Strategy<Value = String> {
    let id = "[a-c]{0,2}";
    let block = prop_oneof![
        Just("null".to_owned()),
        id.prop_map(|id| format!(r#"{{"type":"toolCall","id":"{id}"}}"#)),
        id.prop_map(|id| format!(r#"{{"id":"{id}","type":"tool_use","input":[{{}}]}}"#)),
        ".{0,8}".prop_map(|text| serde_json::json!({"type": "text", "text": text}).to_string()),
    ];
    let member = prop_oneof![
        prop::sample::select(vec!["user", "assistant", "toolResult", "x"])
            .prop_map(|role| format!(r#""role":"{role}""#)),
        prop::collection::vec(block, 0..5)
            .prop_map(|all| format!(r#""content":[{}]"#, all.join(","))),
        id.prop_map(|id| format!(r#""toolCallId":"{id}""#)),
        any::<f64>().prop_map(|number| format!(r#""timestamp":{number:e}"#)),
        Just(r#""timestamp":1e400"#.to_owned()),
        Just(r#""x":"\ud800""#.to_owned()),
    ];
    prop::collection::vec(member, 0..8).prop_map(|members| format!("{{{}}}", members.join(",")))
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(derive(&payload));
    }

    #[test]
    fn no_cut_of_a_payload_makes_it_panic(payload in any_payload(), cut in any::<prop::sample::Index>()) {
        drop(derive(&payload.as_bytes()[..cut.index(payload.len())]));
        prop_assert_eq!(derive(payload.as_bytes()), derive(payload.as_bytes()));
    }

    #[test]
    fn a_strict_parser_reads_the_same_role_and_calls(payload in any_payload()) {
        let Ok(value) = serde_json::from_str::<serde_json::Value>(&payload) else { return Ok(()) };
        let header = derive(payload.as_bytes());
        prop_assert_eq!(&header.role, value["role"].as_str().unwrap_or_default());
        let calls: Vec<&str> = value["content"].as_array().into_iter().flatten()
            .filter(|block| header.role == "assistant" && block["type"] != "text")
            .filter_map(|block| block["id"].as_str()).filter(|id| !id.is_empty()).collect();
        prop_assert_eq!(header.tool_call_ids, calls);
    }
}
