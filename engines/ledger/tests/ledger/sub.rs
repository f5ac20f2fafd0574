//! Subagents: preparations that are durable, settled once, and gone with their time.

use std::time::Duration;

use contextwire_engine::durable::{Preparation, Stage};
use contextwire_engine::{
    ContextEngine, ContextMode, EndSubagent, EngineError, ErrorKind, PrepareSubagentSpawn,
    ResolveSubagentSpawn, SpawnOutcome, SpawnPrepared,
};
use contextwire_ledger::LedgerEngine;

use super::support::*;

fn spawn(id: &str) -> PrepareSubagentSpawn {
    PrepareSubagentSpawn {
        spawn_id: id.into(),
        parent_session_key: "parent".into(),
        child_session_key: "child".into(),
        ttl: Some(Duration::from_mins(1)),
        ..PrepareSubagentSpawn::default()
    }
}

async fn prepare(engine: &LedgerEngine, request: PrepareSubagentSpawn) -> SpawnPrepared {
    engine
        .prepare_subagent_spawn(&call(), request)
        .await
        .unwrap()
}

async fn resolve(
    engine: &LedgerEngine,
    id: &str,
    outcome: SpawnOutcome,
) -> Result<(), EngineError> {
    let request = ResolveSubagentSpawn {
        spawn_id: id.into(),
        outcome,
    };
    engine.resolve_subagent_spawn(&call(), request).await
}

fn listed(place: &Place, id: &str) -> Preparation {
    let all = place.file().preparations().unwrap();
    all.into_iter().find(|known| known.spawn_id == id).unwrap()
}

#[tokio::test]
async fn e_sub_01_a_preparation_lasts_no_longer_than_asked() {
    let place = Place::new();
    let engine = place.open();
    assert!(prepare(&engine, spawn("a")).await.prepared);
    let known = listed(&place, "a");
    assert_eq!(known.stage, Stage::Open);
    assert_eq!(known.expires_at, place.now().after(Duration::from_mins(1)));
}

#[tokio::test]
async fn e_sub_02_repeating_a_preparation_renews_the_same_row() {
    let place = Place::new();
    let engine = place.open();
    let first = prepare(&engine, spawn("a")).await;
    place.pass(Duration::from_secs(20));
    assert_eq!(prepare(&engine, spawn("a")).await, first);
    assert_eq!(place.file().preparations().unwrap().len(), 1);
    assert_eq!(
        listed(&place, "a").expires_at,
        place.now().after(Duration::from_mins(1))
    );
}

#[tokio::test]
async fn e_sub_03_other_content_under_a_spawn_id_is_a_conflict() {
    let place = Place::new();
    let engine = place.open();
    prepare(&engine, spawn("a")).await;
    let known = listed(&place, "a");
    let fork = PrepareSubagentSpawn {
        context_mode: Some(ContextMode::Fork),
        ..spawn("a")
    };
    let refused = engine.prepare_subagent_spawn(&call(), fork).await;
    assert_eq!(kind(refused), ErrorKind::IdempotencyConflict);
    assert_eq!(listed(&place, "a"), known);
}

#[tokio::test]
async fn e_sub_04_each_outcome_twice_is_once() {
    let place = Place::new();
    let engine = place.open();
    for (outcome, stage) in [
        (SpawnOutcome::Started, Stage::Started),
        (SpawnOutcome::RolledBack, Stage::RolledBack),
    ] {
        let id = format!("{outcome:?}");
        prepare(&engine, spawn(&id)).await;
        for _ in 0..2 {
            resolve(&engine, &id, outcome).await.unwrap();
            assert_eq!(listed(&place, &id).stage, stage);
        }
        assert!(
            !prepare(&engine, spawn(&id)).await.prepared,
            "it was settled"
        );
    }
}

#[tokio::test]
async fn e_sub_06_an_unknown_spawn_is_settled_and_ended_without_a_complaint() {
    let place = Place::new();
    let engine = place.open();
    resolve(&engine, "never", SpawnOutcome::RolledBack)
        .await
        .unwrap();
    let end = EndSubagent {
        spawn_id: Some("neither".into()),
        ..EndSubagent::default()
    };
    engine.end_subagent(&of("child"), end).await.unwrap();
    assert!(
        !prepare(&engine, spawn("never")).await.prepared,
        "R9.2: it is remembered"
    );
    place.pass(Duration::from_hours(24));
    assert!(prepare(&engine, spawn("never")).await.prepared, "for a day");
}

#[tokio::test]
async fn e_sub_07_a_rollback_leaves_the_log_as_it_was() {
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("a")).await;
    let before = place.log();
    prepare(&engine, spawn("a")).await;
    resolve(&engine, "a", SpawnOutcome::RolledBack)
        .await
        .unwrap();
    assert_eq!(place.log(), before);
    let other = PrepareSubagentSpawn {
        child_session_key: "child".into(),
        ..spawn("b")
    };
    assert!(
        prepare(&engine, other).await.prepared,
        "the child's key is free again"
    );
}

#[tokio::test]
async fn e_sub_08_without_a_word_it_rolls_itself_back_and_is_listed_so() {
    let place = Place::new();
    let engine = place.open();
    prepare(&engine, spawn("a")).await;
    place.pass(Duration::from_mins(1));
    prepare(&engine, spawn("b")).await;
    assert_eq!(listed(&place, "a").stage, Stage::Expired);
    assert!(!prepare(&engine, spawn("a")).await.prepared);
}

#[tokio::test]
async fn e_sub_09_a_start_after_the_time_activates_nothing() {
    let place = Place::new();
    let engine = place.open();
    prepare(&engine, spawn("a")).await;
    place.pass(Duration::from_mins(1));
    for _ in 0..2 {
        let late = resolve(&engine, "a", SpawnOutcome::Started).await;
        assert_eq!(kind(late), ErrorKind::PreparationExpired);
    }
    assert_ne!(listed(&place, "a").stage, Stage::Started);
}

#[tokio::test]
async fn e_sub_12_an_end_ten_times_for_any_reason_is_accepted_once() {
    let place = Place::new();
    let engine = place.open();
    for reason in ["deleted", "completed", "swept", "released", "eaten"] {
        let cx = of("child");
        let end = || EndSubagent {
            spawn_id: None,
            child_session_key: "child".into(),
            reason: reason.into(),
        };
        for _ in 0..10 {
            engine.end_subagent(&cx, end()).await.unwrap();
        }
    }
    let file = rusqlite::Connection::open(place.path()).unwrap();
    let keys: i64 = file
        .query_row("SELECT count(*) FROM key", (), |row| row.get(0))
        .unwrap();
    assert_eq!(keys, 5);
}

#[tokio::test]
async fn e_sub_14_what_a_child_writes_never_appears_in_its_parent() {
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("mine")).await;
    let fork = PrepareSubagentSpawn {
        context_mode: Some(ContextMode::Fork),
        ..spawn("a")
    };
    prepare(&engine, fork).await;
    let mut child = of("c");
    child.session.key = Some("child".into());
    ingest_as(&engine, &child, entry("theirs")).await.unwrap();
    assert_eq!(place.ids(), ["mine"]);
    assert_eq!(texts(&place.file(), "c"), ["theirs"]);
    assert_eq!(
        listed(&place, "a").stage,
        Stage::Started,
        "R9.2: its hook shows that it runs"
    );
}

#[tokio::test]
async fn r9_2_a_read_of_the_child_shows_that_it_runs() {
    let place = Place::new();
    let engine = place.open();
    prepare(&engine, spawn("a")).await;
    let mut child = of("c");
    child.session.key = Some("child".into());
    engine.assemble(&child, <_>::default()).await.unwrap();
    assert_eq!(listed(&place, "a").stage, Stage::Started);
}

#[tokio::test]
async fn e_sub_17_only_the_engines_own_clock_counts() {
    let place = Place::new();
    let engine = place.open();
    prepare(&engine, spawn("a")).await;
    // A host that is an hour ahead: nothing of its clock reaches the preparation.
    let mut ahead = call();
    ahead.order = Some(contextwire_engine::Order {
        host_epoch: u64::MAX,
        session_seq: Some(1),
    });
    let request = ResolveSubagentSpawn {
        spawn_id: "a".into(),
        outcome: SpawnOutcome::Started,
    };
    engine
        .resolve_subagent_spawn(&ahead, request)
        .await
        .unwrap();
}
