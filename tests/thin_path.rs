//! The thin path: a hook across a socket and back, and who answers when the engine does not.

use std::time::Duration;

use contextwire_client::{
    ClientOptions, Context, FailureClass, OnEngineFailure, Policy, Served, ServedBy,
};
use contextwire_engine::testing::{Script, ScriptedEngine};
use contextwire_engine::{Assemble, Compact, Hook, Ingest, Ingested, PromptAuthority, Transcript};
use contextwire_proto::handshake::EngineState;

use crate::harness::{Place, TestEngine, message, session, soon, transcript, view};

/// Long enough for an engine on a loaded machine, short enough to wait for.
const DEADLINE: Duration = Duration::from_millis(1500);

fn by_engine() -> ServedBy {
    ServedBy::Engine("scripted".to_owned())
}

/// Who served and why not the engine, with the code of its reason.
fn origin<T>(served: &Served<T>) -> (ServedBy, Option<&'static str>) {
    (
        served.by.clone(),
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

/// Whether every message is the caller's own object, all of them in order.
fn is_the_callers_own(context: &Context, list: &Transcript) -> bool {
    let messages: Vec<_> = context.messages().collect();
    messages.len() == list.len()
        && messages
            .iter()
            .zip(list.iter())
            .all(|(got, own)| got.is_same_object(own))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_says_what_it_is() {
    for place in Place::each() {
        let _engine = place.serve(ScriptedEngine::default()).await;
        let engine = place.client().describe(DEADLINE).await.unwrap();
        assert_eq!(
            (engine.info.id.as_str(), engine.state),
            ("scripted", EngineState::Ready)
        );
        let required = [Hook::Describe, Hook::Ingest, Hook::Assemble, Hook::Compact];
        assert_eq!(engine.info.methods, required);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assemble_that_keeps_everything_gives_the_callers_own_objects() {
    for place in Place::each() {
        let engine = ScriptedEngine::default();
        let _running = place.serve(engine.clone()).await;
        let list = transcript(9);
        let served = place
            .client()
            .assemble(&session("s"), view(&list))
            .await
            .unwrap();
        assert_eq!(origin(&served), (by_engine(), None));
        assert!(is_the_callers_own(&served.result, &list));
        assert!(served.result.estimated_tokens() > 0);
        assert_eq!(engine.assembles(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_ingested() {
    for place in Place::each() {
        let engine = ScriptedEngine::default();
        let _running = place.serve(engine.clone()).await;
        let request = Ingest {
            message: message(0),
            is_heartbeat: false,
        };
        let served = place.client().ingest(&session("s"), request).await.unwrap();
        assert_eq!(origin(&served), (by_engine(), None));
        assert_eq!(
            (served.result, engine.ingests()),
            (Ingested { ingested: true }, 1)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_2_compact_answers_not_ok_with_a_reason() {
    for place in Place::each() {
        let _running = place.serve(ScriptedEngine::default()).await;
        let served = place
            .client()
            .compact(&session("s"), Compact::default())
            .await
            .unwrap();
        assert_eq!(origin(&served), (by_engine(), None));
        assert!(!served.result.ok && !served.result.compacted);
        assert_eq!(
            served.result.reason.as_deref(),
            Some("HOST_CALL_UNAVAILABLE")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_engine_is_replaced_at_once_and_serves_again_after_its_restart() {
    for place in Place::each() {
        let (client, list) = (place.direct(), transcript(9));
        let assemble = || async {
            let served = client.assemble(&session("s"), view(&list)).await.unwrap();
            assert!(is_the_callers_own(&served.result, &list), "{place:?}");
            origin(&served)
        };
        let running = place.serve(ScriptedEngine::default()).await;
        assert_eq!(assemble().await, (by_engine(), None), "{place:?}");
        running.kill().await;
        for _ in 0..2 {
            assert_eq!(
                assemble().await,
                (ServedBy::InProcess, Some("UNREACHABLE")),
                "{place:?}"
            );
        }
        let running = place.serve(ScriptedEngine::default()).await;
        assert_eq!(assemble().await, (by_engine(), None), "{place:?}");
        running.stop().await.unwrap();
        assert_eq!(
            assemble().await,
            (ServedBy::InProcess, Some("UNREACHABLE")),
            "{place:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_comes_back_as_another_one_is_known_by_its_new_name() {
    let (place, list) = (Place::new(), transcript(3));
    let client = place.direct();
    let assemble = async || {
        client
            .assemble(&session("s"), view(&list))
            .await
            .unwrap()
            .by
    };
    let running = place.serve(ScriptedEngine::default()).await;
    assert_eq!(assemble().await, by_engine());
    running.kill().await;
    assert_eq!(assemble().await, ServedBy::InProcess);
    let _running = place.serve(TestEngine::keep()).await;
    assert_eq!(assemble().await, ServedBy::Engine("test".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_was_down_from_the_start_serves_once_it_is_up() {
    for place in Place::each() {
        let (client, list) = (place.direct(), transcript(3));
        let served = client.assemble(&session("s"), view(&list)).await.unwrap();
        assert_eq!(
            origin(&served),
            (ServedBy::InProcess, Some("UNREACHABLE")),
            "{place:?}"
        );
        let ingest = Ingest {
            message: message(0),
            is_heartbeat: false,
        };
        let neutral = client.ingest(&session("s"), ingest).await.unwrap();
        assert_eq!(origin(&neutral), (ServedBy::InProcess, Some("UNREACHABLE")));
        assert_eq!(neutral.result, Ingested { ingested: false });
        let error = client
            .compact(&session("s"), Compact::default())
            .await
            .unwrap_err();
        assert_eq!(
            error.code(),
            "UNREACHABLE",
            "a failed compact has no substitute"
        );

        let _running = place.serve(ScriptedEngine::default()).await;
        let served = client.assemble(&session("s"), view(&list)).await.unwrap();
        assert_eq!(origin(&served), (by_engine(), None), "{place:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overrun_is_answered_in_process_and_the_engines_work_stops() {
    for place in Place::each() {
        let engine = ScriptedEngine::new([Script::Keep, Script::Hang]);
        let _running = place.serve(engine.clone()).await;
        let (client, list) = (place.direct(), transcript(3));
        client.assemble(&session("s"), view(&list)).await.unwrap();

        let late = client
            .assemble_within(&session("s"), view(&list), DEADLINE)
            .await
            .unwrap();
        assert_eq!(
            origin(&late),
            (ServedBy::InProcess, Some("DEADLINE_EXCEEDED"))
        );
        assert!(is_the_callers_own(&late.result, &list));
        soon(engine.stopped()).await;
        let next = client.assemble(&session("s"), view(&list)).await.unwrap();
        assert_eq!(
            (origin(&next), engine.assembles()),
            ((by_engine(), None), 3)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_in_process_answer_never_lets_the_host_skip_its_own_check() {
    let place = Place::new();
    let list = transcript(3);
    let served = place
        .client()
        .assemble(&session("s"), view(&list))
        .await
        .unwrap();
    let contextwire_engine::AssembleOutcome::Messages(reply) = &served.result.outcome else {
        panic!("messages")
    };
    assert_eq!(
        reply.prompt_authority,
        Some(PromptAuthority::PreassemblyMayOverflow)
    );
    assert!(reply.estimated_tokens > 0, "an honest estimate");
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_5_where_nothing_is_substituted_the_failure_is_typed() {
    let place = Place::new();
    let options = ClientOptions {
        on_engine_failure: OnEngineFailure::Fail,
        policy: Policy::Direct,
        ..ClientOptions::default()
    };
    let client = place.client_with(&options);
    let down = client
        .assemble(&session("s"), Assemble::default())
        .await
        .unwrap_err();
    assert_eq!(
        (down.code(), down.class()),
        ("UNREACHABLE", FailureClass::Transient)
    );

    let engine = ScriptedEngine::new([Script::Panic, Script::Keep, Script::Hang]);
    let _running = place.serve(engine.clone()).await;
    let broken = client
        .assemble(&session("s"), Assemble::default())
        .await
        .unwrap_err();
    assert_eq!(
        (broken.code(), broken.class()),
        ("ENGINE_FAILURE", FailureClass::Engine)
    );
    client
        .assemble(&session("s"), Assemble::default())
        .await
        .unwrap();
    let request = Assemble::default();
    let late = client
        .assemble_within(&session("s"), request, DEADLINE)
        .await
        .unwrap_err();
    assert_eq!(
        (late.code(), late.class()),
        ("DEADLINE_EXCEEDED", FailureClass::Transient)
    );
}
