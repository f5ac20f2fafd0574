//! Acceptance: what of a message is sent.

use contextwire_engine::tokens::IMAGE_TOKENS;
use contextwire_engine::{Message, Segment};
use contextwire_windowed::Window;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn a06_calls_of_an_aborted_message_are_not_emitted_and_its_text_is() {
    let aborted = |blocks: Value| {
        message(&json!({"role": "assistant", "content": blocks, "stopReason": "aborted"}))
    };
    let text = json!({"type": "text", "text": "I will read"});
    let transcript = list([
        user("go"),
        aborted(json!([text, call_block("a")])),
        user("again"),
        aborted(json!([call_block("b")])),
        result("b", "late"),
        user("once more"),
    ]);
    let reply = checked(&transcript, &included(1_000));
    assert_eq!(kept(&reply), [0, 2, 5]);
    let [cleaned] = &inserts(&reply)[..] else {
        panic!("one cleaned message")
    };
    assert!(!cleaned.is_synthetic());
    let payload: Value = serde_json::from_slice(cleaned.payload()).unwrap();
    assert_eq!(
        payload,
        json!({"role": "assistant", "content": [text], "stopReason": "aborted"})
    );
}

#[test]
fn a06_calls_in_the_openai_shape_go_with_their_comma() {
    for payload in [
        r#"{"tool_calls":[{"id":"a"}],"role":"assistant","stopReason":"aborted","content":"text"}"#,
        r#"{"role":"assistant","tool_calls":[{"id":"a"}],"stopReason":"aborted","content":"text"}"#,
        r#"{"role":"assistant","stopReason":"aborted","content":"text" , "tool_calls":[{"id":"a"}]}"#,
    ] {
        let transcript = list([user("go"), Message::from_payload(payload), user("again")]);
        let reply = checked(&transcript, &included(1_000));
        let cleaned: Value = serde_json::from_slice(inserts(&reply)[0].payload()).unwrap();
        let expected = json!({"role": "assistant", "stopReason": "aborted", "content": "text"});
        assert_eq!(cleaned, expected, "{payload}");
    }
}

#[test]
fn a16_nothing_empty_is_emitted() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"});
    let empty = [
        json!([]),
        json!(""),
        json!(null),
        json!([{"type": "text", "text": " \n"}]),
        json!([null]),
    ];
    for content in empty {
        let of = |role: &str| message(&json!({"role": role, "content": content}));
        let transcript = list([
            of("system"),
            user("question"),
            assistant(&content),
            of("user"),
            of("custom"),
            of("system"),
            assistant(&json!([thinking])),
            user("last"),
        ]);
        assert_eq!(
            kept(&checked(&transcript, &included(0))),
            [1, 7],
            "{content}"
        );
    }
}

#[test]
fn a16_an_empty_text_beside_a_call_is_taken_out() {
    let blocks = json!([{"type": "text", "text": ""}, call_block("a"), null]);
    let transcript = list([user("go"), assistant(&blocks), result("a", "x")]);
    let reply = checked(&transcript, &included(0));
    let cleaned: Value = serde_json::from_slice(inserts(&reply)[0].payload()).unwrap();
    assert_eq!(cleaned["content"], json!([call_block("a")]));
    assert_eq!(cleaned["model"], "claude-opus-4-5");
}

#[test]
fn a17_thinking_stays_for_its_own_model_and_goes_for_another() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"});
    let text = json!({"type": "text", "text": "answer"});
    let transcript = list([user("q"), assistant(&json!([thinking, text])), user("next")]);
    let same = [
        (None, None),
        (Some("claude-opus-4-5"), None),
        (Some("anthropic/claude-opus-4-5"), None),
        (Some("Claude-Opus-4-5"), Some("anthropic")),
    ];
    for (model, provider) in same {
        let reply = checked(
            &transcript,
            &Window {
                model,
                provider,
                ..included(0)
            },
        );
        assert_eq!(
            reply.messages.segments(),
            [Segment::Keep(0..3)],
            "{model:?}"
        );
    }
    let others = [
        (Some("gpt-5"), None),
        (Some("bedrock/claude-opus-4-5"), None),
        (Some("claude-opus-4-5"), Some("vertex")),
    ];
    for (model, provider) in others {
        let reply = checked(
            &transcript,
            &Window {
                model,
                provider,
                ..included(0)
            },
        );
        let cleaned: Value = serde_json::from_slice(inserts(&reply)[0].payload()).unwrap();
        assert_eq!(cleaned["content"], json!([text]), "{model:?}");
    }
}

#[test]
fn a22_injected_memory_of_the_current_turn_is_there_once() {
    let mut messages = turn(1);
    messages.push(user("<relevant-memories>likes tea</relevant-memories>\nhi"));
    let transcript = list(messages);
    let reply = checked(&transcript, &included(5_000));
    let memory = |m: &&Message| texts(m).contains("<relevant-memories>");
    assert_eq!(shown(&transcript, &reply).iter().filter(memory).count(), 1);
}

#[test]
fn a23_equal_texts_of_two_senders_are_two_messages() {
    let from = |sender: &str| {
        message(&json!({"role": "user", "content": "hello", "__openclaw": {"senderId": sender}}))
    };
    let transcript = list([from("ann"), from("bob")]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [0, 1]);
}

#[test]
fn a28_images_are_counted_by_rule_and_older_ones_give_way_first() {
    let image = json!({"type": "image", "data": "A".repeat(2_000_000), "mimeType": "image/png"});
    let question = json!({"role": "user", "content": [image, image, image]});
    let transcript = list([message(&question)]);
    let reply = checked(&transcript, &included(5_000));
    assert_eq!(reply.estimated_tokens, u64::from(3 * IMAGE_TOKENS + 4));

    let shot = |id: &str| {
        message(
            &json!({"role": "toolResult", "toolCallId": id, "toolName": "shot",
            "content": [image], "isError": false}),
        )
    };
    let transcript = list([
        user("look"),
        calls(&["a"]),
        shot("a"),
        calls(&["b"]),
        shot("b"),
        calls(&["c"]),
        shot("c"),
    ]);
    let reply = checked(&transcript, &included(3_600));
    assert_eq!(
        kept(&reply),
        [0, 1, 3, 4, 5, 6],
        "only the oldest image gives way"
    );
    let text = texts(&inserts(&reply)[0]);
    assert!(
        text.starts_with("[image/png of 2000") && text.len() < 60,
        "{text}"
    );
}
