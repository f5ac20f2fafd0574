//! The stored log: identity, the provisional tail, corrections, and what a LOG may change.

use contextwire_engine::{
    Assemble, ContextEngine, HostLog, IngestBatch, Message, Omitted, Transcript, TranscriptState,
};

use super::support::*;

#[tokio::test]
async fn r3_2_an_appended_entry_is_moved_not_copied_when_a_log_places_it() {
    let place = Place::new();
    let engine = place.open();
    for id in ["u1", "a1"] {
        assert!(ingest(&engine, entry(id)).await);
    }
    assert_eq!(place.log().placed, TranscriptState::EMPTY);
    after_turn(&engine, &call(), list(&["u1", "a1", "u2"])).await;
    assert_eq!(place.ids(), ["u1", "a1", "u2"]);
    assert_eq!(place.log().placed, place.log().total);
    assert!(!ingest(&engine, entry("u2")).await, "known by now");
}

#[tokio::test]
async fn r3_2_the_order_of_the_stored_log_is_the_logs_order() {
    let place = Place::new();
    let engine = place.open();
    for id in ["b", "later", "a"] {
        ingest(&engine, entry(id)).await;
    }
    after_turn(&engine, &call(), list(&["a", "x", "b"])).await;
    assert_eq!(place.ids(), ["a", "x", "b", "later"]);
    assert_eq!(place.log().placed, list(&["a", "x", "b"]).state());
    after_turn(&engine, &call(), list(&["a", "x", "b", "later"])).await;
    assert_eq!(place.log().placed, place.log().total);
}

#[tokio::test]
async fn r3_2_a_host_whose_log_ends_where_the_placed_one_does_is_told_so_whatever_the_tail_holds() {
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("stray")).await;
    let cx = call();
    after_turn(&engine, &cx, list(&["a", "b"])).await;
    assert_eq!(cx.take_reply().log_state, Some(list(&["a", "b"]).state()));
    let cx = call();
    ingest_as(&engine, &cx, entry("a")).await.unwrap();
    let all = list(&["a", "b", "stray"]).state();
    assert_eq!(cx.take_reply().log_state, Some(all));
}

#[tokio::test]
async fn r3_3_a_host_whose_log_is_the_stored_one_has_placed_it() {
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("a")).await;
    let mut cx = call();
    cx.log_head = Some(list(&["b", "a"]).state());
    ingest_as(&engine, &cx, entry("b")).await.unwrap();
    assert_eq!(place.log().placed, TranscriptState::EMPTY, "another order");
    let mut cx = call();
    cx.log_head = Some(list(&["a", "b", "c"]).state());
    ingest_as(&engine, &cx, entry("c")).await.unwrap();
    assert_eq!(place.log().placed, list(&["a", "b", "c"]).state());
}

#[tokio::test]
async fn r2_3_equal_texts_without_ids_are_never_merged() {
    let place = Place::new();
    let engine = place.open();
    for _ in 0..2 {
        assert!(ingest(&engine, text("ok")).await);
    }
    after_turn(&engine, &call(), (0..3).map(|_| text("ok")).collect()).await;
    assert_eq!(place.texts(), ["ok", "ok", "ok"]);
    after_turn(&engine, &call(), (0..3).map(|_| text("ok")).collect()).await;
    assert_eq!(place.texts(), ["ok", "ok", "ok"]);
}

#[tokio::test]
async fn r2_3_without_ids_a_message_that_the_log_brought_in_this_run_is_known_and_an_older_one_is_not()
 {
    let place = Place::new();
    let engine = place.open();
    bootstrap(
        &engine,
        &ordered(1, 1),
        [text("ok"), text("yes")].into_iter().collect(),
    )
    .await;
    let log: Transcript = [text("ok"), text("yes"), text("go")].into_iter().collect();
    after_turn(&engine, &ordered(1, 2), log).await;
    assert!(!ingest(&engine, text("go")).await, "the log brought it");
    assert!(ingest(&engine, text("ok")).await, "the old one is another");
    assert_eq!(place.texts(), ["ok", "yes", "go", "ok"]);
}

#[tokio::test]
async fn r7_10_a_known_id_with_another_payload_is_a_correction_in_the_tail_and_in_the_log() {
    let place = Place::new();
    let engine = place.open();
    for id in ["a", "b"] {
        ingest(&engine, entry(id)).await;
    }
    assert!(ingest(&engine, text("tail").with_entry_id("a")).await);
    assert_eq!(place.texts(), ["tail", "b"]);
    let log: Transcript = [text("tail").with_entry_id("a"), entry("b"), entry("c")]
        .into_iter()
        .collect();
    after_turn(&engine, &call(), log).await;
    ingest(&engine, entry("d")).await;
    assert!(ingest(&engine, text("placed").with_entry_id("b")).await);
    assert_eq!(place.texts(), ["tail", "placed", "c", "d"]);
    assert_eq!(place.log().placed.count, 3);
    assert!(!ingest(&engine, text("placed").with_entry_id("b")).await);
}

#[tokio::test]
async fn r7_9_without_a_pair_a_log_only_extends() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &call(), list(&["a", "b", "c"])).await;
    let shorter = bootstrap(&engine, &call(), list(&["a", "b"])).await;
    assert!(shorter.bootstrapped && shorter.imported_messages == Some(0));
    let other = bootstrap(&engine, &call(), list(&["a", "x", "c"])).await;
    assert!(!other.bootstrapped && other.reason.is_some());
    let cx = call();
    after_turn(&engine, &cx, list(&["x"])).await;
    assert_eq!(
        cx.take_reply().log_state,
        Some(list(&["a", "b", "c"]).state())
    );
    assert_eq!(place.ids(), ["a", "b", "c"]);
    let longer = bootstrap(&engine, &call(), list(&["a", "b", "c", "d"])).await;
    assert_eq!(longer.imported_messages, Some(1));
}

#[tokio::test]
async fn r7_9_with_a_pair_that_is_not_lower_a_log_replaces_and_shortens() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["a", "b", "c", "d"])).await;
    after_turn(&engine, &ordered(1, 2), list(&["a", "b2", "c"])).await;
    assert_eq!(place.ids(), ["a", "b2", "c"]);
    after_turn(&engine, &ordered(1, 3), list(&["a"])).await;
    assert_eq!(place.ids(), ["a"]);
    after_turn(&engine, &ordered(1, 4), Transcript::new()).await;
    assert_eq!(place.ids(), [""; 0]);
}

#[tokio::test]
async fn a_body_that_left_the_log_and_comes_back_is_not_stored_twice() {
    let place = Place::new();
    let engine = place.open();
    let branches = [&["a", "b", "c"][..], &["a", "x"], &["a", "b", "c"]];
    for (seq, branch) in (1..).zip(branches) {
        after_turn(&engine, &ordered(1, seq), list(branch)).await;
        assert_eq!(place.ids(), branch);
    }
    let bodies = rusqlite::Connection::open(place.path()).unwrap();
    let bodies: i64 = bodies
        .query_row("SELECT count(*) FROM entry", (), |row| row.get(0))
        .unwrap();
    assert_eq!(bodies, 4);
}

#[tokio::test]
async fn e_hks_07_a_batch_equals_its_messages_one_by_one() {
    let (one, all) = (Place::new(), Place::new());
    let engine = one.open();
    for id in ["a", "b", "a"] {
        ingest(&engine, entry(id)).await;
    }
    let batch = IngestBatch {
        messages: ["a", "b", "a"].map(entry).to_vec(),
        is_heartbeat: false,
    };
    let done = all.open().ingest_batch(&call(), batch).await.unwrap();
    assert_eq!(done.ingested_count, 2);
    assert_eq!(one.log(), all.log());
}

#[tokio::test]
async fn e_hks_08_a_bad_element_leaves_no_trace_and_is_named() {
    let place = Place::new();
    let engine = place.open();
    let stub = entry("b").with_omitted(Some(Omitted {
        bytes: 9,
        sha256: [1; 32],
    }));
    let batch = IngestBatch {
        messages: vec![entry("a"), stub.clone()],
        is_heartbeat: false,
    };
    let refused = engine.ingest_batch(&call(), batch).await.unwrap_err();
    assert_eq!(refused.kind(), contextwire_engine::ErrorKind::Rejected);
    assert!(refused.message().contains("message 1"), "{refused}");
    assert_eq!(place.ids(), [""; 0]);
    // R2.5: only Ingest of it fails.
    assert!(ingest_as(&engine, &call(), stub.clone()).await.is_err());
    after_turn(&engine, &call(), [stub.clone()].into_iter().collect()).await;
    let stored = place
        .file()
        .message(&call().session.id, 0)
        .unwrap()
        .unwrap();
    assert_eq!(
        (stored.omitted(), stored.digest()),
        (stub.omitted(), stub.digest())
    );
}

#[tokio::test]
async fn e_hks_30_a_key_that_moved_to_a_new_session_brings_no_entries_along() {
    let place = Place::new();
    let engine = place.open();
    let mut old = call();
    old.session.key = Some("chat".into());
    ingest_as(&engine, &old, entry("a")).await.unwrap();
    let mut new = of("t");
    new.session.key = Some("chat".into());
    new.session.previous_id = Some(old.session.id.clone());
    ingest_as(&engine, &new, entry("b")).await.unwrap();
    assert_eq!(texts(&place.file(), "t"), ["b"]);
    assert_eq!(place.texts(), ["a"]);
}

fn assemble(ids: &[&str]) -> Assemble {
    Assemble {
        transcript: list(ids),
        ..Assemble::default()
    }
}

#[tokio::test]
async fn r3_3_an_engine_that_missed_turns_catches_up_in_the_next_hook() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &ordered(1, 1), list(&["a"])).await;
    let log = list(&["a", "b", "c"]);
    let mut cx = ordered(1, 1);
    cx.log_head = Some(log.state());
    cx.log = HostLog::new(log.clone());
    engine.assemble(&cx, assemble(&["view"])).await.unwrap();
    assert_eq!(cx.take_reply().log_state, Some(log.state()));
    assert_eq!(place.ids(), ["a", "b", "c"], "and nothing of the view");
}

#[tokio::test]
async fn r3_3_a_host_that_cannot_give_its_log_is_answered_at_once() {
    let place = Place::new();
    let engine = place.open();
    let mut cx = call();
    cx.log_head = Some(list(&["a", "b"]).state());
    let kept = engine.assemble(&cx, assemble(&["view"])).await;
    assert!(kept.is_ok());
    assert_eq!(cx.take_reply().log_state, Some(TranscriptState::EMPTY));
}

#[tokio::test]
async fn r7_9_a_delayed_read_never_takes_the_log_back() {
    let place = Place::new();
    let engine = place.open();
    let mut late = ordered(1, 1);
    after_turn(&engine, &ordered(1, 2), list(&["a", "b"])).await;
    let old = list(&["a"]);
    late.log_head = Some(old.state());
    late.log = HostLog::new(old);
    engine.assemble(&late, assemble(&["view"])).await.unwrap();
    assert_eq!(place.ids(), ["a", "b"]);
}

#[tokio::test]
async fn every_payload_is_kept_byte_for_byte() {
    let place = Place::new();
    let engine = place.open();
    let odd: [&[u8]; 4] = [
        br#"{"role":"user","content":null,"n":1e400,"role":"tool"}"#,
        br#"{"role":"assistant","content":"\ud800"}"#,
        b"",
        b"\xff\x00not json",
    ];
    for payload in odd {
        ingest(&engine, Message::from_payload(payload)).await;
    }
    let file = place.file();
    for (at, payload) in (0..).zip(odd) {
        let stored = file.message(&call().session.id, at).unwrap().unwrap();
        assert_eq!(&stored.payload()[..], payload);
    }
}
