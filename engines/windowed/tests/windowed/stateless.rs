//! Acceptance: no state, no identity of its own, bounded work, honest numbers.

use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{Message, Transcript};
use contextwire_windowed::{Window, fit};
use serde_json::json;

use crate::support::*;

#[test]
fn a18_unchanged_state_gives_identical_results_a_hundred_times() {
    let transcript = two_hundred_turns();
    let first = fit(&transcript, &window(7_777));
    for _ in 0..100 {
        assert_eq!(fit(&transcript, &window(7_777)), first);
    }
}

#[test]
fn c21_the_result_depends_on_the_last_turns_only_and_so_does_the_work() {
    let history = |turns: std::ops::Range<usize>| list(turns.flat_map(turn));
    let (short, long) = (history(9_900..10_000), history(0..10_000));
    let (from_short, from_long) = (fit(&short, &window(20_000)), fit(&long, &window(20_000)));
    let payloads = |list: &Transcript, reply| -> Vec<_> {
        shown(list, reply)
            .iter()
            .map(|m| m.payload().clone())
            .collect()
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
        messages.extend([
            calls(&[&id]),
            result(&id, "same text").with_entry_id(format!("r{n}")),
        ]);
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
    let with_failed = list(
        messages
            .iter()
            .cloned()
            .chain([user("failed"), answer("partly")]),
    );
    let _seen = fit(&with_failed, &included(0));
    messages.push(user("next"));
    let transcript = list(messages);
    let reply = checked(&transcript, &included(0));
    assert!(
        shown(&transcript, &reply)
            .iter()
            .all(|m| texts(m) != "failed")
    );
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
        let sum = transcript
            .iter()
            .map(|m| u64::from(estimate_message(family, m)))
            .sum::<u64>();
        let reply = checked(
            &transcript,
            &Window {
                model,
                ..included(0)
            },
        );
        assert_eq!(reply.estimated_tokens, sum);
    }
}

#[test]
fn t04_a_four_megabyte_result_is_shortened_from_its_samples() {
    let huge = "2026-11-30 INFO a line of a log\n".repeat(125_000);
    let transcript = list([user("go"), calls(&["a"]), result("a", &huge)]);
    let reply = checked(&transcript, &included(10_000));
    assert!(
        (8_000..=10_000).contains(&reply.estimated_tokens),
        "{}",
        reply.estimated_tokens
    );
    let text = texts(&inserts(&reply)[0]);
    assert!(text.starts_with("2026-11-30") && text.ends_with("a log\n"));
    assert!(text.contains("of 4000000 characters left out"));
}
