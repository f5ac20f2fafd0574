//! Faults that users of other engines reported, each as the smallest input that shows it.

use contextwire_engine::{Message, Segment, Transcript};
use contextwire_windowed::{Window, fit};
use serde_json::{Value, json};

use crate::support::*;

fn payload(message: &Message) -> Value {
    serde_json::from_slice(message.payload()).unwrap()
}

fn image(bytes: usize) -> Value {
    json!({"type": "image", "data": "A".repeat(bytes), "mimeType": "image/png"})
}

#[test]
fn br_017_the_live_form_of_the_current_turn_is_passed_on() {
    let live = r#"{"role":"user","content":[{"type":"text","text":"<ctx>note</ctx>"},{"type":"text","text":"hi"}]}"#;
    let transcript = list([user("before"), answer("yes"), Message::from_payload(live)]);
    let reply = checked(&transcript, &included(500));
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..3)]);
}

#[test]
fn br_081_image_count_and_bytes_are_bounded_newest_kept() {
    let rounds = |count: usize, bytes: usize| {
        let mut messages = vec![user("look")];
        for n in 0..count {
            let id = format!("c{n}");
            let shot = json!({"role": "toolResult", "toolCallId": id, "toolName": "shot", "content": [image(bytes)]});
            messages.extend([calls(&[&id]), message(&shot)]);
        }
        list(messages)
    };
    let images = |transcript: &Transcript| -> Vec<bool> {
        let reply = checked(transcript, &included(0));
        let out = shown(transcript, &reply);
        let results = out.iter().filter(|m| m.tool_result_for().is_some());
        results
            .map(|m| payload(m)["content"][0]["type"] == "image")
            .collect()
    };
    let many = images(&rounds(60, 100));
    assert_eq!(many, (0..60).map(|n| n >= 40).collect::<Vec<_>>());
    assert_eq!(images(&rounds(3, 15_000_000)), [false, false, true]);
}

#[test]
fn br_085_a_result_before_its_call_is_moved_behind_it() {
    let transcript = list([
        user("go"),
        result("c1", "ok"),
        calls(&["c1"]),
        answer("done"),
        user("x"),
    ]);
    let reply = checked(&transcript, &included(0));
    assert_eq!(kept(&reply), [0, 2, 1, 3, 4]);
    assert_eq!(inserts(&reply), []);
}

#[test]
fn br_085_a_result_behind_the_users_next_message_is_moved_to_its_call() {
    let mut messages = turn(1);
    messages.extend([
        user(&words(100)),
        calls(&["slow"]),
        user("wait, also this"),
        result("slow", "ok"),
    ]);
    let transcript = list(messages);
    assert_eq!(kept(&checked(&transcript, &included(0)))[6..], [6, 7, 9, 8]);
    // The running call stays where nothing older fits.
    assert_eq!(kept(&checked(&transcript, &included(200))), [6, 7, 9, 8]);
    let reply = checked(&transcript, &included(90));
    assert_eq!(kept(&reply), [7, 9, 8]);
    assert!(shown(&transcript, &reply)[0].is_synthetic());
}

#[test]
fn br_086_a_result_without_content_keeps_its_id_and_gets_a_placeholder() {
    let empty = r#"{"role":"toolResult","toolCallId":"c1","toolName":"update_plan","content":[],"details":{"a":1}}"#;
    for source in [
        empty,
        &empty.replace("[]", "null"),
        &empty.replace(r#""content":[],"#, ""),
    ] {
        let result = Message::from_payload(source.to_owned());
        let transcript = list([user("go"), calls(&["c1"]), result]);
        let reply = checked(&transcript, &included(0));
        let [placeholder] = &inserts(&reply)[..] else {
            panic!("one insert: {source}")
        };
        assert!(!placeholder.is_synthetic());
        let expected = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "update_plan",
            "content": [{"type": "text", "text": "(no output)"}], "details": {"a": 1}});
        assert_eq!(payload(placeholder), expected);
    }
}

#[test]
fn br_088_an_unanswered_call_in_the_middle_does_not_poison_later_requests() {
    let transcript = list([user("go"), calls(&["c1"]), user("hello")]);
    let reply = checked(
        &transcript,
        &Window {
            model: Some("gpt-5"),
            ..included(0)
        },
    );
    assert_eq!(shown(&transcript, &reply).len(), 4);
}

#[test]
fn br_089_a_call_and_its_result_are_kept_or_dropped_together() {
    let transcript = list([
        user(&words(20)),
        calls(&["c1"]),
        result("c1", &words(20)),
        answer(&words(20)),
        user(&words(20)),
    ]);
    for budget in 1..200 {
        let reply = checked(&transcript, &included(budget));
        let kept = kept(&reply);
        assert_eq!(kept.contains(&1), kept.contains(&2), "{budget}");
    }
}

#[test]
fn br_091_no_empty_message_of_any_role() {
    let transcript = list([
        user("q"),
        message(&json!({"role": "user", "content": []})),
        message(&json!({"role": "assistant", "content": ""})),
        message(&json!({"role": "assistant", "content": null})),
        message(&json!({"role": "custom", "content": []})),
        message(&json!({"role": "branchSummary", "summary": " "})),
    ]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [0]);
}

#[test]
fn br_092_empty_answers_of_provider_errors_are_not_shown_and_partial_text_is() {
    let failed = |content: Value| {
        message(&json!({"role": "assistant", "content": content, "stopReason": "error"}))
    };
    let mut messages = vec![user("q")];
    messages.extend((0..20).map(|_| failed(json!([]))));
    messages.push(failed(json!([{"type": "text", "text": "the answer is"}])));
    messages.push(user("go on"));
    assert_eq!(kept(&checked(&list(messages), &included(0))), [0, 21, 22]);
}

#[test]
fn br_093_a_message_of_reasoning_alone_is_dropped() {
    let thinking = json!([{"type": "thinking", "thinking": "…", "thinkingSignature": "s"}]);
    let transcript = list([user("q"), assistant(&thinking), answer("a"), user("r")]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [0, 2, 3]);
}

#[test]
fn br_094_signed_reasoning_in_the_active_tail_is_byte_identical() {
    let thinking = json!({"type": "thinking", "thinking": "why", "thinkingSignature": "s1"});
    let mut messages: Vec<_> = (0..20).flat_map(turn).collect();
    messages.extend([
        user("q"),
        assistant(&json!([thinking, call_block("c1")])),
        result("c1", &words(5_000)),
    ]);
    let transcript = list(messages);
    for budget in [300, 1_000, 8_000] {
        let model = Some("claude-opus-4-5");
        let reply = checked(
            &transcript,
            &Window {
                model,
                ..included(budget)
            },
        );
        assert!(kept(&reply).contains(&121), "{budget}");
    }
}

#[test]
fn br_095_no_result_ends_in_an_answer_where_the_view_holds_the_prompt() {
    let states = [
        list([]),
        list([answer("hi")]),
        list([user("q"), answer("a")]),
        list([
            user("q"),
            calls(&["c"]),
            result("c", "x"),
            answer("a"),
            answer("b"),
        ]),
        list((0..30).flat_map(turn)),
    ];
    for transcript in states {
        for budget in [0, 50, 2_000] {
            checked(&transcript, &included(budget));
        }
    }
    let transcript = list([user("q"), answer("a")]);
    assert_eq!(
        kept(&checked(&transcript, &window(0))),
        [0, 1],
        "the host appends the prompt"
    );
}

#[test]
fn br_097_lone_surrogates_are_passed_on_and_never_made() {
    let lone = Message::from_payload(r#"{"role":"user","content":"ok \ud83c"}"#);
    let smileys = result("c", &"aaaa😀".repeat(5_000));
    let transcript = list([lone, calls(&["c"]), smileys]);
    for budget in 200..260 {
        let reply = checked(&transcript, &included(budget));
        assert!(kept(&reply).contains(&0));
        let short = &inserts(&reply)[0];
        let text = payload(short)["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(!text.contains(char::REPLACEMENT_CHARACTER));
    }
}

#[test]
fn br_100_a_newest_turn_over_the_budget_loses_its_oldest_parts() {
    let mut messages = vec![user(&words(400))];
    messages.extend((0..3).flat_map(|n| {
        let id = format!("c{n}");
        let thinking = json!([{"type": "text", "text": words(370)}, call_block(&id)]);
        [assistant(&thinking), result(&id, &words(390))]
    }));
    messages.push(answer(&words(400)));
    let transcript = list(messages);
    let reply = checked(&transcript, &window(1_000));
    assert!(reply.estimated_tokens <= 1_000);
    assert_eq!(kept(&reply), [0, 7]);
    assert!(is_flagged(&reply), "a part of the newest turn is missing");
}

#[test]
fn br_101_chinese_is_counted_by_its_tokens() {
    let chinese = "上下文引擎决定模型能够看到什么内容".repeat(236);
    assert!(chinese.chars().count() >= 4_000);
    let transcript = list([user("q"), calls(&["c"]), result("c", &chinese)]);
    let whole = fit(&transcript, &included(0));
    assert!(whole.estimated_tokens > 2_000, "{}", whole.estimated_tokens);
    assert!(checked(&transcript, &included(2_000)).estimated_tokens <= 2_000);
}

#[test]
fn br_103_a_fresh_image_is_an_image_and_an_old_one_a_reference() {
    let shown_image =
        message(&json!({"role": "user", "content": [{"type": "text", "text": "see"}, image(900)]}));
    let fresh = list([shown_image.clone()]);
    assert_eq!(kept(&checked(&fresh, &included(0))), [0]);
    let mut messages = vec![shown_image];
    messages.extend((0..50).flat_map(turn));
    let transcript = list(messages);
    let old = payload(&inserts(&checked(&transcript, &included(0)))[0]);
    assert_eq!(old["content"][0]["text"], "see");
    let text = old["content"][1]["text"].as_str().unwrap();
    assert!(
        text.starts_with("[image/png of ") && text.len() < 60,
        "{text}"
    );
}

#[test]
fn br_131_a_fixed_part_over_the_budget_gives_the_smallest_valid_list_and_says_so() {
    let transcript = list([
        system(&words(300)),
        user("old"),
        answer("x"),
        user(&words(300)),
    ]);
    let reply = checked(&transcript, &included(100));
    assert_eq!(kept(&reply), [0, 3]);
    assert!(is_flagged(&reply));
    for none in [0, 100_000] {
        let reply = checked(&transcript, &included(none));
        assert_eq!(reply.messages.segments(), [Segment::Keep(0..4)]);
        assert!(!is_flagged(&reply));
    }
}
