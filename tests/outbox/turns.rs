//! Recorded turns, from their beginning to their engine.

use contextwire_client::TurnMode;
use contextwire_client::lifecycle::{Delivered, FinishedTurn, TurnDelta, finish};
use contextwire_client::outbox::{OutboxEvent, OutboxObserver, StoredTurns};
use contextwire_client::store::{AnyStore, MemoryStore, NativeId, NewEntry, TranscriptStore};
use contextwire_engine::{RuntimeContext, SessionId};
use tokio::sync::mpsc;

use super::*;

const POLICIES: [Policy; 2] = [Policy::Guarded, Policy::Lease];

#[tokio::test(flavor = "multi_thread")]
async fn c171_a_recorded_turn_reaches_its_engine_by_the_outbox_alone_and_maintenance_is_offered() {
    for policy in POLICIES {
        let gate = Gate::new();
        let engine = durable().holding(Hook::Maintain, &gate);
        let desk = Desk::new();
        let _running = desk.place.serve(engine.clone()).await;
        let (offer, mut offered) = mpsc::unbounded_channel();
        let options = OutboxOptions {
            observer: Some(OutboxObserver::new(move |event| {
                if let OutboxEvent::TurnStored { session, .. } = event {
                    offer.send(session.id).unwrap();
                }
            })),
            ..OutboxOptions::default()
        };
        let host = desk.host_with(policy, options);
        let turn = begin(&host, "s", "t1").await;
        assert!(turn.is_journaled());
        assert!(is_queued(
            &turn.record(TurnOutcome::Completed, end("t1")).await
        ));
        let delta = TurnDelta {
            is_recorded: turn.is_journaled(),
            ..TurnDelta::new(messages("t1").into_iter().collect(), 0)
        };
        let finished = FinishedTurn {
            delta,
            ..FinishedTurn::default()
        };
        let finalised = finish(&turn, &session("s"), &finished).await;
        assert_eq!(finalised.delivered, Delivered::Nothing);
        assert_eq!(soon(offered.recv()).await, Some(session("s").id));
        emptied(host.outbox().unwrap()).await;
        assert_eq!(committed(&engine), ["t1"]);
        soon(gate.arrived(1)).await;
        gate.open();
        let mut besides = told_otherwise(&engine);
        besides.retain(|hook| *hook != Hook::Maintain);
        assert_eq!(besides, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c176_c196_the_engine_gets_the_turn_by_its_ends_with_its_messages_and_model_facts() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    let turn = begin(&host, "s", "t1").await;
    let facts = RuntimeContext {
        model_id: Some("m".to_owned()),
        ..RuntimeContext::default()
    };
    let recorded = RecordedEnd {
        is_heartbeat: true,
        runtime_context: Some(RuntimeContext {
            cwd: Some("/home".to_owned()),
            ..facts.clone()
        }),
        ..end("t1")
    };
    turn.record(TurnOutcome::Completed, recorded).await;
    emptied(host.outbox().unwrap()).await;
    let seen = engine.seen.seen();
    let SeenRequest::CommitTurn(sent) = &seen[0].request else {
        panic!("a turn")
    };
    assert_eq!(sent.advancement_key, "t1");
    assert_eq!(sent.admission, admission("t1"));
    assert_eq!(sent.terminal, end("t1").terminal);
    assert_eq!(sent.messages, messages("t1"));
    assert_eq!(sent.runtime_context, Some(facts));
    assert!(sent.is_heartbeat);
    // Outbox calls are unordered (R7.9).
    assert_eq!(seen[0].cx.order.and_then(|order| order.session_seq), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn c174_a_commit_that_fails_costs_the_turn_nothing_and_is_made_before_the_next_one() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    engine.fail_next(Hook::CommitTurn);
    assert!(is_queued(&told(&host, "s", "t1").await));
    tried(host.outbox().unwrap()).await;
    let next = begin(&host, "s", "t2").await;
    assert_eq!(next.engine().mode, TurnMode::Configured);
    assert_eq!(committed(&engine), ["t1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c181_a_row_that_still_fails_before_the_next_turn_costs_that_turn_the_engine_and_c182_no_longer()
 {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    let reason = async |key: &str| {
        for _ in 0..6 {
            engine.fail_next(Hook::CommitTurn);
        }
        begin(&host, "s", key).await.engine()
    };
    assert_eq!(reason("t1").await.mode, TurnMode::Configured);
    assert!(is_queued(&told(&host, "s", "t1").await));
    let degraded = reason("t2").await;
    assert_eq!(degraded.mode, TurnMode::LegacyDegraded);
    let why = degraded.reason.unwrap();
    assert!(why.contains("pending durable turn advancement"), "{why}");
    // Another session is not held back by it, and one whose rows got there has its engine again.
    let other = begin(&host, "other", "o1").await;
    assert_eq!(other.engine().mode, TurnMode::Configured);
    soon(async {
        while begin(&host, "s", "t3").await.engine().mode == TurnMode::LegacyDegraded {}
    })
    .await;
    assert_eq!(committed(&engine), ["t1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c178_c193_a_turn_that_did_not_complete_is_never_told() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    for outcome in [
        TurnOutcome::Aborted,
        TurnOutcome::PromptError,
        TurnOutcome::YieldAborted,
    ] {
        let turn = begin(&host, "s", "stopped").await;
        let recorded = turn.record(outcome, end("stopped")).await;
        assert!(matches!(recorded, Recorded::Discarded));
        assert!(host.outbox().unwrap().rows().unwrap().is_empty());
    }
    // One of which nobody heard again is forgotten by the next one.
    drop(begin(&host, "s", "lost").await);
    assert!(is_queued(&told(&host, "s", "t1").await));
    emptied(host.outbox().unwrap()).await;
    assert!(host.outbox().unwrap().rows().unwrap().is_empty());
    assert_eq!(committed(&engine), ["t1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c186_an_engine_that_promises_durability_without_the_method_is_told_nothing() {
    let (desk, engine) = (Desk::new(), declaring(RecordingEngine::new()));
    let without = Hook::ALL
        .into_iter()
        .filter(|hook| *hook != Hook::CommitTurn);
    let engine = Failing::of(engine.with_methods(without));
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    let turn = begin(&host, "s", "t1").await;
    assert_eq!(turn.engine().mode, TurnMode::LegacyDegraded);
    assert!(!turn.is_journaled());
    let recorded = turn.record(TurnOutcome::Completed, end("t1")).await;
    assert!(matches!(recorded, Recorded::NotJournaled));
    assert!(host.outbox().unwrap().rows().unwrap().is_empty());
    assert_eq!(engine.hooks(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_entry_of_another_session_is_not_committed() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let host = desk.host(Policy::Lease);
    let mut admission = admission("t1");
    admission.anchor.session_id = "s".to_owned();
    let admission = Admission::Recorded(admission);
    let turn = host.turn(&session("s"), admission).await.unwrap();
    let mut moved = end("t1");
    moved.terminal.session_id = "s-2".to_owned();
    let recorded = turn.record(TurnOutcome::Completed, moved).await;
    assert!(matches!(recorded, Recorded::Mismatch));
    assert_eq!(host.outbox().unwrap().status(ENGINE).unwrap().pending, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_4_a_turn_that_its_engine_failed_is_still_committed() {
    for policy in POLICIES {
        let (desk, engine) = (Desk::new(), durable());
        let _running = desk.place.serve(engine.clone()).await;
        let host = desk.host(policy);
        let turn = begin(&host, "s", "t1").await;
        if policy == Policy::Lease {
            engine.fail_next(Hook::Assemble);
        }
        let view = crate::harness::view(&crate::harness::transcript(2));
        let _served = turn.assemble(&session("s"), view).await.unwrap();
        assert!(is_queued(
            &turn.record(TurnOutcome::Completed, end("t1")).await
        ));
        emptied(host.outbox().unwrap()).await;
        assert_eq!(committed(&engine), ["t1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_3_a_turn_without_ids_is_read_from_the_hosts_store_when_it_is_delivered() {
    let (desk, engine) = (Desk::new(), durable());
    let _running = desk.place.serve(engine.clone()).await;
    let store = AnyStore::new(MemoryStore::with_entry_ids());
    let turns = StoredTurns::new();
    let options = OutboxOptions {
        source: Some(turns.clone().into()),
        ..OutboxOptions::default()
    };
    let host = desk.host_with(Policy::Lease, options);
    let said = |id: &str, role: &str| {
        let payload = format!(r#"{{"role":"{role}", "content":"{id}","private":1e400}}"#);
        NewEntry::message(payload, 0).with_id(NativeId::new(id).unwrap())
    };
    let entries = vec![
        said("u1", "user"),
        said("a1", "assistant"),
        said("u2", "user"),
    ];
    let ids = store.append(entries).await.unwrap();
    let anchor = async |place: usize| store.anchor(ids[place].clone()).await.unwrap().unwrap();
    let admission = TurnAdmission {
        anchor: anchor(0).await,
        ..admission("t1")
    };
    let admission = Admission::Recorded(admission);
    let turn = host.turn(&session("s"), admission).await.unwrap();
    let recorded = RecordedEnd {
        terminal: anchor(1).await,
        messages: None,
        ..RecordedEnd::default()
    };
    let recorded = turn.record(TurnOutcome::Completed, recorded).await;
    assert!(is_queued(&recorded));
    turns.add(SessionId::new("s").unwrap(), store.clone());
    // The transcript is there by the next turn at the latest.
    let next = begin(&host, "s", "t2").await;
    assert_eq!(next.engine().mode, TurnMode::Configured);
    let seen = engine.seen.seen();
    let SeenRequest::CommitTurn(sent) = &seen[0].request else {
        panic!("a turn")
    };
    let log = store.log().await.unwrap();
    let expected: Vec<Message> = log.range(0..2).cloned().collect();
    assert_eq!(sent.messages, expected);
    assert_eq!(sent.messages[1].entry_id().as_str(), "a1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_what_waits_and_without_an_outbox_nothing() {
    let desk = Desk::new();
    let host = desk.host(Policy::Guarded);
    assert!(is_queued(&told(&host, "s", "t1").await));
    let status = host.status().outbox.unwrap();
    assert_eq!((status.pending, status.pending_lanes), (1, 1));
    assert!(status.oldest_pending_ms.is_some());
    host.select("legacy");
    assert_eq!(host.status().outbox.unwrap().deselected, 1);

    let bare = Host::builder()
        .engine(ENGINE, desk.place.target())
        .build()
        .unwrap();
    assert_eq!(bare.status().outbox, None);
    let turn = begin(&bare, "s", "t2").await;
    assert!(!turn.is_journaled());
    let recorded = turn.record(TurnOutcome::Completed, end("t2")).await;
    assert!(matches!(recorded, Recorded::NotJournaled));
}
