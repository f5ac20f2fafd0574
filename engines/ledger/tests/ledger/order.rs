//! Two hosts on one session: a delayed packet loses, a live host gets on.

use contextwire_engine::durable::Pair;
use contextwire_engine::{ContextEngine, Dispose, ErrorKind, HookId, Maintain};

use super::support::*;

#[tokio::test]
async fn r7_9_an_older_host_is_told_where_the_session_is_and_gets_on_by_raising_its_pair() {
    let place = Place::new();
    let engine = place.open();
    ingest_as(&engine, &ordered(2, 7), entry("theirs"))
        .await
        .unwrap();
    let mut mine = ordered(1, 900);
    let refused = ingest_as(&engine, &mine, entry("mine")).await;
    let recorded = Pair {
        host_epoch: 2,
        session_seq: 7,
    };
    assert_eq!(kind(refused), ErrorKind::GenerationConflict { recorded });
    assert_eq!(place.ids(), ["theirs"]);
    mine.order = ordered(3, 1).order;
    assert!(ingest_as(&engine, &mine, entry("mine")).await.unwrap());
    let late = ingest_as(&engine, &ordered(2, 8), entry("late")).await;
    assert!(matches!(kind(late), ErrorKind::GenerationConflict { .. }));
}

#[tokio::test]
async fn r7_9_a_pair_survives_the_process_and_holds_at_every_replica() {
    let place = Place::new();
    ingest_as(&place.open(), &ordered(u64::MAX, u64::MAX), entry("a"))
        .await
        .unwrap();
    let late = ingest_as(&place.open(), &ordered(u64::MAX, 1), entry("b")).await;
    let recorded = Pair {
        host_epoch: u64::MAX,
        session_seq: u64::MAX,
    };
    assert_eq!(kind(late), ErrorKind::GenerationConflict { recorded });
}

#[tokio::test]
async fn r7_9_the_outbox_is_never_too_late() {
    let place = Place::new();
    let engine = place.open();
    ingest_as(&engine, &ordered(9, 9), entry("b"))
        .await
        .unwrap();
    commit(&engine, turn("t", 1, vec![entry("a")])).await;
    assert_eq!(place.ids(), ["b", "a"]);
}

#[tokio::test]
async fn r7_2_a_host_that_goes_away_leaves_its_tombstones() {
    let place = Place::new();
    let engine = place.open();
    let late = call();
    let mut leaving = call();
    leaving.abandoned_hooks = vec![late.hook_id];
    engine.dispose(&leaving, Dispose::default()).await.unwrap();
    let refused = engine.maintain(&late, Maintain::default()).await;
    assert_eq!(kind(refused), ErrorKind::HookClosed);
}

#[tokio::test]
async fn r7_2_a_tombstone_left_by_a_read_at_one_replica_stops_the_effect_at_another() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let given_up = call();
    let mut reader = call();
    reader.abandoned_hooks = vec![given_up.hook_id, HookId::mint()];
    one.assemble(&reader, <_>::default()).await.unwrap();
    let late = other.maintain(&given_up, Maintain::default()).await;
    assert_eq!(kind(late), ErrorKind::HookClosed);
    let late = ingest_as(&other, &given_up, entry("a")).await;
    assert_eq!(kind(late), ErrorKind::HookClosed);
    assert_eq!(place.ids(), [""; 0]);
}
