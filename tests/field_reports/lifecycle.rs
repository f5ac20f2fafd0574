//! Lifecycle and versions.

use std::time::Duration;

use contextwire_client::lifecycle::{FinishedTurn, Opening, TurnDelta, finish, open};
use contextwire_client::{Call, EngineClient, Policy, ServedBy};
use contextwire_engine::testing::SeenRequest;
use contextwire_engine::{
    AfterTurn, Compact, EndSubagent, Hook, Maintain, PrepareSubagentSpawn, Scope, Session,
};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_legacy::{LegacyEngine, LegacyOptions};
use contextwire_windowed::WindowedEngine;

use super::{by, origin};
use crate::harness::{
    Failing, Gate, PATIENT, Place, Running, TestEngine, session, transcript, view,
};
use crate::lifecycle::Host;

/// For calls that nobody answers; long enough to reach the engine on a loaded machine.
const SHORT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn br_018_a_slow_end_of_a_turn_costs_its_deadline_and_the_next_one_tells_it_all() {
    let gate = Gate::new();
    let engine = Failing::with(&[Hook::AfterTurn]).holding(Hook::AfterTurn, &gate);
    let host = Host::of(engine, Policy::Guarded).await;
    let request = AfterTurn {
        transcript: transcript(3),
        ..AfterTurn::default()
    };
    let call = Call::new(session("s"), request.into(), SHORT);
    let served = host.client.call(call).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    // The engine may not even have been reached; then nothing waits there.
    assert_eq!(origin(&host.client).await, by("recording"));
    gate.open();
    let next = FinishedTurn {
        delta: TurnDelta::new(transcript(5), 3),
        ..FinishedTurn::default()
    };
    assert!(finish(&host.client, &session("s"), &next).await.is_well());
    let seen = host.engine.seen.seen().pop().unwrap();
    let SeenRequest::AfterTurn(told) = seen.request else {
        panic!("the turn")
    };
    assert_eq!(told.transcript.state(), transcript(5).state());
}

/// A host whose engine never ends its maintenance while the gate is shut.
async fn maintaining(gate: &Gate) -> Host {
    let methods = [Hook::Maintain, Hook::AfterTurn];
    let engine = Failing::with(&methods).holding(Hook::Maintain, gate);
    Host::of(engine, Policy::Guarded).await
}

fn maintenance(deadline: Duration) -> Call {
    let request = Maintain {
        background: true,
        ..Maintain::default()
    };
    Call::new(session("s"), request.into(), deadline)
}

/// A turn of the session, which has to be the engine's.
async fn a_turn(host: &Host) {
    assert_eq!(origin(&host.client).await, by("recording"));
    let turn = FinishedTurn {
        delta: TurnDelta::new(transcript(3), 1),
        ..FinishedTurn::default()
    };
    assert!(finish(&host.client, &session("s"), &turn).await.is_well());
}

#[tokio::test(flavor = "multi_thread")]
async fn br_020_maintenance_that_never_ends_is_given_up() {
    let host = maintaining(&Gate::new()).await;
    let served = host.client.call(maintenance(SHORT)).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "DEADLINE_EXCEEDED");
    a_turn(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn br_036_a_turn_goes_on_beside_maintenance() {
    let gate = Gate::new();
    let host = maintaining(&gate).await;
    let running = tokio::spawn({
        let client = host.client.clone();
        async move { client.call(maintenance(PATIENT)).await }
    });
    gate.arrived(1).await;
    a_turn(&host).await;
    gate.open();
    let served = running.await.unwrap().unwrap();
    assert_eq!(served.by, ServedBy::Engine("recording".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn br_025_the_end_of_a_child_is_complete_as_the_first_call_of_a_connection() {
    let place = Place::new();
    let engine = Failing::with(&[Hook::PrepareSubagentSpawn, Hook::EndSubagent]);
    let _running = place.serve(engine.clone()).await;
    let scope = Scope {
        agent_dir: Some("/agent".to_owned()),
        workspace_dir: Some("/work".to_owned()),
    };
    let spawn = PrepareSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        child_session_key: "child".to_owned(),
        ..PrepareSubagentSpawn::default()
    };
    let end = EndSubagent {
        spawn_id: Some("spawn".to_owned()),
        child_session_key: "child".to_owned(),
        reason: "deleted".to_owned(),
    };
    for request in [spawn.into(), end.into()] {
        let mut call = Call::new(session("s"), request, PATIENT);
        call.scope.clone_from(&scope);
        // Each over a connection of its own.
        let served = place.direct().call(call).await.unwrap();
        assert!(served.reason.is_none());
        assert_eq!(engine.seen.seen().pop().unwrap().cx.scope, scope);
    }
    assert_eq!(engine.hooks()[1], Hook::EndSubagent);
}

#[tokio::test(flavor = "multi_thread")]
async fn br_032_a_turn_that_was_counted_in_another_list_is_refused_by_the_field() {
    let host = Host::with(&[Hook::AfterTurn], Policy::Guarded).await;
    for (before, is_taken) in [(6, true), (7, false), (1600, false)] {
        let request = AfterTurn {
            transcript: transcript(6),
            pre_prompt_message_count: before,
            ..AfterTurn::default()
        };
        let served = host.client.after_turn(&session("s"), request).await;
        let reason = served.unwrap().reason;
        assert_eq!(reason.is_none(), is_taken, "{before}");
        if let Some(reason) = reason {
            assert_eq!(reason.code(), "INVALID_REQUEST");
            let text = reason.to_string();
            assert!(text.contains(&before.to_string()), "{text}");
        }
    }
    assert_eq!(host.engine.hooks(), [Hook::AfterTurn]);
}

#[tokio::test(flavor = "multi_thread")]
async fn br_040_every_call_of_a_turn_names_the_same_session() {
    let methods = [Hook::Bootstrap, Hook::Maintain, Hook::AfterTurn];
    let host = Host::with(&methods, Policy::Guarded).await;
    let whole = whole_session();
    let opening = Opening {
        log: transcript(2),
        ..Opening::default()
    };
    open(&host.client, &whole, opening).await;
    let request = view(&transcript(3));
    host.client.assemble(&whole, request).await.unwrap();
    let turn = FinishedTurn {
        delta: TurnDelta::new(transcript(4), 2),
        ..FinishedTurn::default()
    };
    finish(&host.client, &whole, &turn).await;
    let seen = host.engine.seen.seen();
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|seen| seen.cx.session == whole));
}

/// A session with everything that names one.
fn whole_session() -> Session {
    Session {
        key: Some("agent:main:main".to_owned()),
        agent_id: Some("main".to_owned()),
        previous_id: Some(session("before").id),
        ..session("s")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_042_a_locator_is_a_name_that_nobody_opens() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let _running = place.serve(ledger(&folder)).await;
    let client = place.direct();
    for (id, locator) in [
        ("one", "sqlite:main:1234:/no/such/file"),
        ("two", "agent:main:main"),
        ("three", "/"),
    ] {
        let located = Session {
            locator: Some(locator.to_owned()),
            ..session(id)
        };
        let opening = Opening {
            log: transcript(3),
            ..Opening::default()
        };
        let opened = open(&client, &located, opening).await;
        assert!(opened.failure.is_none(), "{locator}: {:?}", opened.failure);
        assert_eq!(opened.bootstrapped.unwrap().imported_messages, Some(3));
    }
}

fn ledger(folder: &tempfile::TempDir) -> LedgerEngine {
    let file = folder.path().join("ledger.sqlite3");
    LedgerEngine::open(&file, LedgerOptions::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn br_044_br_045_a_forced_compaction_with_nothing_to_do_is_an_answer_of_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    let places = [(); 4].map(|()| Place::new());
    let [first, second, third, fourth] = &places;
    let _running: [Running; 4] = [
        first.serve(WindowedEngine::new()).await,
        second
            .serve(LegacyEngine::new(LegacyOptions::default()))
            .await,
        third.serve(ledger(&folder)).await,
        fourth.serve(TestEngine::keep()).await,
    ];
    for place in &places {
        let client = place.client();
        let manual = Compact {
            force: true,
            ..Compact::default()
        };
        let served = client.compact(&session("s"), manual).await.unwrap();
        assert!(!served.result.compacted, "{:?}", served.result);
        assert!(served.result.reason.is_some());
        let successor = served.result.result.and_then(|result| result.session_id);
        assert_eq!(successor, None, "the session goes on");
        assert_ne!(turn_after(&client).await, ServedBy::InProcess);
    }
}

/// Who serves the turn after a compaction that was none.
async fn turn_after(client: &EngineClient) -> ServedBy {
    origin(client).await.0
}
