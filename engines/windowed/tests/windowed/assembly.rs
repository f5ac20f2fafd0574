//! Acceptance: what is chosen for a budget.

use contextwire_engine::{CurrentTurn, Segment, Transcript};
use contextwire_windowed::{Window, fit};
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn a01_no_budget_splits_a_pair_or_needs_an_invented_result() {
    let transcript = two_hundred_turns();
    for budget in (500..=60_000).step_by(500) {
        let reply = checked(&transcript, &window(budget));
        assert!(
            inserts(&reply)
                .iter()
                .all(|message| !message.is_synthetic()),
            "{budget}"
        );
    }
}

#[test]
fn a02_the_result_is_within_the_budget_and_uses_most_of_it() {
    let reply = checked(&two_hundred_turns(), &window(12_000));
    assert!(
        (11_000..=12_000).contains(&reply.estimated_tokens),
        "{}",
        reply.estimated_tokens
    );
    assert!(!is_flagged(&reply));
}

#[test]
fn a02_a_model_with_an_unknown_encoding_is_filled_by_the_upper_bound() {
    let model = Some("claude-opus-4-5");
    let reply = checked(
        &two_hundred_turns(),
        &Window {
            model,
            ..window(12_000)
        },
    );
    assert!(
        (8_800..=9_600).contains(&reply.estimated_tokens),
        "{}",
        reply.estimated_tokens
    );
}

#[test]
fn a04_results_follow_their_message_each_once() {
    let messages = [
        user("go"),
        calls(&["a", "b", "c"]),
        result("c", "3"),
        result("a", "1"),
        result("b", "2"),
    ];
    let transcript = list(messages);
    let reply = checked(&transcript, &included(1_000));
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..5)]);
}

#[test]
fn a05_a_call_that_nobody_answered_gets_a_result_that_says_so() {
    let transcript = list([
        user("go"),
        calls(&["a", "b"]),
        result("b", "2"),
        user("and now?"),
    ]);
    let reply = checked(&transcript, &included(1_000));
    let [
        Segment::Keep(before),
        Segment::Insert(missing),
        Segment::Keep(after),
    ] = reply.messages.segments()
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
    messages.extend((0..63).map(|n| {
        if n % 2 == 0 {
            answer("step")
        } else {
            user("go on")
        }
    }));
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
        messages.extend([
            calls(&[&id]),
            result(&id, &words(if n == 3 { 9_000 } else { 400 })),
        ]);
    }
    let transcript = list(messages);
    let reply = checked(&transcript, &included(6_000));
    assert!(
        (5_500..=6_000).contains(&reply.estimated_tokens),
        "{}",
        reply.estimated_tokens
    );
    assert!(!is_flagged(&reply), "it fits once the result is shortened");
    let [short] = &inserts(&reply)[..] else {
        panic!("only the long result is shortened")
    };
    assert_eq!(short.tool_result_for(), Some("n3"));
    assert!(texts(short).contains("of 45000 characters left out"));
    assert!(
        shown(&transcript, &reply)
            .iter()
            .any(|message| texts(message) == question)
    );
    let tight = checked(&transcript, &included(2_600));
    assert_eq!(
        tight.messages.len(),
        21,
        "all units stay while shortening suffices"
    );
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
    for (budget, current_turn) in [
        (0, CurrentTurn::Excluded),
        (0, CurrentTurn::Included),
        (900, CurrentTurn::Included),
    ] {
        let reply = checked(
            &transcript,
            &Window {
                current_turn,
                ..window(budget)
            },
        );
        let out = shown(&transcript, &reply);
        assert!(out[0].is_synthetic() && out[0].role() == "user");
        assert_eq!(
            out.len(),
            if budget == 0 {
                101
            } else {
                1 + 2 * ((out.len() - 1) / 2)
            }
        );
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
        shown(transcript, &reply)
            .iter()
            .filter(|m| texts(m) == "the prompt")
            .count()
    };
    assert_eq!(count(&list(with_prompt), &included(5_000)), 1);
    assert_eq!(count(&list(before), &window(5_000)), 0);
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
    let summary =
        message(&json!({"role": "compactionSummary", "summary": words(200), "tokensBefore": 9}));
    let mut messages = vec![system("be brief"), summary];
    messages.extend((0..50).flat_map(turn));
    let transcript = list(messages);
    assert_eq!(kept(&checked(&transcript, &window(3_000)))[..2], [0, 1]);
    assert_eq!(kept(&checked(&transcript, &window(950)))[..1], [0]);
    assert!(!kept(&checked(&transcript, &window(950))).contains(&1));
}
