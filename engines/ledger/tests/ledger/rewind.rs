//! Hosts that go back in their log: what they left stays out, what they have not shown yet stays.

use contextwire_engine::{ContextEngine, HostLog, Transcript};

use super::support::*;

fn words(words: &[&str]) -> Transcript {
    words.iter().map(|word| text(word)).collect()
}

fn third() -> contextwire_engine::CommitTurn {
    turn("third", 5, vec![entry("u3"), entry("a3")])
}

#[tokio::test]
async fn r7_9_a_committed_turn_that_the_host_replaced_leaves_the_log() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1", "a1", "u2", "a2"])).await;
    commit(&engine, third()).await;
    let rewound = ["u1", "a1", "u2", "a2", "u3b", "a3b"];
    after_turn(&engine, &ordered(1, 2), list(&rewound)).await;
    assert_eq!(place.ids(), rewound);
    assert_eq!(place.log().placed, place.log().total);
    bootstrap(&engine, &ordered(2, 1), list(&rewound)).await;
    assert_eq!(place.ids(), rewound);
}

#[tokio::test]
async fn r7_9_a_committed_turn_whose_ground_the_host_took_away_leaves_the_log() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1", "a1", "u2", "a2"])).await;
    commit(&engine, third()).await;
    after_turn(&engine, &ordered(1, 2), list(&["u1", "a1"])).await;
    assert_eq!(place.ids(), ["u1", "a1"]);
}

#[tokio::test]
async fn r7_9_a_read_that_brings_the_newer_log_takes_a_replaced_turn_out() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1"])).await;
    commit(&engine, third()).await;
    let log = list(&["u1", "u3b"]);
    let mut cx = ordered(1, 1);
    cx.log_head = Some(log.state());
    cx.log = HostLog::new(log);
    engine.assemble(&cx, <_>::default()).await.unwrap();
    assert_eq!(place.ids(), ["u1", "u3b"]);
}

#[tokio::test]
async fn a_commit_that_crossed_a_log_made_before_it_is_not_lost() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1", "a1"])).await;
    // Made before the turn was committed, and delivered after it; it even has news of its own.
    let crossing = ordered(1, 2);
    commit(&engine, third()).await;
    after_turn(&engine, &crossing, list(&["u1", "a1", "missed"])).await;
    assert_eq!(place.ids(), ["u1", "a1", "missed", "u3", "a3"]);
}

#[tokio::test]
async fn a_turn_that_a_newer_log_ends_before_is_not_lost() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1", "a1"])).await;
    commit(&engine, turn("second", 3, vec![entry("u2"), entry("a2")])).await;
    commit(&engine, third()).await;
    after_turn(&engine, &ordered(1, 2), list(&["u1", "a1", "u2", "a2"])).await;
    assert_eq!(place.ids(), ["u1", "a1", "u2", "a2", "u3", "a3"]);
}

#[tokio::test]
async fn a_log_that_may_only_extend_takes_nothing_out_of_the_tail() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u1"])).await;
    commit(&engine, third()).await;
    after_turn(&engine, &call(), list(&["u1", "u3b"])).await;
    assert_eq!(place.ids(), ["u1", "u3b", "u3", "a3"]);
}

#[tokio::test]
async fn r7_9_a_delayed_commit_of_an_abandoned_turn_does_not_come_back() {
    let place = Place::new();
    let engine = place.open();
    let before = ["u1", "a1", "u3", "a3"];
    bootstrap(&engine, &ordered(1, 1), list(&before)).await;
    let rewound = ["u1", "a1", "u3b", "a3b"];
    after_turn(&engine, &ordered(1, 2), list(&rewound)).await;
    commit(&engine, third()).await;
    assert_eq!(place.ids(), rewound);
    let grown = turn("grown", 5, vec![entry("u3"), entry("tool"), entry("a3")]);
    commit(&engine, grown).await;
    assert_eq!(
        place.ids(),
        rewound,
        "with its first message the whole turn"
    );
    // A host that goes back to the other branch has it again.
    after_turn(&engine, &ordered(1, 3), list(&before)).await;
    assert_eq!(place.ids(), before);
}

#[tokio::test]
async fn r7_9_an_answer_that_was_made_anew_does_not_come_back_with_its_turn() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["u3", "a3"])).await;
    after_turn(&engine, &ordered(1, 2), list(&["u3", "a3b"])).await;
    commit(&engine, third()).await;
    assert_eq!(place.ids(), ["u3", "a3b"]);
}

#[tokio::test]
async fn r7_9_without_ids_a_delayed_commit_loses_and_an_equal_new_turn_does_not() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), words(&["go", "yes", "done"])).await;
    let delayed = call();
    after_turn(&engine, &ordered(1, 2), words(&["go", "no"])).await;
    let same = |key| turn(key, 5, vec![text("yes"), text("done")]);
    engine.commit_turn(&delayed, same("old")).await.unwrap();
    assert_eq!(place.texts(), ["go", "no"]);
    commit(&engine, same("new")).await;
    assert_eq!(place.texts(), ["go", "no", "yes", "done"]);
}

#[tokio::test]
async fn r7_9_a_delayed_message_neither_comes_back_nor_corrects_what_is_newer() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["a", "b", "c"])).await;
    let (left, old) = (call(), call());
    let edited = text("edited").with_entry_id("b");
    let log: Transcript = [entry("a"), edited].into_iter().collect();
    after_turn(&engine, &ordered(1, 2), log).await;
    assert!(!ingest_as(&engine, &left, entry("c")).await.unwrap());
    assert!(!ingest_as(&engine, &old, entry("b")).await.unwrap());
    assert_eq!(place.texts(), ["a", "edited"]);
    assert!(ingest(&engine, entry("c")).await, "a new call may");
}

#[tokio::test]
async fn r2_3_without_ids_what_came_after_a_shorter_log_is_known() {
    let place = Place::new();
    let engine = place.open();
    let ten: Vec<String> = (0..10).map(|n| format!("m{n}")).collect();
    let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
    bootstrap(&engine, &ordered(1, 1), words(&ten)).await;
    after_turn(&engine, &ordered(1, 2), words(&["m0", "m1"])).await;
    commit(&engine, turn("t", 20, vec![text("u3"), text("a3")])).await;
    for word in ["u3", "a3"] {
        assert!(!ingest(&engine, text(word)).await);
    }
    assert_eq!(place.texts(), ["m0", "m1", "u3", "a3"]);
}

#[tokio::test]
async fn r2_3_without_ids_what_the_same_process_uploads_in_the_background_is_known() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), words(&["a"])).await;
    let mut upload = call();
    upload.order = Some(contextwire_engine::Order {
        host_epoch: 1,
        session_seq: None,
    });
    let request = contextwire_engine::Bootstrap {
        transcript: words(&["a", "b"]),
        background: true,
        ..<_>::default()
    };
    engine.bootstrap(&upload, request).await.unwrap();
    assert!(!ingest(&engine, text("b")).await);
    assert_eq!(place.texts(), ["a", "b"]);
    // A LOG that is refused begins no process either.
    let refused = bootstrap(&engine, &call(), words(&["x"])).await;
    assert!(!refused.bootstrapped);
    // The next process has another "b".
    bootstrap(&engine, &ordered(2, 1), words(&["a", "b"])).await;
    assert!(ingest(&engine, text("b")).await);
    assert_eq!(place.texts(), ["a", "b", "b"]);
}

#[tokio::test]
async fn e_idm_12_without_ids_turns_that_begin_alike_find_their_own_entries_in_any_order() {
    for order in [[0, 1], [1, 0]] {
        let place = Place::new();
        let engine = place.open();
        for word in ["yes", "a1", "yes", "a2"] {
            ingest(&engine, text(word)).await;
        }
        for which in order {
            let (key, raw_seq, answer) = [("one", 1, "a1"), ("two", 3, "a2")][which];
            let messages = vec![text("yes"), text(answer)];
            commit(&engine, turn(key, raw_seq, messages)).await;
        }
        assert_eq!(place.texts(), ["yes", "a1", "yes", "a2"]);
        let log = words(&["yes", "a1", "yes", "a2"]);
        after_turn(&engine, &ordered(1, 1), log.clone()).await;
        assert_eq!(place.log().total, log.state());
    }
}

#[tokio::test]
async fn without_ids_an_older_turn_that_begins_alike_does_not_hide_a_new_one() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), words(&["yes", "a1", "go"])).await;
    commit(&engine, turn("new", 4, vec![text("yes"), text("a2")])).await;
    assert_eq!(place.texts(), ["yes", "a1", "go", "yes", "a2"]);
}

#[tokio::test]
async fn equal_messages_come_back_without_a_look_at_all_of_them_for_each() {
    let place = Place::new();
    let engine = place.open();
    let long: Transcript = (0..3000).map(|_| text("continue")).collect();
    for (seq, log) in (1..).zip([long.clone(), words(&["continue"]), long.clone()]) {
        after_turn(&engine, &ordered(1, seq), log).await;
    }
    assert_eq!(place.log().total, long.state());
}
