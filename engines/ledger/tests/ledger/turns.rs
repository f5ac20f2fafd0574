//! `CommitTurn`: whole, by identity, in the order of the turns.

use contextwire_engine::{ContextEngine, Hook, TurnCommitted};

use super::support::*;

#[tokio::test]
async fn e_idm_08_a_duplicate_is_answered_only_for_what_can_be_read() {
    let place = Place::new();
    let engine = place.open();
    let turn = || turn("t", 1, vec![entry("u"), entry("a")]);
    assert_eq!(commit(&engine, turn()).await, TurnCommitted::Committed);
    assert_eq!(place.texts(), ["u", "a"]);
    for replica in [&engine, &place.open()] {
        assert_eq!(commit(replica, turn()).await, TurnCommitted::Duplicate);
        assert_eq!(place.texts(), ["u", "a"]);
    }
    assert!(
        place
            .log()
            .entries
            .iter()
            .all(|entry| entry.turn.as_deref() == Some("t"))
    );
}

#[tokio::test]
async fn e_idm_09_a_commit_after_the_same_entries_were_ingested_doubles_nothing() {
    let place = Place::new();
    let engine = place.open();
    for id in ["u", "a"] {
        ingest(&engine, entry(id)).await;
    }
    for key in ["t", "another key"] {
        let turn = turn(key, 1, vec![entry("u"), entry("a")]);
        assert_eq!(commit(&engine, turn).await, TurnCommitted::Committed);
    }
    after_turn(&engine, &call(), list(&["u", "a"])).await;
    for id in ["u", "a"] {
        assert!(!ingest(&engine, entry(id)).await);
    }
    assert_eq!(place.ids(), ["u", "a"]);
}

#[tokio::test]
async fn e_idm_09_without_ids_a_commit_takes_up_what_was_ingested_and_a_second_turn_does_not() {
    let place = Place::new();
    let engine = place.open();
    for word in ["ok", "done"] {
        ingest(&engine, text(word)).await;
    }
    let same = |key| turn(key, 1, vec![text("ok"), text("done")]);
    commit(&engine, same("first")).await;
    assert_eq!(place.texts(), ["ok", "done"]);
    commit(&engine, same("second")).await;
    assert_eq!(place.texts(), ["ok", "done", "ok", "done"]);
}

#[tokio::test]
async fn e_idm_12_commits_out_of_order_stand_in_the_order_of_their_turns() {
    let place = Place::new();
    let engine = place.open();
    commit(&engine, turn("third", 9, vec![entry("u3"), entry("a3")])).await;
    commit(&engine, turn("first", 1, vec![entry("u1"), entry("a1")])).await;
    commit(&engine, turn("second", 5, vec![entry("u2"), entry("a2")])).await;
    commit(&engine, turn("fourth", 12, vec![entry("u4")])).await;
    assert_eq!(place.ids(), ["u1", "a1", "u2", "a2", "u3", "a3", "u4"]);
}

#[tokio::test]
async fn e_idm_12_a_late_commit_of_a_turn_that_the_log_has_is_not_misplaced() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["u1", "a1", "u2", "a2"])).await;
    commit(&engine, turn("second", 5, vec![entry("u2"), entry("a2")])).await;
    commit(&engine, turn("first", 1, vec![entry("u1"), entry("a1")])).await;
    assert_eq!(place.ids(), ["u1", "a1", "u2", "a2"]);
    assert_eq!(place.log().placed, place.log().total);
}

#[tokio::test]
async fn what_the_log_lacks_of_a_turn_stands_next_to_what_it_has() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["old", "u1"])).await;
    ingest(&engine, entry("u2")).await;
    commit(
        &engine,
        turn("first", 1, vec![entry("u1"), entry("t1"), entry("a1")]),
    )
    .await;
    assert_eq!(place.ids(), ["old", "u1", "t1", "a1", "u2"]);
    commit(
        &engine,
        turn("second", 5, vec![entry("x2"), entry("u2"), entry("a2")]),
    )
    .await;
    assert_eq!(place.ids(), ["old", "u1", "t1", "a1", "x2", "u2", "a2"]);
}

#[tokio::test]
async fn a_commit_corrects_the_tail_and_leaves_what_the_log_placed() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["a"])).await;
    ingest(&engine, entry("b")).await;
    let old = |id: &str, words: &str| text(words).with_entry_id(id);
    commit(
        &engine,
        turn("t", 1, vec![old("a", "stale"), old("b", "closed")]),
    )
    .await;
    assert_eq!(place.texts(), ["a", "closed"]);
}

#[tokio::test]
async fn an_id_twice_in_one_turn_is_one_entry() {
    let place = Place::new();
    let engine = place.open();
    commit(
        &engine,
        turn("t", 1, vec![entry("u"), entry("a"), entry("u")]),
    )
    .await;
    assert_eq!(place.ids(), ["u", "a"]);
}

#[tokio::test]
async fn r1_1_every_method_is_there_and_both_declarations_are_made() {
    let engine = Place::new().open();
    let info = engine.info();
    assert!(info.problems().is_empty());
    assert_eq!(info.methods, Hook::ALL);
    let present = contextwire_engine::testing::implemented(&engine)
        .await
        .unwrap();
    assert_eq!(present, info.methods);
    let semantics = info.transcript_semantics.unwrap();
    assert_eq!(
        semantics.current_turn_fence.as_deref(),
        Some("before-current-turn-entry-v1")
    );
    let promise = semantics.turn_advancement_idempotency;
    assert_eq!(promise.as_deref(), Some("atomic-idempotent-v1"));
}
