//! Faults that users reported of stores, by the numbers of their reports.

use contextwire_engine::{ContextEngine, ErrorKind, TurnCommitted};

use super::support::*;

#[tokio::test]
async fn br_013_overlapping_slices_of_one_turn_are_stored_once() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["u", "a", "t"])).await;
    after_turn(&engine, &call(), list(&["u", "a", "t", "a2"])).await;
    assert_eq!(place.ids(), ["u", "a", "t", "a2"]);
}

#[tokio::test]
async fn br_029_a_turn_is_committed_once_and_other_content_under_its_key_is_refused() {
    let place = Place::new();
    let engine = place.open();
    let same = || turn("k1", 1, vec![entry("u"), entry("a")]);
    assert_eq!(commit(&engine, same()).await, TurnCommitted::Committed);
    assert_eq!(commit(&engine, same()).await, TurnCommitted::Duplicate);
    let other = turn("k1", 1, vec![entry("u"), entry("b")]);
    let refused = engine.commit_turn(&call(), other).await;
    assert_eq!(kind(refused), ErrorKind::IdempotencyConflict);
    assert_eq!(place.ids(), ["u", "a"]);
}

#[tokio::test]
async fn br_037_two_turns_at_once_never_run_into_each_other() {
    let place = Place::new();
    let engine = place.open();
    let one = || turn("t1", 1, vec![entry("u1"), entry("c1"), entry("r1")]);
    let two = || turn("t2", 4, vec![entry("u2"), entry("c2"), entry("r2")]);
    tokio::join!(commit(&engine, one()), commit(&engine, two()));
    assert_eq!(place.ids(), ["u1", "c1", "r1", "u2", "c2", "r2"]);
}

#[tokio::test]
async fn br_038_a_live_message_and_the_same_one_of_the_log_are_one() {
    let place = Place::new();
    let engine = place.open();
    assert!(ingest(&engine, entry("e5")).await);
    after_turn(&engine, &call(), list(&["e4", "e5"])).await;
    let done = bootstrap(&engine, &call(), list(&["e4", "e5"])).await;
    assert!(done.bootstrapped);
    assert_eq!(place.ids(), ["e4", "e5"]);
}

#[tokio::test]
async fn br_039_a_turn_that_was_never_told_is_there_with_the_next_one() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["u1", "a1"])).await;
    after_turn(
        &engine,
        &call(),
        list(&["u1", "a1", "u2", "a2", "u3", "a3"]),
    )
    .await;
    assert_eq!(place.ids(), ["u1", "a1", "u2", "a2", "u3", "a3"]);
}
