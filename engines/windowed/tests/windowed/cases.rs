//! Cases A.., C.., I.. and T.. of the acceptance table.

use contextwire_engine::tokens::{IMAGE_TOKENS, ModelFamily, estimate_message};
use contextwire_engine::{CurrentTurn, Message, Segment, Transcript};
use contextwire_windowed::{Window, fit};
use serde_json::{Value, json};

use crate::support::*;

fn two_hundred_turns() -> Transcript {
    list((0..200).flat_map(turn))
}

fn texts(message: &Message) -> String {
    let payload: Value = serde_json::from_slice(message.payload()).unwrap();
    match &payload["content"] {
        Value::String(text) => text.clone(),
        blocks => {
            let blocks = blocks.as_array().cloned().unwrap_or_default();
            blocks.iter().filter_map(|block| block["text"].as_str()).collect()
        }
    }
}

#[test]
fn a01_no_budget_splits_a_pair_or_needs_an_invented_result() {
    let transcript = two_hundred_turns();
    for budget in (500..=60_000).step_by(500) {
        let reply = checked(&transcript, &window(budget));
        assert!(inserts(&reply).iter().all(|message| !message.is_synthetic()), "{budget}");
    }
}

#[test]
fn a02_the_result_is_within_the_budget_and_uses_most_of_it() {
    let reply = checked(&two_hundred_turns(), &window(12_000));
    assert!((11_000..=12_000).contains(&reply.estimated_tokens), "{}", reply.estimated_tokens);
    assert!(!is_flagged(&reply));
}

#[test]
fn a04_results_follow_their_message_each_once() {
    let messages =
        [user("go"), calls(&["a", "b", "c"]), result("c", "3"), result("a", "1"), result("b", "2")];
    let transcript = list(messages);
    let reply = checked(&transcript, &included(1_000));
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..5)]);
}

#[test]
fn a05_a_call_that_nobody_answered_gets_a_result_that_says_so() {
    let transcript = list([user("go"), calls(&["a", "b"]), result("b", "2"), user("and now?")]);
    let reply = checked(&transcript, &included(1_000));
    let [Segment::Keep(before), Segment::Insert(missing), Segment::Keep(after)] =
        reply.messages.segments()
    else {
        panic!("{:?}", reply.messages.segments())
    };
    assert_eq!((before.clone(), after.clone()), (0..3, 3..4));
    assert!(missing.is_synthetic());
    assert_eq!(missing.tool_result_for(), Some("a"));
    let payload: Value = serde_json::from_slice(missing.payload()).unwrap();
    assert_eq!(payload["isError"], true);
    assert_eq!(payload["toolName"], "read");
    assert!(texts(missing).contains("No result was recorded"));
}

#[test]
fn a05_a_call_in_the_openai_shape_is_answered_in_that_shape() {
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let transcript = list([user("go"), message(&call), user("and now?")]);
    let inserted = inserts(&checked(&transcript, &included(1_000)));
    assert_eq!(inserted[0].role(), "tool");
    assert_eq!(inserted[0].tool_result_for(), Some("a"));
}

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
    let [cleaned] = &inserts(&reply)[..] else { panic!("one cleaned message") };
    assert!(!cleaned.is_synthetic());
    let payload: Value = serde_json::from_slice(cleaned.payload()).unwrap();
    assert_eq!(payload, json!({"role": "assistant", "content": [text], "stopReason": "aborted"}));
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
fn a07_an_id_used_again_keeps_both_pairs_in_place() {
    let transcript = list([
        user("one"),
        calls(&["a"]),
        result("a", "first"),
        user("two"),
        calls(&["a"]),
        result("a", "second"),
    ]);
    let reply = checked(&transcript, &included(1_000));
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..6)]);
    assert_eq!(kept(&checked(&transcript, &included(60))), [3, 4, 5]);
}

#[test]
fn a11_the_window_never_starts_with_a_result() {
    let mut messages: Vec<_> = (0..30).flat_map(turn).collect();
    messages.extend([user("x"), calls(&["edge"]), result("edge", &words(50))]);
    messages.extend((0..63).map(|n| if n % 2 == 0 { answer("step") } else { user("go on") }));
    let transcript = list(messages);
    for budget in 300..1_200 {
        checked(&transcript, &window(budget));
    }
}

#[test]
fn a12_the_whole_newest_turn_is_there_however_long() {
    let mut messages: Vec<_> = (0..20).flat_map(turn).collect();
    messages.push(user("the newest question"));
    for n in 0..60 {
        let id = format!("n{n}");
        messages.extend([calls(&[&id]), result(&id, &words(40))]);
    }
    let transcript = list(messages);
    let reply = checked(&transcript, &included(6_000));
    let kept = kept(&reply);
    assert!((120..241).all(|index| kept.contains(&index)));
    assert!(!is_flagged(&reply));
}

#[test]
fn a13_a_turn_over_the_budget_loses_payload_before_anything_else() {
    let mut messages: Vec<_> = (0..20).flat_map(turn).collect();
    let question = format!("the newest question: {}", words(200));
    messages.push(user(&question));
    for n in 0..10 {
        let id = format!("n{n}");
        messages.extend([calls(&[&id]), result(&id, &words(if n == 3 { 9_000 } else { 400 }))]);
    }
    let transcript = list(messages);
    let reply = checked(&transcript, &included(6_000));
    assert!((5_500..=6_000).contains(&reply.estimated_tokens), "{}", reply.estimated_tokens);
    assert!(!is_flagged(&reply), "it fits once the result is shortened");
    let [short] = &inserts(&reply)[..] else { panic!("only the long result is shortened") };
    assert_eq!(short.tool_result_for(), Some("n3"));
    assert!(texts(short).contains("of 45000 characters left out"));
    assert!(shown(&transcript, &reply).iter().any(|message| texts(message) == question));
    let tight = checked(&transcript, &included(2_600));
    assert_eq!(tight.messages.len(), 21, "all units stay while shortening suffices");
    assert!(!is_flagged(&tight));
    let over = checked(&transcript, &included(250));
    assert!(is_flagged(&over));
    assert_eq!(shown(&transcript, &over).first().map(texts), Some(question));
}

#[test]
fn a14_a_history_without_a_user_starts_with_an_invented_one() {
    let agent: Vec<_> = (0..50)
        .flat_map(|n| {
            let id = format!("c{n}");
            [calls(&[&id]), result(&id, &words(50))]
        })
        .collect();
    let transcript = list(agent);
    for (budget, current_turn) in
        [(0, CurrentTurn::Excluded), (0, CurrentTurn::Included), (900, CurrentTurn::Included)]
    {
        let reply = checked(&transcript, &Window { current_turn, ..window(budget) });
        let out = shown(&transcript, &reply);
        assert!(out[0].is_synthetic() && out[0].role() == "user");
        assert_eq!(out.len(), if budget == 0 { 101 } else { 1 + 2 * ((out.len() - 1) / 2) });
        assert!(out.len() > 8);
    }
    assert_eq!(fit(&Transcript::new(), &included(100)).messages.len(), 0);
    assert_eq!(fit(&list([answer("hi")]), &included(100)).messages.len(), 0);
}

#[test]
fn a14_a_greeting_before_the_first_user_stays_behind_an_invented_one() {
    let transcript = list([answer("Welcome!"), user("hi")]);
    let reply = checked(&transcript, &included(0));
    assert_eq!(kept(&reply), [0, 1]);
    assert!(shown(&transcript, &reply)[0].is_synthetic());
}

#[test]
fn a15_the_prompt_is_there_once_where_the_view_holds_it_and_not_otherwise() {
    let before: Vec<_> = turn(1);
    let mut with_prompt = before.clone();
    with_prompt.push(user("the prompt"));
    let count = |transcript: &Transcript, window: &Window<'_>| {
        let reply = checked(transcript, window);
        shown(transcript, &reply).iter().filter(|m| texts(m) == "the prompt").count()
    };
    assert_eq!(count(&list(with_prompt), &included(5_000)), 1);
    assert_eq!(count(&list(before), &window(5_000)), 0);
}

#[test]
fn a16_nothing_empty_is_emitted() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"});
    let empty = [json!([]), json!(""), json!(null), json!([{"type": "text", "text": " \n"}]), json!([null])];
    let mut messages = Vec::new();
    for content in empty {
        messages.push(user("question"));
        messages.push(assistant(&content));
        for role in ["user", "system", "custom"] {
            messages.push(message(&json!({"role": role, "content": content})));
        }
    }
    messages.extend([user("question"), assistant(&json!([thinking])), user("last")]);
    let reply = checked(&list(messages), &included(0));
    assert_eq!(kept(&reply), [0, 5, 10, 15, 20, 25, 27]);
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
        let reply = checked(&transcript, &Window { model, provider, ..included(0) });
        assert_eq!(reply.messages.segments(), [Segment::Keep(0..3)], "{model:?}");
    }
    let others = [
        (Some("gpt-5"), None),
        (Some("bedrock/claude-opus-4-5"), None),
        (Some("claude-opus-4-5"), Some("vertex")),
    ];
    for (model, provider) in others {
        let reply = checked(&transcript, &Window { model, provider, ..included(0) });
        let cleaned: Value = serde_json::from_slice(inserts(&reply)[0].payload()).unwrap();
        assert_eq!(cleaned["content"], json!([text]), "{model:?}");
    }
}

#[test]
fn a18_unchanged_state_gives_identical_results_a_hundred_times() {
    let transcript = two_hundred_turns();
    let first = fit(&transcript, &window(7_777));
    for _ in 0..100 {
        assert_eq!(fit(&transcript, &window(7_777)), first);
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
fn a24_instructions_at_the_head_come_first_and_count() {
    let mut messages = vec![
        system(&words(500)),
        message(&json!({"role": "developer", "content": words(300)})),
    ];
    messages.extend((0..50).flat_map(turn));
    let transcript = list(messages);
    for budget in [1_000, 2_000, 5_000] {
        let reply = checked(&transcript, &window(budget));
        assert_eq!(kept(&reply)[..2], [0, 1]);
        assert!(reply.estimated_tokens <= budget || is_flagged(&reply));
    }
}

#[test]
fn a_summary_at_the_head_stays_while_there_is_room() {
    let summary = message(&json!({"role": "compactionSummary", "summary": words(200), "tokensBefore": 9}));
    let mut messages = vec![system("be brief"), summary];
    messages.extend((0..50).flat_map(turn));
    let transcript = list(messages);
    assert_eq!(kept(&checked(&transcript, &window(3_000)))[..2], [0, 1]);
    assert_eq!(kept(&checked(&transcript, &window(950)))[..1], [0]);
    assert!(!kept(&checked(&transcript, &window(950))).contains(&1));
}

#[test]
fn a28_images_are_counted_by_rule_and_older_ones_give_way_first() {
    let image = json!({"type": "image", "data": "A".repeat(2_000_000), "mimeType": "image/png"});
    let question = json!({"role": "user", "content": [image, image, image]});
    let transcript = list([message(&question)]);
    let reply = checked(&transcript, &included(5_000));
    assert_eq!(reply.estimated_tokens, u64::from(3 * IMAGE_TOKENS + 4));

    let shot = |id: &str| {
        message(&json!({"role": "toolResult", "toolCallId": id, "toolName": "shot",
            "content": [image], "isError": false}))
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
    assert_eq!(kept(&reply), [0, 1, 3, 4, 5, 6], "only the oldest image gives way");
    let text = texts(&inserts(&reply)[0]);
    assert!(text.starts_with("[image/png of 2000") && text.len() < 60, "{text}");
}

#[test]
fn c21_the_result_depends_on_the_last_turns_only_and_so_does_the_work() {
    let history = |turns: std::ops::Range<usize>| list(turns.flat_map(turn));
    let (short, long) = (history(9_900..10_000), history(0..10_000));
    let (from_short, from_long) = (fit(&short, &window(20_000)), fit(&long, &window(20_000)));
    let payloads = |list: &Transcript, reply| -> Vec<_> {
        shown(list, reply).iter().map(|m| m.payload().clone()).collect()
    };
    assert_eq!(payloads(&short, &from_short), payloads(&long, &from_long));
    // A message that was counted remembers its count; older ones were never looked at.
    let counted = |m: &&Message| m.cached_tokens(ModelFamily::Other, || u32::MAX) != u32::MAX;
    let looked_at = long.iter().filter(counted).count();
    assert!(looked_at < 2_000, "{looked_at} of {}", long.len());
}

#[test]
fn i05_five_equal_messages_with_distinct_ids_are_five_messages() {
    let transcript = list((0..5).map(|n| user("ok").with_entry_id(format!("e{n}"))));
    assert_eq!(kept(&checked(&transcript, &included(0))), [0, 1, 2, 3, 4]);
    let without_ids = list((0..5).map(|_| user("ok")));
    assert_eq!(checked(&without_ids, &included(0)).messages.len(), 5);
}

#[test]
fn i06_a_hundred_equal_results_stay_a_hundred() {
    let mut messages = vec![user("go")];
    for n in 0..100 {
        let id = format!("c{n}");
        messages.extend([calls(&[&id]), result(&id, "same text").with_entry_id(format!("r{n}"))]);
    }
    assert_eq!(checked(&list(messages), &included(0)).messages.len(), 201);
}

#[test]
fn i07_an_entry_sent_again_with_another_text_is_one_message() {
    let transcript = list([
        user("hi").with_entry_id("e1"),
        user("<ctx>note</ctx>hi").with_entry_id("e1"),
    ]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [1]);
}

#[test]
fn i11_an_idle_heartbeat_is_left_out_and_one_with_content_is_kept() {
    let poll = || user("Read HEARTBEAT.md. If nothing needs attention, reply HEARTBEAT_OK.");
    let transcript = list([
        user("hello"),
        answer("hi"),
        poll(),
        answer(" HEARTBEAT_OK\n"),
        poll(),
        answer("HEARTBEAT_OK, and the build is red"),
        poll(),
        answer("HEARTBEAT_OK"),
        user("what is up?"),
    ]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [0, 1, 4, 5, 8]);
    let polled_now = list([user("hello"), answer("hi"), poll()]);
    assert_eq!(kept(&checked(&polled_now, &included(0))), [0, 1, 2]);
}

#[test]
fn i12_nothing_of_a_turn_that_the_host_dropped_comes_back() {
    let mut messages = turn(1);
    let with_failed = list(messages.iter().cloned().chain([user("failed"), answer("partly")]));
    let _seen = fit(&with_failed, &included(0));
    messages.push(user("next"));
    let transcript = list(messages);
    let reply = checked(&transcript, &included(0));
    assert!(shown(&transcript, &reply).iter().all(|m| texts(m) != "failed"));
}

#[test]
fn i13_an_empty_answer_with_an_error_is_not_shown() {
    let failed = message(&json!({"role": "assistant", "content": [], "stopReason": "error"}));
    let transcript = list([user("q"), failed, user("again")]);
    assert_eq!(kept(&checked(&transcript, &included(0))), [0, 2]);
}

#[test]
fn t01_t03_the_estimate_of_a_result_is_the_sum_over_its_messages() {
    let transcript = list([user(&words(100)), answer(&words(50)), user("so?")]);
    for model in [None, Some("gpt-4o"), Some("gpt-4")] {
        let family = ModelFamily::of_model(model);
        let sum = transcript.iter().map(|m| u64::from(estimate_message(family, m))).sum::<u64>();
        let reply = checked(&transcript, &Window { model, ..included(0) });
        assert_eq!(reply.estimated_tokens, sum);
    }
}

#[test]
fn t04_a_four_megabyte_result_is_shortened_from_its_samples() {
    let huge = "2026-11-30 INFO a line of a log\n".repeat(125_000);
    let transcript = list([user("go"), calls(&["a"]), result("a", &huge)]);
    let reply = checked(&transcript, &included(10_000));
    assert!((8_000..=10_000).contains(&reply.estimated_tokens), "{}", reply.estimated_tokens);
    let text = texts(&inserts(&reply)[0]);
    assert!(text.starts_with("2026-11-30") && text.ends_with("a log\n"));
    assert!(text.contains("of 4000000 characters left out"));
}
