//! A host with engines in a slot, over real sockets: where calls go, and what becomes of a turn.

mod metadata;
mod spans;

use contextwire_client::engine::{Assemble, Site};
use contextwire_client::{
    Admission, ClientOptions, Hooks, Host, HostBuilder, Policy, QuarantineOptions, Quarantines,
    ServedBy,
};

use crate::harness::{Place, TestEngine, session, soon, transcript, view};

/// A builder whose quarantine is its own.
fn builder() -> HostBuilder {
    Host::builder().options(ClientOptions {
        quarantine: QuarantineOptions {
            list: Quarantines::new(),
            ..QuarantineOptions::default()
        },
        ..ClientOptions::default()
    })
}

/// Who serves, and why not the engine.
type Origin = (ServedBy, Option<&'static str>);

async fn origin_of(hooks: &Hooks, request: Assemble) -> Origin {
    let served = hooks.assemble(&session("s"), request).await.unwrap();
    (
        served.by,
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

async fn origin(hooks: &Hooks) -> Origin {
    origin_of(hooks, view(&transcript(3))).await
}

fn by_engine() -> Origin {
    (ServedBy::Engine("test".to_owned()), None)
}

fn degraded() -> Origin {
    (ServedBy::InProcess, Some("TURN_DEGRADED"))
}

#[tokio::test(flavor = "multi_thread")]
async fn switching_engines_leaves_sessions_their_history() {
    let (first, second) = (TestEngine::keep(), TestEngine::keep());
    let (at_first, at_second) = (Place::new(), Place::new());
    let _first = at_first.serve(first.clone()).await;
    let _second = at_second.serve(second.clone()).await;
    let host = builder()
        .engine("first", at_first.target())
        .engine("second", at_second.target())
        .build()
        .unwrap();
    let lists = [100, 101, 102, 103].map(transcript);
    for (engine, list) in ["first", "second", "first", "second"].iter().zip(&lists) {
        host.select(engine);
        let served = host.assemble(&session("s"), view(list)).await.unwrap();
        assert_eq!(served.by, by_engine().0, "{engine}");
        assert_eq!(served.result.messages().count(), list.len());
    }
    let [a, b, c, d] = lists;
    assert_eq!(first.seen(), [a, c]);
    assert_eq!(second.seen(), [b, d]);
    // Each still knows the session: the second time it was sent what it lacked.
    let status = host.status();
    let counts = status.engines.iter().map(|engine| {
        let base = engine.lists[0].base.as_ref().unwrap();
        assert_eq!(engine.lists[0].head.as_ref(), Some(base));
        base.count
    });
    assert_eq!(counts.collect::<Vec<_>>(), [102, 103]);
    assert_eq!(
        status.engines[0]
            .described
            .as_ref()
            .unwrap()
            .negotiated_minor,
        3
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_4_a_turn_ends_as_it_went_on_and_the_next_one_has_its_engine_again() {
    let place = Place::new();
    let host = builder()
        .engine("lossless", place.target())
        .build()
        .unwrap();
    let turn = async |name: &str| {
        let admission = Admission::Unrecorded(name.to_owned());
        host.turn(&session("s"), admission).await.unwrap()
    };
    let broken = turn("t1").await;
    assert_eq!(
        origin(&broken).await,
        (ServedBy::InProcess, Some("UNREACHABLE"))
    );
    let engine = TestEngine::keep();
    let _running = place.serve(engine.clone()).await;
    // It is there again, and the turn goes on without it.
    let in_loop = Assemble {
        site: Site::ToolLoop,
        ..view(&transcript(4))
    };
    assert_eq!(origin_of(&broken, in_loop).await, degraded());
    assert_eq!(origin(&broken).await, degraded());
    assert_eq!(engine.requests().len(), 0);
    broken.end();
    let mut number = 2;
    soon(async {
        loop {
            let turn = turn(&format!("t{number}")).await;
            if origin(&turn).await == by_engine() {
                return;
            }
            number += 1;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c159_c160_under_a_lease_an_engine_that_failed_has_the_next_turn() {
    use contextwire_engine::testing::{Script, ScriptedEngine};

    let place = Place::new();
    let _running = place.serve(ScriptedEngine::new([Script::Panic])).await;
    let host = builder()
        .engine("lossless", place.target())
        .policy(Policy::Lease)
        .build()
        .unwrap();
    let turn = async |name: &str| {
        let admission = Admission::Unrecorded(name.to_owned());
        host.turn(&session("s"), admission).await.unwrap()
    };
    let first = turn("t1").await;
    assert_eq!(
        origin(&first).await,
        (ServedBy::InProcess, Some("ENGINE_FAILURE"))
    );
    assert_eq!(origin(&first).await, degraded());
    let second = turn("t2").await;
    assert_eq!(
        origin(&second).await,
        (ServedBy::Engine("scripted".to_owned()), None)
    );
    assert_eq!(host.status().engines[0].quarantine, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_12_a_host_that_starts_while_its_engine_is_away_knows_whom_it_waits_for() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let started = || {
        let host = builder().engine("lossless", place.target());
        host.state_dir(folder.path()).build().unwrap()
    };
    let running = place.serve(TestEngine::keep()).await;
    let host = started();
    assert_eq!(host.active_info(), None);
    assert_eq!(origin(&host).await, by_engine());
    running.kill().await;
    // Written beside the conversation.
    soon(async {
        while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let restarted = soon(async {
        loop {
            let host = started();
            if host.active_info().is_some() {
                return host;
            }
        }
    });
    let host = restarted.await;
    assert_eq!(host.active_info().unwrap().id, "test");
    let described = host.status().engines[0].described.clone().unwrap();
    assert!(!described.is_current);
    assert_eq!(
        origin(&host).await,
        (ServedBy::InProcess, Some("UNREACHABLE"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_goes_away_tells_the_engines_that_it_called() {
    use contextwire_engine::Hook;
    use contextwire_engine::testing::RecordingEngine;

    let engine = RecordingEngine::new();
    let place = Place::new();
    let _running = place.serve(engine.clone()).await;
    let host = builder()
        .engine("lossless", place.target())
        .engine("away", Place::new().target())
        .build()
        .unwrap();
    origin(&host).await;
    host.dispose().await;
    assert_eq!(engine.hooks(), [Hook::Assemble, Hook::Dispose]);
}
