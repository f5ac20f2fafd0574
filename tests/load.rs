//! A server that has enough to do: it refuses before it reads, says when to come back, and gives
//! room back however a call ends.

use contextwire_client::ServedBy;
use contextwire_engine::{Assembled, EngineError, HookId, Message, Transcript};
use contextwire_proto::convert::IngestRequest;
use contextwire_proto::status::{metadata, retry_delay};
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::{CallContext, Reason, v1};
use contextwire_server::ServerOptions;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::harness::{
    Gate, Http2, Place, RawAssemble, Stub, TestEngine, channel, message, refusal, session, soon,
    start, start_over, stub, transcript, view,
};

const OVERLOADED: (Code, Option<Reason>) = (Code::Unavailable, Some(Reason::Overloaded));

fn options(change: impl FnOnce(&mut ServerOptions)) -> ServerOptions {
    let mut options = ServerOptions::default();
    change(&mut options);
    options
}

fn one_hook() -> ServerOptions {
    options(|options| options.max_hooks = 1)
}

fn start_in(id: &str, list: &Transcript) -> v1::AssembleStart {
    start_over(&session(id), &Transcript::new(), list)
}

fn ingest(id: &str, message: Message) -> v1::IngestRequest {
    IngestRequest {
        call: CallContext::new(HookId::mint(), session(id)),
        request: contextwire_engine::Ingest {
            message,
            is_heartbeat: false,
        },
    }
    .into()
}

/// A list of one message with this many bytes.
fn large(bytes: usize) -> Transcript {
    let payload = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(bytes));
    [Message::from_payload(payload)].into_iter().collect()
}

/// What is refused says when to come back, and by which limit.
fn assert_overloaded(status: &Status, limit: &str) {
    assert_eq!(refusal(status), OVERLOADED, "{status}");
    assert!(retry_delay(status).is_some());
    assert_eq!(metadata(status)["limit"], limit);
}

/// Ends when there is room for a hook again: an answer may reach its host before the call is over.
async fn has_room(stub: &Stub) {
    let room = async {
        while let Err(status) = RawAssemble::try_open(stub).await {
            assert_eq!(refusal(&status), OVERLOADED);
        }
    };
    soon(room).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_over_the_limit_is_refused_and_describe_and_health_are_not() {
    for place in Place::each() {
        let gate = Gate::new();
        let two = options(|options| options.max_hooks = 2);
        let _running = place.serve_with(gate.engine(), two).await;
        let (stub, client) = (stub(&place.target()), place.direct());
        let mut held = [
            RawAssemble::start(&stub, start_in("a", &transcript(3))).await,
            RawAssemble::start(&stub, start_in("b", &transcript(3))).await,
        ];
        gate.arrived(2).await;

        // No frame was sent: the head of the answer is the refusal.
        let status = RawAssemble::try_open(&stub).await.unwrap_err();
        assert_overloaded(&status, "2");
        let request = ingest("c", message(0));
        let status = stub.clone().ingest(request).await.unwrap_err();
        assert_overloaded(&status, "2");
        let served = client.assemble(&session("c"), view(&transcript(3))).await;
        let served = served.unwrap();
        assert_eq!(served.by, ServedBy::InProcess);
        assert_eq!(served.reason.unwrap().code(), "OVERLOADED");

        let mut asking = stub.clone();
        let described = asking.describe(v1::DescribeRequest {
            protocol: Some(v1::ProtocolVersion { major: 1, minor: 3 }),
            ..v1::DescribeRequest::default()
        });
        let limits = soon(described).await.unwrap().into_inner().limits.unwrap();
        let defaults = ServerOptions::default();
        assert_eq!(limits.max_concurrent_hooks, Some(2));
        assert_eq!(limits.max_streams, Some(defaults.max_streams));
        assert_eq!(limits.max_tenant_bytes, Some(defaults.max_bytes_in_flight));
        let mut health = HealthClient::new(channel(&place.target()));
        soon(health.check(HealthCheckRequest::default()))
            .await
            .unwrap();

        gate.open();
        for hook in &mut held {
            assert_eq!(hook.kept().await, [(0, 3)]);
        }
        has_room(&stub).await;
        let served = client.assemble(&session("c"), view(&transcript(3))).await;
        assert_eq!(served.unwrap().by, ServedBy::Engine("test".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unary_hook_over_the_limit_is_refused_before_its_request_arrives() {
    for place in Place::each() {
        let gate = Gate::new();
        let _running = place.serve_with(gate.engine(), one_hook()).await;
        let _held = RawAssemble::start(&stub(&place.target()), start(&transcript(3))).await;
        gate.arrived(1).await;
        let host = Http2::connect(&place.target(), 1 << 16).await;
        let (status, _body) = host.open("Ingest").await.head().await;
        assert_overloaded(&status.expect("a status at once"), "1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_told_how_many_streams_it_may_have() {
    for place in Place::each() {
        let seven = options(|options| options.max_streams = 7);
        let _running = place.serve_with(TestEngine::keep(), seven).await;
        let host = Http2::connect(&place.target(), 1 << 16).await;
        let _answer = host.open("Maintain").await.head().await;
        assert_eq!(host.max_streams(), 7);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_over_its_own_limit_leaves_room_for_others() {
    let (place, gate) = (Place::new(), Gate::new());
    let one = options(|options| options.max_session_hooks = 1);
    let engine = gate.engine().with_ingest_at(&gate);
    let _running = place.serve_with(engine, one).await;
    let stub = stub(&place.target());
    let mut held = RawAssemble::start(&stub, start_in("a", &transcript(3))).await;
    gate.arrived(1).await;
    let mut second = RawAssemble::start(&stub, start_in("a", &transcript(3))).await;
    assert_overloaded(&second.failure().await, "1");
    let request = ingest("a", message(0));
    assert_overloaded(&stub.clone().ingest(request).await.unwrap_err(), "1");

    let mut other = RawAssemble::start(&stub, start_in("b", &transcript(3))).await;
    gate.arrived(1).await;
    gate.open();
    assert_eq!(other.kept().await, [(0, 3)]);
    assert_eq!(held.kept().await, [(0, 3)]);
    // Room in the session is given back before the answer leaves.
    let request = ingest("a", message(0));
    assert!(
        stub.clone()
            .ingest(request)
            .await
            .unwrap()
            .into_inner()
            .ingested
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_find_no_room_are_refused_and_a_call_that_never_fits_is_told_so() {
    for place in Place::each() {
        let gate = Gate::new();
        let kib_64 = options(|options| options.max_bytes_in_flight = 64 << 10);
        let engine = gate.engine().with_ingest_at(&gate);
        let _running = place.serve_with(engine, kib_64).await;
        let stub = stub(&place.target());
        let mut held = RawAssemble::start(&stub, start_in("a", &large(40 << 10))).await;
        gate.arrived(1).await;

        let mut second = RawAssemble::start(&stub, start_in("b", &large(40 << 10))).await;
        assert_overloaded(&second.failure().await, "65536");
        let request = ingest("b", large(40 << 10).iter().next().unwrap().clone());
        let status = stub.clone().ingest(request).await.unwrap_err();
        assert_overloaded(&status, "65536");
        let mut small = RawAssemble::start(&stub, start_in("b", &transcript(3))).await;
        gate.arrived(1).await;

        gate.open();
        assert_eq!(small.kept().await, [(0, 3)]);
        assert_eq!(held.kept().await, [(0, 1)]);
        let again = async {
            loop {
                let mut hook = RawAssemble::start(&stub, start_in("b", &large(40 << 10))).await;
                match hook.next().await {
                    Ok(frame) => break frame,
                    Err(status) => assert_eq!(refusal(&status), OVERLOADED),
                }
            }
        };
        assert!(Box::pin(soon(again)).await.is_some());

        let mut never = RawAssemble::start(&stub, start_in("c", &large(80 << 10))).await;
        let status = never.failure().await;
        let quota = (Code::ResourceExhausted, Some(Reason::Quota));
        assert_eq!(refusal(&status), quota, "{status}");
        assert_eq!(metadata(&status)["limit"], "65536");
    }
}

/// An engine whose Assemble ends in the way that the session is named after.
fn ending(gate: &Gate) -> TestEngine {
    let gate = gate.clone();
    TestEngine::of(move |cx, list| {
        let gate = gate.clone();
        async move {
            match cx.session.id.as_str() {
                "fails" => return Err(EngineError::rejected("as asked")),
                "panics" => panic!("as asked"),
                "answers" => {}
                _ => gate.pass().await,
            }
            Ok(Assembled::keep(0..list.len()))
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn room_is_given_back_however_a_call_ends() {
    for place in Place::each() {
        let gate = Gate::new();
        let _running = place.serve_with(ending(&gate), one_hook()).await;
        let stub = stub(&place.target());
        for way in ["answers", "fails", "panics", "runs out of time"] {
            has_room(&stub).await;
            let mut first = start_in(way, &transcript(3));
            first.call.as_mut().unwrap().budget_ms = 200;
            let mut hook = soon_started(&stub, first).await;
            assert_eq!(hook.next().await.is_ok(), way == "answers", "{way}");
        }
        gate.arrived(1).await;
        gate.left(1).await;
        for way in ["is cancelled", "is dropped"] {
            has_room(&stub).await;
            let hook = soon_started(&stub, start_in(way, &transcript(3))).await;
            gate.arrived(1).await;
            if way == "is cancelled" {
                hook.send(HostFrame::Cancel(v1::Cancel::default())).await;
            } else {
                drop(hook);
            }
            gate.left(1).await;
        }
        has_room(&stub).await;
    }
}

/// Starts a hook as soon as there is room for one.
async fn soon_started(stub: &Stub, first: v1::AssembleStart) -> RawAssemble {
    let open = async {
        loop {
            match RawAssemble::try_open(stub).await {
                Ok(hook) => break hook,
                Err(status) => assert_eq!(refusal(&status), OVERLOADED),
            }
        }
    };
    let hook = soon(open).await;
    hook.send(HostFrame::Start(first)).await;
    hook
}

#[tokio::test(flavor = "multi_thread")]
async fn br_154_many_calls_of_one_connection_all_finish() {
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    let stub = stub(&place.target());
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..1000 {
        let (stub, list) = (stub.clone(), large(10 << 10));
        calls.spawn(async move {
            let id = (call % 100).to_string();
            let mut hook = RawAssemble::start(&stub, start_in(&id, &list)).await;
            hook.kept().await
        });
    }
    let all = soon(calls.join_all()).await;
    assert!(all.iter().all(|kept| *kept == [(0, 1)]));
}
