//! What a host sees that guards its engine: over real sockets, engines that fail and come back.

use std::time::Duration;

use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::testing::{Script, ScriptedEngine};
use contextwire_engine::{EngineError, ErrorKind};

use crate::harness::{Place, TestEngine, session, soon, transcript, view};

/// Who serves an Assemble of three messages, and why not the engine.
async fn origin(client: &EngineClient) -> (ServedBy, Option<&'static str>) {
    let request = view(&transcript(3));
    let served = client.assemble(&session("s"), request).await.unwrap();
    (
        served.by,
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

fn by_engine() -> (ServedBy, Option<&'static str>) {
    (ServedBy::Engine("test".to_owned()), None)
}

fn in_process(reason: &'static str) -> (ServedBy, Option<&'static str>) {
    (ServedBy::InProcess, Some(reason))
}

#[tokio::test(flavor = "multi_thread")]
async fn br_166_an_engine_that_is_away_is_left_alone_and_takes_over_again_by_itself() {
    for place in Place::each() {
        let client = place.client();
        let running = place.serve(TestEngine::keep()).await;
        assert_eq!(origin(&client).await, by_engine());
        running.kill().await;
        assert_eq!(origin(&client).await, in_process("UNREACHABLE"));
        assert_eq!(origin(&client).await, in_process("UNREACHABLE"));
        assert_eq!(origin(&client).await, in_process("BREAKER_OPEN"));
        let engine = TestEngine::keep();
        let _running = place.serve(engine.clone()).await;
        soon(async { while origin(&client).await != by_engine() {} }).await;
        assert_eq!(engine.requests().len(), 1, "one real hook decides");
        assert_eq!(origin(&client).await, by_engine());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn describing_by_hand_opens_no_breaker_and_closes_none() {
    let place = Place::new();
    let client = place.client();
    for _ in 0..5 {
        client.describe(Duration::from_secs(5)).await.unwrap_err();
    }
    assert_eq!(origin(&client).await, in_process("UNREACHABLE"));
    assert_eq!(origin(&client).await, in_process("UNREACHABLE"));
    let _running = place.serve(TestEngine::keep()).await;
    client.describe(Duration::from_secs(5)).await.unwrap();
    assert_eq!(origin(&client).await, in_process("BREAKER_OPEN"));
}

#[tokio::test(flavor = "multi_thread")]
async fn br_148_a_connection_that_went_away_costs_a_second_try_and_no_turn() {
    for place in Place::each() {
        let client = place.client();
        for _ in 0..5 {
            let running = place.serve(TestEngine::keep()).await;
            assert_eq!(origin(&client).await, by_engine(), "{place:?}");
            running.stop().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_8_an_engine_that_is_overloaded_for_a_moment_keeps_its_turn() {
    let busy = EngineError::new(ErrorKind::Transient, "the database is restarting");
    let engine = ScriptedEngine::new([Script::Fail(busy)]);
    let place = Place::new();
    let _running = place.serve(engine.clone()).await;
    let served = place
        .client()
        .assemble(&session("s"), view(&transcript(3)))
        .await
        .unwrap();
    assert_eq!(served.by, ServedBy::Engine("scripted".to_owned()));
    assert_eq!(engine.assembles(), 2);
}
