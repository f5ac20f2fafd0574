//! A session on an app-server: what its threads are told, and what survives of it.

mod app_server;
mod engine;

use contextwire_client::Host;
use contextwire_codex::{CodexError, CodexHost, CodexSettings, Injection, TurnReport};
use tempfile::TempDir;

use crate::harness::{Place, Running, session};
use app_server::AppServer;
use engine::EpochEngine;

/// Everything but the host, which comes and goes.
struct Session {
    codex: AppServer,
    engine: EpochEngine,
    place: Place,
    running: Option<Running>,
    folder: TempDir,
}

impl Session {
    async fn begin(epoch: &str) -> Self {
        let (place, engine) = (Place::new(), EpochEngine::default());
        engine.show(epoch);
        Self {
            codex: AppServer::new(),
            running: Some(place.serve(engine.clone()).await),
            engine,
            place,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    async fn host(&self) -> CodexHost {
        self.host_that(Injection::Items).await
    }

    async fn host_that(&self, injection: Injection) -> CodexHost {
        let engine = Host::builder().engine("epochs", self.place.target());
        let settings = CodexSettings {
            program: self.codex.program(),
            injection,
            ..CodexSettings::new(session("codex"), self.folder.path().join("state"))
        };
        CodexHost::open(engine.build().unwrap(), settings)
            .await
            .unwrap()
    }
}

/// Why, in which thread, and whether the context was sent.
fn said(turn: &TurnReport) -> (&str, &str, bool) {
    (&turn.reason, &turn.thread_id, turn.projected)
}

#[tokio::test]
async fn c261_c262_a_thread_is_told_once_an_epoch_and_its_engine_what_it_shows() {
    let place = Session::begin("e1").await;
    let mut host = place.host().await;
    let one = host.turn("one").await.unwrap();
    assert_eq!(said(&one), ("missing-thread-binding", "thread-0", true));
    assert_eq!(
        (one.epoch.as_deref(), one.answer.as_str()),
        (Some("e1"), "answer")
    );
    let two = host.turn("two").await.unwrap();
    let same = ("matching-thread-bootstrap-binding", "thread-0", false);
    assert_eq!(said(&two), same);
    host.close().await;

    let mut host = place.host().await;
    let three = host.turn("three").await.unwrap();
    assert_eq!(said(&three), same, "in another process of the host's");
    let told = [
        "summary of e1",
        "one",
        "answer",
        "two",
        "answer",
        "three",
        "answer",
    ];
    assert_eq!(place.codex.texts("thread-0"), told);
    place.engine.show("e2");
    let four = host.turn("four").await.unwrap();
    assert_eq!(said(&four), ("projection-mismatch", "thread-1", true));
    assert_eq!(
        place.codex.texts("thread-1"),
        ["summary of e2", "four", "answer"]
    );
    let e1 = || Some("e1".to_owned());
    assert_eq!(place.engine.known(), [None, e1(), e1(), e1()]);
    assert_eq!(
        place.engine.ingested(),
        8,
        "each prompt and each answer once"
    );
    host.close().await;
}

#[tokio::test]
async fn r10_3_a_context_whose_acknowledgement_is_missing_is_injected_into_another_thread() {
    let place = Session::begin("e1").await;
    for (injection, method) in [
        (Injection::Items, "thread/inject_items"),
        (Injection::QuotedText, "turn/start"),
    ] {
        let mut host = place.host_that(injection).await;
        host.turn("before").await.unwrap();
        place.engine.show(method);
        place.codex.die_in(method);
        let lost = host.turn("one").await;
        assert!(
            matches!(lost, Err(CodexError::AppServer { .. })),
            "{lost:?}"
        );
        let again = host.turn("two").await.unwrap();
        assert_eq!(again.reason, "unconfirmed-thread-binding");
        assert!(again.is_new_thread && again.projected);
        let told = place.codex.texts(&again.thread_id);
        let summary = format!("summary of {method}");
        let shown = told.iter().filter(|text| text.contains(&summary));
        assert_eq!(shown.count(), 1, "{told:?}");
        host.close().await;
    }
}

#[tokio::test]
async fn an_app_server_that_ends_is_started_again_and_its_thread_goes_on() {
    let place = Session::begin("e1").await;
    let mut host = place.host().await;
    host.turn("one").await.unwrap();
    place.codex.die_in("turn/start");
    let lost = host.turn("two").await;
    assert!(
        matches!(lost, Err(CodexError::AppServer { .. })),
        "{lost:?}"
    );
    let three = host.turn("three").await.unwrap();
    let same = ("matching-thread-bootstrap-binding", "thread-0", false);
    assert_eq!(said(&three), same);
    place.codex.die_in("turn/start");
    host.turn("four").await.unwrap_err();
    place.codex.lose("thread-0");
    let five = host.turn("five").await.unwrap();
    assert_eq!(
        (five.reason.as_str(), five.projected),
        ("missing-thread-binding", true)
    );
    host.close().await;
}

#[tokio::test]
async fn r10_4_without_its_engine_a_bound_thread_goes_on_and_stays_bound() {
    let mut place = Session::begin("e1").await;
    let mut host = place.host().await;
    host.turn("one").await.unwrap();
    place.running.take().unwrap().kill().await;
    let two = host.turn("two").await.unwrap();
    assert_eq!(said(&two), ("assemble-failed", "thread-0", false));
    assert_ne!(two.engine_problem, "");
    host.close().await;
    place.running = Some(place.place.serve(place.engine.clone()).await);
    let mut host = place.host().await;
    let three = host.turn("three").await.unwrap();
    let same = ("matching-thread-bootstrap-binding", "thread-0", false);
    assert_eq!(said(&three), same);
    host.close().await;
}

#[tokio::test]
async fn one_process_at_a_time_has_a_session() {
    let place = Session::begin("e1").await;
    let _host = place.host().await;
    let engine = Host::builder().engine("epochs", place.place.target());
    let settings = CodexSettings::new(session("codex"), place.folder.path().join("state"));
    let second = CodexHost::open(engine.build().unwrap(), settings).await;
    assert!(matches!(second, Err(CodexError::Log(_))), "{second:?}");
}
