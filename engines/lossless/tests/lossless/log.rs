//! What reaches the log, through the hooks.

use contextwire_engine::{ContextEngine, Ingest, IngestBatch, Maintain, TurnCommitted};
use contextwire_lossless::open_file;

use super::support::*;

#[tokio::test]
async fn i01_a_turn_is_stored_once_and_i02_another_one_under_its_key_is_refused() {
    let place = Place::new();
    let engine = place.open();
    let messages = long(6, 10);
    assert_eq!(
        commit(&engine, turn("k", 1, messages.clone())).await,
        TurnCommitted::Committed
    );
    assert_eq!(
        commit(&engine, turn("k", 1, messages)).await,
        TurnCommitted::Duplicate
    );
    let other = engine.commit_turn(&call(), turn("k", 1, long(5, 10))).await;
    let conflict = contextwire_engine::ErrorKind::IdempotencyConflict;
    assert_eq!(other.unwrap_err().kind(), conflict);
    let log = open_file(&place.path())
        .unwrap()
        .log(&name("s"))
        .unwrap()
        .unwrap();
    assert_eq!(log.total.count, 6);
}

#[tokio::test]
async fn i05_and_i06_equal_texts_with_their_own_ids_are_all_stored() {
    let place = Place::new();
    let engine = place.open();
    for n in 0..100 {
        let message = said("user", "ok").with_entry_id(format!("m{n}"));
        let request = Ingest {
            message,
            is_heartbeat: false,
        };
        assert!(engine.ingest(&call(), request).await.unwrap().ingested);
    }
    let batch = IngestBatch {
        messages: vec![said("user", "ok").with_entry_id("m5"), entry("new")],
        is_heartbeat: false,
    };
    assert_eq!(
        engine
            .ingest_batch(&call(), batch)
            .await
            .unwrap()
            .ingested_count,
        1
    );
    let log = open_file(&place.path())
        .unwrap()
        .log(&name("s"))
        .unwrap()
        .unwrap();
    assert_eq!(log.total.count, 101);
}

#[tokio::test]
async fn i07_a_message_that_comes_again_with_another_body_is_corrected() {
    let place = Place::new();
    let engine = place.open();
    for text in ["first", "second"] {
        let request = Ingest {
            message: said("user", text).with_entry_id("e"),
            is_heartbeat: false,
        };
        engine.ingest(&call(), request).await.unwrap();
    }
    let view = [said("user", "second").with_entry_id("e")]
        .into_iter()
        .collect();
    let reply = assemble(&engine, &call(), &view, None).await;
    assert_eq!(texts(&reply, &view), ["second"]);
    let log = open_file(&place.path())
        .unwrap()
        .log(&name("s"))
        .unwrap()
        .unwrap();
    assert_eq!(log.total.count, 1);
}

#[tokio::test]
async fn maintenance_brings_the_index_up_to_date() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &call(), long(200, 5).into_iter().collect()).await;
    let done = engine.maintain(&call(), Maintain::default()).await.unwrap();
    assert_eq!(
        done.reason.as_deref(),
        Some("indexed 200 entries, 0 are behind")
    );
    let again = engine.maintain(&call(), Maintain::default()).await.unwrap();
    assert_eq!(
        again.reason.as_deref(),
        Some("indexed 0 entries, 0 are behind")
    );
}

#[tokio::test]
async fn r3_3_an_engine_that_was_away_catches_up_in_a_read() {
    let place = Place::new();
    let engine = place.open();
    let view = list(&["a", "b", "c"]);
    let mut cx = call();
    cx.log_head = Some(view.state());
    cx.log = contextwire_engine::HostLog::new(view.clone());
    let reply = assemble(&engine, &cx, &view, None).await;
    assert_eq!(texts(&reply, &view), ["a", "b", "c"]);
    assert_eq!(cx.take_reply().log_state, Some(view.state()));
}

/// I03: two replicas of one store, one key.
#[tokio::test]
async fn i03_of_two_commits_under_one_key_at_once_exactly_one_wins() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    for n in 0..10 {
        let same = || turn(&format!("t{n}"), n, vec![entry(&format!("e{n}"))]);
        let (first, second) = tokio::join!(commit(&one, same()), commit(&other, same()));
        let mut answers = [format!("{first:?}"), format!("{second:?}")];
        answers.sort();
        assert_eq!(answers, ["Committed", "Duplicate"], "turn {n}");
    }
    let file = open_file(&place.path()).unwrap();
    let log = file.log(&name("s")).unwrap().unwrap();
    assert_eq!(log.entries.len(), 10);
}
