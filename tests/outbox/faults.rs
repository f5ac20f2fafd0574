//! Engines that go, disks that are full, and two hosts at once.

use contextwire_client::TurnMode;
use contextwire_client::outbox::OutboxError;
use contextwire_engine::{CommitTurn, TurnCommitted};
use contextwire_ledger::{LedgerEngine, LedgerOptions};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_an_engine_that_is_away_from_the_start_reach_it_in_order_when_it_comes() {
    for policy in [Policy::Guarded, Policy::Lease] {
        let (desk, engine) = (Desk::new(), durable());
        let host = desk.host(policy);
        for key in ["t1", "t2", "t3"] {
            assert!(is_queued(&told(&host, "s", key).await));
            assert!(is_queued(&told(&host, "other", &format!("{key}-o")).await));
        }
        assert_eq!(host.status().outbox.unwrap().pending, 6);
        let _running = desk.place.serve(engine.clone()).await;
        emptied(host.outbox().unwrap()).await;
        let (mut of_s, mut of_other) = (committed(&engine), committed(&engine));
        of_s.retain(|key| !key.ends_with("-o"));
        of_other.retain(|key| key.ends_with("-o"));
        assert_eq!(of_s, ["t1", "t2", "t3"]);
        assert_eq!(of_other, ["t1-o", "t2-o", "t3-o"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_host_that_shut_down_left_is_delivered_by_the_next_one() {
    let (desk, engine) = (Desk::new(), durable());
    let host = desk.host(Policy::Guarded);
    assert!(is_queued(&told(&host, "s", "t1").await));
    host.dispose().await;
    drop(host);
    let _running = desk.place.serve(engine.clone()).await;
    let next = desk.host(Policy::Lease);
    // Before its first turn, and not only in the background.
    let turn = begin(&next, "s", "t2").await;
    assert_eq!(turn.engine().mode, TurnMode::Configured);
    assert_eq!(committed(&engine), ["t1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_11_an_engine_that_is_selected_again_gets_its_rows_first() {
    let (desk, engine) = (Desk::new(), durable());
    let host = desk.host(Policy::Guarded);
    assert!(is_queued(&told(&host, "s", "t1").await));
    host.select("legacy");
    let _running = desk.place.serve(engine.clone()).await;
    // A turn of the built-in engine is nobody's row, and is not held back by one.
    let turn = begin(&host, "s", "t2").await;
    assert_eq!(turn.engine().mode, TurnMode::Configured);
    assert!(!turn.is_journaled());
    assert_eq!(committed(&engine), [""; 0]);
    host.select(ENGINE);
    emptied(host.outbox().unwrap()).await;
    assert_eq!(committed(&engine), ["t1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_degrades_turns_by_lease_and_fails_none() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let options = OutboxOptions {
        max_bytes: Some(4_096),
        ..OutboxOptions::default()
    };
    let host = desk.host_with(Policy::Lease, options);
    let turn = begin(&host, "s", "t1").await;
    let degraded = turn.engine();
    assert_eq!(degraded.mode, TurnMode::LegacyDegraded);
    assert!(degraded.reason.unwrap().contains("no room"));
    let recorded = turn.record(TurnOutcome::Completed, end("t1")).await;
    assert!(matches!(recorded, Recorded::Failed(OutboxError::Full)));
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_11_a_terminal_answer_sets_a_turn_aside_and_later_ones_flow() {
    let desk = Desk::new();
    let store = desk.folder.path().join("ledger.sqlite3");
    let ledger = LedgerEngine::open(&store, LedgerOptions::default()).unwrap();
    let _running = desk.place.serve(ledger).await;
    let host = desk.host(Policy::Lease);
    // The engine knows the key with other content.
    let other = CommitTurn {
        advancement_key: "t1".to_owned(),
        admission: admission("t1"),
        messages: messages("other"),
        ..CommitTurn::default()
    };
    let committed = host.commit_turn(&session("s"), other).await.unwrap();
    assert_eq!(committed.result, TurnCommitted::Committed);
    for key in ["t1", "t2"] {
        assert!(is_queued(&told(&host, "s", key).await));
    }
    emptied(host.outbox().unwrap()).await;
    let rows = host.outbox().unwrap().rows().unwrap();
    let left: Vec<_> = rows.iter().map(|row| &*row.key).collect();
    assert_eq!(left, ["t1"]);
    let error = rows[0].last_error.as_deref().unwrap();
    assert!(error.starts_with("IDEMPOTENCY_CONFLICT"), "{error}");
    assert_eq!(host.status().outbox.unwrap().set_aside, 1);
    // It is no reason to go without the engine.
    let next = begin(&host, "s", "t3").await;
    assert_eq!(next.engine().mode, TurnMode::Configured);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_on_one_session_and_one_file_lose_nothing() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let hosts = [desk.host(Policy::Guarded), desk.host(Policy::Guarded)];
    let turns = async |host: &Host, name: &str| {
        for n in 0..10 {
            let recorded = told(host, "s", &format!("{name}{n}")).await;
            assert!(is_queued(&recorded), "{recorded:?}");
        }
    };
    tokio::join!(turns(&hosts[0], "a"), turns(&hosts[1], "b"));
    // Each host delivers also what the other wrote.
    for host in &hosts {
        let outbox = host.outbox().unwrap();
        soon(async {
            while outbox.status(ENGINE).unwrap().pending > 0 {
                let turn = begin(host, "s", "last").await;
                turn.record(TurnOutcome::Aborted, end("last")).await;
            }
        })
        .await;
    }
    let mut keys = committed(&engine);
    keys.sort();
    keys.dedup();
    let expected = ["a", "b"].map(|name| (0..10).map(move |n| format!("{name}{n}")));
    assert_eq!(keys, expected.into_iter().flatten().collect::<Vec<_>>());
}
