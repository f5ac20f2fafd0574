//! The transport.

use std::time::Duration;

use contextwire_client::{Call, EngineRequest, Policy};
use contextwire_engine::{
    AfterTurn, Bootstrap, CommitTurn, Compact, Dispose, EndSubagent, Hook, Ingest, IngestBatch,
    Maintain, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome,
};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::{by, origin};
use crate::harness::{Gate, Listener, Place, TestEngine, message, session, soon, transcript, view};
use crate::lifecycle::Host;

/// One request of every hook of a session.
fn every_request() -> Vec<EngineRequest> {
    let resolve = ResolveSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        outcome: SpawnOutcome::Started,
    };
    let ingest = Ingest {
        message: message(0),
        is_heartbeat: false,
    };
    vec![
        Bootstrap::default().into(),
        ingest.into(),
        IngestBatch::default().into(),
        view(&transcript(3)).into(),
        Compact::default().into(),
        AfterTurn::default().into(),
        CommitTurn::default().into(),
        Maintain::default().into(),
        PrepareSubagentSpawn::default().into(),
        resolve.into(),
        EndSubagent::default().into(),
        Dispose::default().into(),
    ]
}

/// The clock stands still and goes on by itself when nothing else can happen.
#[tokio::test(start_paused = true)]
async fn br_145_every_hook_of_a_silent_engine_ends_by_its_own_deadline() {
    let place = Place::new();
    let _silent = Listener::bind(&place.target()).await;
    let client = place.direct();
    for request in every_request() {
        let (hook, deadline) = (request.hook(), request.deadline());
        let started = Instant::now();
        let call = Call::new(session("s"), request, deadline);
        let outcome = client.call(call).await;
        assert!(started.elapsed() <= deadline, "{hook}");
        let reason = match &outcome {
            Ok(served) => served.reason.as_deref().expect("nobody serves"),
            Err(error) => error,
        };
        assert!(
            ["DEADLINE_EXCEEDED", "UNREACHABLE"].contains(&reason.code()),
            "{hook}: {reason}"
        );
    }
    let described = client.describe(Hook::Describe.profile().deadline).await;
    assert!(described.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn br_149_an_engine_that_drains_does_not_hold_up_the_one_that_takes_its_place() {
    for old in Place::each() {
        let gate = Gate::new();
        let draining = old.serve(gate.engine()).await;
        let client = old.direct();
        let held = tokio::spawn(async move { origin(&client).await });
        gate.arrived(1).await;
        draining.begin_stop();
        let new = old.another();
        let _running = new.serve(TestEngine::keep()).await;
        assert_eq!(origin(&new.direct()).await, by("test"));
        gate.open();
        assert_eq!(soon(held).await.unwrap(), by("test"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_163_a_connection_that_was_idle_until_it_broke_is_made_anew() {
    for place in Place::each() {
        let client = place.client();
        let running = place.serve(TestEngine::keep()).await;
        assert_eq!(origin(&client).await, by("test"));
        running.stop().await.unwrap();
        let engine = TestEngine::keep();
        let _running = place.serve(engine.clone()).await;
        assert_eq!(origin(&client).await, by("test"));
        assert_eq!(engine.requests().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_172_a_method_that_the_engine_lacks_is_no_failure_and_is_never_called() {
    let host = Host::with(&[], Policy::Guarded).await;
    let served = host
        .client
        .maintain(&session("s"), Maintain::default())
        .await;
    assert_eq!(served.unwrap().reason.unwrap().code(), "METHOD_ABSENT");
    let batch = IngestBatch {
        messages: vec![message(0)],
        is_heartbeat: false,
    };
    let served = host.client.ingest_batch(&session("s"), batch).await;
    assert_eq!(served.unwrap().reason.unwrap().code(), "METHOD_ABSENT");
    assert_eq!(host.engine.hooks(), []);
    assert_eq!(origin(&host.client).await, by("recording"));
}

#[tokio::test(flavor = "multi_thread")]
async fn br_177_a_client_that_is_gone_leaves_no_connection_behind() {
    for place in Place::each() {
        let listener = Listener::bind(&place.target()).await;
        let client = place.direct();
        let describing = tokio::spawn({
            let client = client.clone();
            async move { client.describe(Duration::from_mins(1)).await }
        });
        let mut socket = soon(listener.accept()).await;
        describing.abort();
        drop(client);
        let mut rest = Vec::new();
        // The end, or a reset; either way nobody is there.
        let _ended = soon(socket.read_to_end(&mut rest)).await.is_ok();
    }
}
