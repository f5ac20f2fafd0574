//! The end of a server: health first, running hooks finish, new ones are refused, and `run` ends
//! whatever its hosts do (PROTOCOL 11). Health and reflection before that.

use std::time::Duration;

use contextwire_client::{CallError, ServedBy};
use contextwire_engine::{Ingest, Ingested};
use contextwire_proto::Reason;
use contextwire_proto::handshake::EngineState;
use contextwire_proto::status::retry_delay;
use contextwire_proto::v1;
use contextwire_server::ServerOptions;
use tokio::io::AsyncReadExt;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::harness::{
    Gate, Http2, Place, RawAssemble, RawCompact, TestEngine, channel, connect, message, refusal,
    session, soon, start, stub, transcript, view,
};

const SERVICE: &str = "contextengine.v1.ContextEngineService";

async fn health(channel: &Channel, service: &str) -> ServingStatus {
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let answer = soon(HealthClient::new(channel.clone()).check(request))
        .await
        .unwrap();
    answer.into_inner().status()
}

/// Ends when the server refuses new hooks; by then its health must say so.
async fn drains(place: &Place) {
    let client = place.direct();
    let draining = async {
        while client
            .describe(Duration::from_secs(30))
            .await
            .unwrap()
            .state
            != EngineState::Draining
        {}
    };
    soon(draining).await;
    for service in ["", SERVICE] {
        assert_eq!(
            health(&channel(&place.target()), service).await,
            ServingStatus::NotServing
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_lif_01_health_answers_per_service_and_overall() {
    for place in Place::each() {
        let _running = place.serve(TestEngine::keep()).await;
        let channel = channel(&place.target());
        assert_eq!(health(&channel, "").await, ServingStatus::Serving);
        assert_eq!(health(&channel, SERVICE).await, ServingStatus::Serving);
        let request = HealthCheckRequest {
            service: "nobody".to_owned(),
        };
        let unknown = HealthClient::new(channel).check(request).await.unwrap_err();
        assert_eq!(unknown.code(), Code::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_names_the_service_and_knows_its_messages() {
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    let mut client = ServerReflectionClient::new(channel(&place.target()));
    let ask = |message| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(message),
    };
    let requests = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(
            "contextengine.v1.TranscriptUpdate".to_owned(),
        )),
    ];
    let requests = tokio_stream::iter(requests);
    let mut answers = soon(client.server_reflection_info(requests))
        .await
        .unwrap()
        .into_inner();
    let mut next = async || {
        soon(answers.message())
            .await
            .unwrap()
            .unwrap()
            .message_response
    };
    let Some(MessageResponse::ListServicesResponse(list)) = next().await else {
        panic!("services")
    };
    let names: Vec<_> = list
        .service
        .into_iter()
        .map(|service| service.name)
        .collect();
    assert!(names.iter().any(|name| name == SERVICE), "{names:?}");
    assert!(
        names.iter().any(|name| name == "grpc.health.v1.Health"),
        "{names:?}"
    );
    let Some(MessageResponse::FileDescriptorResponse(files)) = next().await else {
        panic!("a file")
    };
    assert!(!files.file_descriptor_proto.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn e_lif_03_a_running_hook_finishes_and_a_new_one_is_told_to_come_back() {
    for place in Place::each() {
        let gate = Gate::new();
        let running = place
            .serve(gate.engine().with_ingest_at(&gate).with_compact_at(&gate))
            .await;
        let stub = stub(&place.target());
        let mut assemble = RawAssemble::start(&stub, start(&transcript(3))).await;
        let mut compact = RawCompact::start(&stub, &session("s")).await;
        let client = place.direct();
        let ingest = tokio::spawn({
            let client = client.clone();
            let request = Ingest {
                message: message(0),
                is_heartbeat: false,
            };
            async move { client.ingest(&session("s"), request).await.unwrap() }
        });
        gate.arrived(3).await;
        running.begin_stop();
        drains(&place).await;

        let status = RawAssemble::try_open(&stub).await.unwrap_err();
        assert_eq!(
            refusal(&status),
            (Code::Unavailable, Some(Reason::Draining))
        );
        assert!(retry_delay(&status).is_some());
        let served = client
            .assemble(&session("s"), view(&transcript(3)))
            .await
            .unwrap();
        assert_eq!(served.by, ServedBy::InProcess);
        let reason = served.reason.unwrap();
        let CallError::Refused {
            reason: Reason::Draining,
            retry_after: Some(_),
            ..
        } = &*reason
        else {
            panic!("a refusal with a delay, not {reason:?}")
        };

        assert_eq!(gate.gone(), 0, "the running hooks were left alone");
        gate.open();
        assert_eq!(assemble.kept().await, [(0, 3)]);
        assert!(compact.next().await.unwrap().is_some());
        let ingested = ingest.await.unwrap();
        assert!(ingested.reason.is_none(), "{:?}", ingested.reason);
        assert_eq!(ingested.result, Ingested { ingested: true });
        running.stop().await.unwrap();
        assert!(
            connect(&place.target()).await.is_err(),
            "nobody listens any more"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_watchers_are_told_of_the_drain() {
    let (place, gate) = (Place::new(), Gate::new());
    let running = place.serve(gate.engine()).await;
    let _hook = RawAssemble::start(&stub(&place.target()), start(&transcript(3))).await;
    gate.arrived(1).await;
    let mut health = HealthClient::new(channel(&place.target()));
    let request = HealthCheckRequest {
        service: SERVICE.to_owned(),
    };
    let mut watch = soon(health.watch(request)).await.unwrap().into_inner();
    let first = soon(watch.message()).await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    running.begin_stop();
    let next = soon(watch.message()).await.unwrap().unwrap();
    assert_eq!(next.status(), ServingStatus::NotServing);
    gate.open();
    // E-LIF-05: the watch is a stream that never ends by itself.
    running.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn br_158_run_ends_although_connections_stay_open() {
    for place in Place::each() {
        let options = ServerOptions {
            drain_grace: Duration::ZERO,
            ..ServerOptions::default()
        };
        let running = place.serve_with(TestEngine::keep(), options).await;
        let _silent = connect(&place.target()).await.unwrap();
        let client = place.direct();
        client
            .assemble(&session("s"), view(&transcript(3)))
            .await
            .unwrap();
        let _opened_only = RawAssemble::open(&stub(&place.target())).await;
        running.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_outlives_the_grace_ends_with_draining_and_its_engine_stops() {
    for place in Place::each() {
        let gate = Gate::new();
        let options = ServerOptions {
            drain_grace: Duration::ZERO,
            ..ServerOptions::default()
        };
        let engine = gate.engine().with_ingest_at(&gate).with_compact_at(&gate);
        let running = place.serve_with(engine, options).await;
        let stub = stub(&place.target());
        let mut assemble = RawAssemble::start(&stub, start(&transcript(3))).await;
        let mut compact = RawCompact::start(&stub, &session("s")).await;
        let client = place.direct();
        let request = Ingest {
            message: message(0),
            is_heartbeat: false,
        };
        let ingest =
            tokio::spawn(async move { client.ingest(&session("s"), request).await.unwrap() });
        gate.arrived(3).await;
        running.begin_stop();
        for status in [assemble.failure().await, compact.next().await.unwrap_err()] {
            assert_eq!(
                refusal(&status),
                (Code::Unavailable, Some(Reason::Draining))
            );
        }
        assert_eq!(ingest.await.unwrap().reason.unwrap().code(), "DRAINING");
        gate.left(3).await;
        running.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_told_to_go_only_when_its_last_hook_is_done() {
    for place in Place::each() {
        let gate = Gate::new();
        let running = place.serve(gate.engine()).await;
        let host = Http2::connect(&place.target(), 1 << 16).await;
        let mut held = host.open("Assemble").await;
        let frame = v1::assemble_request::Frame::Start(start(&transcript(3)));
        held.send(&v1::AssembleRequest { frame: Some(frame) });
        gate.arrived(1).await;
        running.begin_stop();
        drains(&place).await;
        // The connection still takes calls, or nobody could be told why not.
        let (status, _) = host.open("Assemble").await.head().await;
        assert_eq!(
            status.map(|status| refusal(&status)),
            Some((Code::Unavailable, Some(Reason::Draining)))
        );
        gate.open();
        let (status, mut answer) = held.head().await;
        assert!(status.is_none());
        assert!(soon(answer.data()).await.unwrap().is_ok());
        assert!(soon(answer.trailers()).await.unwrap().is_some());
        host.ended().await;
        running.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_158_what_does_not_close_is_cut_also_where_the_process_lives_on() {
    for place in Place::each() {
        let mut running = place.serve(TestEngine::keep()).await;
        let mut silent = connect(&place.target()).await.unwrap();
        running.begin_stop();
        running.ended().await.unwrap();
        // What the server said before, then the end, in whatever way.
        let _ended = soon(silent.read_to_end(&mut Vec::new())).await.is_ok();
    }
}
