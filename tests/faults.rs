//! Engines that fail, panic, hang or answer nonsense, and callers that leave: each costs its own
//! call and nothing else (R1.5, R6.2 to R6.5).

use std::time::Duration;

use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::testing::{Script, ScriptedEngine};
use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, ErrorKind, HookContext, Ingest, Ingested, Message,
};
use contextwire_proto::Reason;
use contextwire_server::ServerOptions;
use tokio::task::JoinSet;
use tonic::Code;

use crate::harness::{
    Gate, PATIENT, Place, Proxy, RawAssemble, TestEngine, message, refusal, session, start, stub,
    transcript, view,
};

/// Who serves an Assemble of three messages, and why not the engine.
async fn origin(client: &EngineClient) -> (ServedBy, Option<&'static str>) {
    let list = transcript(3);
    let served = client.assemble(&session("s"), view(&list)).await.unwrap();
    let messages: Vec<_> = served.result.messages().collect();
    assert!(
        messages
            .iter()
            .zip(list.iter())
            .all(|(got, own)| got.is_same_object(own))
    );
    assert_eq!(messages.len(), 3);
    (
        served.by,
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

fn by(id: &str) -> (ServedBy, Option<&'static str>) {
    (ServedBy::Engine(id.to_owned()), None)
}

fn in_process(reason: &'static str) -> (ServedBy, Option<&'static str>) {
    (ServedBy::InProcess, Some(reason))
}

/// Each line of the script gives this reason, the call after it works, all on one connection.
async fn each_gives(lines: Vec<(Script, &'static str)>) {
    for place in Place::each() {
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().direct();
        for (line, reason) in lines.iter().map(|(line, reason)| (copy(line), *reason)) {
            let running = place.serve(ScriptedEngine::new([Script::Keep, line])).await;
            // The first call after a restart may still find the old connection.
            while origin(&client).await != by("scripted") {}
            let connections = proxy.connections();
            assert_eq!(origin(&client).await, in_process(reason));
            assert_eq!(origin(&client).await, by("scripted"), "after {reason}");
            assert_eq!(
                proxy.connections(),
                connections,
                "{reason} on the same connection"
            );
            running.stop().await.unwrap();
        }
    }
}

fn copy(line: &Script) -> Script {
    match line {
        Script::Keep => Script::Keep,
        Script::Answer(messages) => Script::Answer(messages.clone()),
        Script::Fail(error) => Script::Fail(EngineError::new(error.kind(), error.message())),
        Script::Panic => Script::Panic,
        Script::Hang => Script::Hang,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_4_a_panic_ends_its_call_only() {
    each_gives(vec![(Script::Panic, "ENGINE_FAILURE")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_5_each_kind_of_failure_has_its_reason() {
    let fail = |kind| Script::Fail(EngineError::new(kind, "as the script says"));
    each_gives(vec![
        (fail(ErrorKind::Transient), "DEPENDENCY_UNAVAILABLE"),
        (fail(ErrorKind::Rejected), "INVALID_REQUEST"),
        // Nobody asked it to stop: it says that its time was over.
        (fail(ErrorKind::Cancelled), "DEADLINE_EXCEEDED"),
        (fail(ErrorKind::Unsupported), "METHOD_ABSENT"),
        (fail(ErrorKind::Failure), "ENGINE_FAILURE"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_7_ranges_outside_the_view_or_kept_twice_are_named_and_the_fallback_serves() {
    let mut twice = Assembled::keep(0..2);
    twice.push_keep(1..3);
    let mut again = Assembled::keep(0..3);
    again.push_insert(message(7));
    again.push_keep(2..3);
    each_gives(vec![
        (Script::Answer(Assembled::keep(0..4)), "CONTRACT_VIOLATION"),
        (Script::Answer(Assembled::keep(3..4)), "CONTRACT_VIOLATION"),
        (Script::Answer(twice.clone()), "CONTRACT_VIOLATION"),
        (Script::Answer(again), "CONTRACT_VIOLATION"),
    ])
    .await;

    let place = Place::new();
    let lines = [Script::Answer(twice.clone()), Script::Answer(twice)];
    let _running = place.serve(ScriptedEngine::new(lines)).await;
    // The server says so itself, where the engine's author sees it.
    let mut hook = RawAssemble::start(&stub(&place.target()), start(&transcript(3))).await;
    let status = hook.failure().await;
    assert_eq!(
        refusal(&status),
        (Code::Internal, Some(Reason::ContractViolation))
    );
    let served = place
        .client()
        .assemble(&session("s"), view(&transcript(3)))
        .await
        .unwrap();
    let reason = served.reason.unwrap().to_string();
    assert!(reason.contains("segment 1 keeps index 1 again"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_10_a_result_over_the_limit_is_too_large() {
    let place = Place::new();
    let large = Message::from_payload(format!(r#"{{"content":"{}"}}"#, "x".repeat(100 << 10)));
    let engine = TestEngine::of(move |_, list| {
        let mut messages = Assembled::keep(0..list.len());
        // Only the second conversation is answered at length.
        if list.len() == 2 {
            messages.push_insert(large.clone());
        }
        async move { Ok(messages) }
    });
    let options = ServerOptions {
        max_message_bytes: 64 << 10,
        ..ServerOptions::default()
    };
    let _running = place.serve_with(engine, options).await;
    let proxy = Proxy::to(&place).await;
    let client = proxy.place().direct();
    let served = client
        .assemble(&session("s"), view(&transcript(2)))
        .await
        .unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "MESSAGE_TOO_LARGE");
    assert_eq!(origin(&client).await, by("test"));
    assert_eq!(proxy.connections(), 1);
}

struct Panicking;

impl ContextEngine for Panicking {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("panicking", "Panics", "1.0.0")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        panic!("in ingest")
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        panic!("in compact")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_4_a_panic_in_ingest_or_compact_ends_its_call_only() {
    let place = Place::new();
    let _running = place.serve(Panicking).await;
    let proxy = Proxy::to(&place).await;
    let client = proxy.place().direct();
    for _ in 0..2 {
        let request = Ingest {
            message: message(0),
            is_heartbeat: false,
        };
        let ingested = client.ingest(&session("s"), request).await.unwrap();
        assert_eq!(ingested.reason.unwrap().code(), "ENGINE_FAILURE");
        assert_eq!(ingested.result, Ingested { ingested: false });
        let error = client
            .compact(&session("s"), Compact::default())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "ENGINE_FAILURE");
        assert_eq!(origin(&client).await, by("panicking"));
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_burst_of_dropped_calls_stops_their_engines_and_touches_no_other_call() {
    const BURST: u32 = 50;
    for place in Place::each() {
        let (hung, held) = (Gate::new(), Gate::new());
        let (hangs, holds) = (hung.clone(), held.clone());
        let engine = TestEngine::of(move |cx, list| {
            let gate = match cx.session.id.as_str() {
                "held" => holds.clone(),
                _ => hangs.clone(),
            };
            async move {
                gate.pass().await;
                Ok(Assembled::keep(0..list.len()))
            }
        });
        let _running = place.serve(engine).await;
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().direct();
        let call = |id: &'static str| {
            let client = client.clone();
            async move {
                let request = view(&transcript(3));
                client
                    .assemble_within(&session(id), request, PATIENT)
                    .await
                    .unwrap()
                    .by
            }
        };
        let running = tokio::spawn(call("held"));
        held.arrived(1).await;
        for _ in 0..2 {
            let mut burst = JoinSet::new();
            (0..BURST).for_each(|_| drop(burst.spawn(call("dropped"))));
            hung.arrived(BURST).await;
            burst.shutdown().await;
            hung.left(BURST).await;
        }
        assert_eq!(held.gone(), 0, "the other call still runs");
        held.open();
        assert_eq!(running.await.unwrap(), ServedBy::Engine("test".to_owned()));
        assert_eq!(call("held").await, ServedBy::Engine("test".to_owned()));
        assert_eq!(proxy.connections(), 1, "{place:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_burst_of_overruns_leaves_the_connection_alone() {
    let (place, gate) = (Place::new(), Gate::new());
    let _running = place.serve(gate.engine()).await;
    let proxy = Proxy::to(&place).await;
    let client = proxy.place().direct();
    client.describe(PATIENT).await.unwrap();
    let mut burst = JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        burst.spawn(async move {
            let deadline = Duration::from_secs(2);
            let served = client
                .assemble_within(&session("s"), view(&transcript(3)), deadline)
                .await;
            served.unwrap().reason.unwrap().code()
        });
    }
    gate.arrived(50).await;
    assert_eq!(burst.join_all().await, ["DEADLINE_EXCEEDED"; 50]);
    gate.left(50).await;
    gate.open();
    assert_eq!(origin(&client).await, by("test"));
    assert_eq!(proxy.connections(), 1);
}

/// Computes without ever waiting, until the call is cancelled.
fn compute(cx: &HookContext) {
    while !cx.is_cancelled() {
        std::thread::yield_now();
    }
}

/// An engine that computes in every session but `s`.
fn computing(gate: &Gate) -> TestEngine {
    let gate = gate.clone();
    gate.open();
    TestEngine::of(move |cx, list| {
        let gate = gate.clone();
        async move {
            if cx.session.id.as_str() != "s" {
                gate.pass().await;
                compute(&cx);
                assert!(!cx.remaining().is_zero(), "told by the clock only");
                gate.pass().await;
            }
            Ok(Assembled::keep(0..list.len()))
        }
    })
}

async fn compute_for_ever(client: EngineClient) {
    let request = view(&transcript(3));
    let session = session("computing");
    drop(client.assemble_within(&session, request, PATIENT).await);
}

/// An engine that never awaits can only be asked; more of them than the server has threads hold up
/// nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn engines_that_compute_hold_up_nobody_and_are_told_when_nobody_waits_for_them() {
    let (place, gate) = (Place::new(), Gate::new());
    let _running = place.serve(computing(&gate)).await;
    let client = place.client();
    let mut calls = JoinSet::new();
    for _ in 0..4 {
        calls.spawn(compute_for_ever(client.clone()));
    }
    gate.arrived(4).await;
    assert_eq!(origin(&client).await, by("test"));
    assert_eq!(origin(&place.client()).await, by("test"));
    calls.shutdown().await;
    gate.arrived(4).await;
}
