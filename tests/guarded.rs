//! What a host sees that guards its engine: over real sockets, engines that fail and come back.

use std::time::Duration;

use contextwire_client::{
    ClientOptions, EngineClient, Policy, QuarantineOptions, Quarantines, ServedBy,
};
use contextwire_engine::testing::{Script, ScriptedEngine};
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    EngineError, EngineInfo, ErrorKind, HookContext, Ingest, Ingested, Message,
};

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
        // A call that finds its connection broken makes another one, and so may fail twice.
        let mut seen = vec![origin(&client).await];
        while seen.last() == Some(&in_process("UNREACHABLE")) {
            seen.push(origin(&client).await);
        }
        assert_eq!(seen.pop(), Some(in_process("BREAKER_OPEN")));
        assert!((1..=2).contains(&seen.len()), "{seen:?}");
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

#[tokio::test(flavor = "multi_thread")]
async fn r7_3_an_engine_that_panics_is_barred_until_somebody_releases_it() {
    let list = Quarantines::new();
    let options = ClientOptions {
        engine_id: Some("slot".to_owned()),
        quarantine: QuarantineOptions {
            list: list.clone(),
            ..QuarantineOptions::default()
        },
        ..ClientOptions::default()
    };
    let place = Place::new();
    let engine = ScriptedEngine::new([Script::Keep, Script::Panic]);
    let _running = place.serve(engine.clone()).await;
    let (client, other) = (place.client_with(&options), place.client_with(&options));
    let scripted = (ServedBy::Engine("scripted".to_owned()), None);
    assert_eq!(origin(&client).await, scripted);
    assert_eq!(client.active_info().unwrap().id, "scripted");
    assert_eq!(origin(&client).await, in_process("ENGINE_FAILURE"));
    for barred in [&client, &other] {
        assert_eq!(origin(barred).await, in_process("QUARANTINED"));
    }
    assert_eq!(client.active_info().unwrap().id, "legacy");
    assert_eq!(client.quarantine().unwrap().operation, "assemble");
    assert_eq!(engine.assembles(), 2, "asked no more");
    assert!(list.release("slot"));
    assert_eq!(origin(&client).await, scripted);
}

#[tokio::test(flavor = "multi_thread")]
async fn c159_c160_under_a_lease_a_failure_costs_its_turn_only() {
    let options = ClientOptions {
        policy: Policy::Lease,
        ..ClientOptions::default()
    };
    let place = Place::new();
    let engine = ScriptedEngine::new([Script::Panic]);
    let _running = place.serve(engine.clone()).await;
    let client = place.client_with(&options);
    assert_eq!(origin(&client).await, in_process("ENGINE_FAILURE"));
    assert_eq!(
        origin(&client).await,
        (ServedBy::Engine("scripted".to_owned()), None)
    );
    assert_eq!(client.quarantine(), None);
}

/// Owns compaction: summarises all but the last two messages.
struct Summarising;

impl ContextEngine for Summarising {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            owns_compaction: true,
            ..EngineInfo::new("test", "Summarises", "1.0.0")
        }
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let len = request.transcript.len();
        let mut messages = Assembled::new();
        messages.push_insert(Message::from_payload(
            r#"{"role":"user","content":"so far"}"#,
        ));
        messages.push_keep(len - 2..len);
        let AssembleOutcome::Messages(reply) = request.reply(messages) else {
            panic!("messages")
        };
        Ok(AssembleReply {
            system_prompt_addition: Some("be brief".to_owned()),
            ..reply
        }
        .into())
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("nothing to do"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_13_an_engine_that_owns_compaction_is_replaced_by_what_it_said_last() {
    let place = Place::new();
    let client = place.client();
    let running = place.serve(Summarising).await;
    let assemble = async |len| {
        let list = transcript(len);
        client.assemble(&session("s"), view(&list)).await.unwrap()
    };
    let served = assemble(400).await;
    assert_eq!(served.by, ServedBy::Engine("test".to_owned()));
    running.kill().await;
    let served = assemble(405).await;
    assert_eq!(served.by, ServedBy::InProcess);
    let messages: Vec<_> = served.result.messages().collect();
    assert!(messages[0].payload().ends_with(b"so far\"}"), "its summary");
    // Number 398 is the newest user message that both lists have.
    let own = transcript(405);
    assert!(messages[1..].iter().copied().eq(own.range(398..405)));
}
