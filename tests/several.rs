//! One engine with several endpoints: a session stays with one of them, and goes on at another one
//! when that dies, drains, hangs, or is of another age.

use contextwire_client::{ClientOptions, EngineClient, Served, ServedBy, Target};
use contextwire_engine::{CommitTurn, Compact, Hook, TurnCommitted};
use contextwire_windowed::WindowedEngine;

use crate::harness::{
    Flow, Gate, OldEngine, PATIENT, Place, Process, Proxy, Running, Temper, TestEngine, message,
    session, soon, transcript, view,
};

/// Equal engines at places of their own.
struct Several {
    places: Vec<Place>,
    engines: Vec<TestEngine>,
    running: Vec<Option<Running>>,
    client: EngineClient,
}

fn client(targets: impl IntoIterator<Item = Target>) -> EngineClient {
    let target = Target::replicas(targets).unwrap();
    let options = ClientOptions {
        // Sessions are at the same endpoint in every run.
        affinity_key: Some("tests".to_owned()),
        ..ClientOptions::default()
    };
    EngineClient::with_options(&target, &options).unwrap()
}

impl Several {
    async fn new(count: usize) -> Self {
        let places: Vec<_> = (0..count).map(|_| Place::new()).collect();
        let engines: Vec<_> = places.iter().map(|_| TestEngine::keep()).collect();
        let mut running = Vec::new();
        for (place, engine) in places.iter().zip(&engines) {
            running.push(Some(place.serve(engine.clone()).await));
        }
        let client = client(places.iter().map(Place::target));
        Self {
            places,
            engines,
            running,
            client,
        }
    }

    /// Assembles the first messages of a session's list.
    async fn assemble(&self, id: &str, len: usize) -> Served<usize> {
        let request = view(&transcript(len));
        let served = soon(self.client.assemble(&session(id), request)).await;
        served.unwrap().map(|context| context.messages().count())
    }

    /// How many lists each engine saw.
    fn seen(&self) -> Vec<usize> {
        self.engines.iter().map(|it| it.seen().len()).collect()
    }

    /// The only endpoint that saw anything.
    fn home(&self) -> usize {
        let seen = self.seen();
        assert_eq!(seen.iter().filter(|it| **it > 0).count(), 1, "{seen:?}");
        seen.iter().position(|it| *it > 0).unwrap()
    }
}

fn by_the_engine<T>(served: &Served<T>) {
    let reason = served.reason.as_deref();
    assert_eq!(served.by, ServedBy::Engine("test".to_owned()), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_stays_with_one_endpoint_and_sends_what_changed() {
    let several = Several::new(3).await;
    for len in [40, 41, 42] {
        let served = several.assemble("s", len).await;
        by_the_engine(&served);
        assert_eq!(served.result, len);
    }
    let home = several.home();
    assert_eq!(several.seen()[home], 3);
    let again = several.assemble("s", 42).await;
    assert!(again.traffic.bytes_sent() < 1_000, "{:?}", again.traffic);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_spread_and_the_status_shows_each_endpoint() {
    let several = Several::new(3).await;
    for n in 0..24 {
        by_the_engine(&several.assemble(&format!("s{n}"), 1).await);
    }
    let seen = several.seen();
    assert!(seen.iter().all(|it| *it > 0), "{seen:?}");
    let status = several.client.status();
    let answered: Vec<_> = status.endpoints.iter().map(|it| it.answered).collect();
    let expected: Vec<_> = seen.iter().map(|it| *it as u64).collect();
    assert_eq!(answered, expected);
    let targets: Vec<_> = several
        .places
        .iter()
        .map(|it| it.target().to_string())
        .collect();
    let shown: Vec<_> = status
        .endpoints
        .iter()
        .map(|it| it.target.clone())
        .collect();
    assert_eq!(shown, targets);
    assert_eq!(status.target, targets.join(","));
    assert_eq!(status.calls.by_engine, 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_when_its_endpoint_dies_a_session_costs_one_list_and_no_call() {
    let mut several = Several::new(3).await;
    by_the_engine(&several.assemble("s", 40).await);
    let home = several.home();
    several.running[home].take().unwrap().kill().await;

    let moved = several.assemble("s", 41).await;
    by_the_engine(&moved);
    assert_eq!(moved.result, 41, "the whole list, at the first call");
    let away = (0..3)
        .find(|at| *at != home && several.seen()[*at] > 0)
        .unwrap();
    assert_eq!(several.engines[away].seen()[0], transcript(41));
    let stays = several.assemble("s", 42).await;
    by_the_engine(&stays);
    assert_eq!(several.seen()[away], 2);
    assert!(stays.traffic.bytes_sent() < 1_000, "{:?}", stays.traffic);

    // It is looked at beside the conversation, and its sessions come home.
    let engine = several.engines[home].clone();
    several.running[home] = Some(several.places[home].serve(engine).await);
    let comes_home = async {
        while several.seen()[home] == 1 {
            by_the_engine(&several.assemble("s", 43).await);
            tokio::task::yield_now().await;
        }
    };
    soon(Box::pin(comes_home)).await;
    assert_eq!(several.engines[home].seen()[1], transcript(43));
}

#[tokio::test(flavor = "multi_thread")]
async fn br_160_one_dead_endpoint_of_several_costs_no_call_and_its_own_breaker_alone() {
    let several = Several::new(2).await;
    let nobody = Place::new();
    let targets = several.places.iter().map(Place::target);
    let client = client(targets.chain([nobody.target()]));
    for n in 0..20 {
        let request = view(&transcript(2));
        let id = session(&format!("s{n}"));
        let served = client.assemble(&id, request);
        by_the_engine(&soon(served).await.unwrap());
    }
    let status = client.status();
    assert_eq!((status.calls.by_engine, status.calls.in_process), (20, 0));
    assert_eq!(status.breaker.state, "closed");
    let dead = &status.endpoints[2];
    assert_eq!((dead.answered, dead.described.as_deref()), (0, None));
    for alive in &status.endpoints[..2] {
        assert_eq!((&*alive.breaker.state, alive.passed_on), ("closed", 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_lif_02_a_draining_endpoint_ends_its_call_and_others_take_what_is_new() {
    let gate = Gate::new();
    let places = [Place::new(), Place::new()];
    let engines = [TestEngine::keep(), TestEngine::keep()];
    let mut running = Vec::new();
    for (place, engine) in places.iter().zip(&engines) {
        let engine = engine.clone().with_compact_at(&gate);
        running.push(place.serve(engine).await);
    }
    let client = client(places.iter().map(Place::target));
    by_the_engine(
        &soon(client.assemble(&session("s"), view(&transcript(3))))
            .await
            .unwrap(),
    );
    let home = usize::from(engines[0].seen().is_empty());
    let held = tokio::spawn({
        let client = client.clone();
        async move {
            let request = Compact::default();
            client.compact_within(&session("s"), request, PATIENT).await
        }
    });
    gate.arrived(1).await;
    running[home].begin_stop();
    // From some moment on the endpoint refuses; no call shows it.
    let moved = async {
        while engines[1 - home].seen().is_empty() {
            let served = client.assemble(&session("s"), view(&transcript(4))).await;
            by_the_engine(&served.unwrap());
        }
    };
    soon(moved).await;
    gate.open();
    by_the_engine(&soon(held).await.unwrap().unwrap());
    soon(running[home].ended()).await.unwrap();
    by_the_engine(
        &soon(client.assemble(&session("s"), view(&transcript(5))))
            .await
            .unwrap(),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_takes_and_says_nothing_is_left_for_another_within_the_call() {
    let engines = [TestEngine::keep(), TestEngine::keep()];
    let (mut proxies, mut running) = (Vec::new(), Vec::new());
    for engine in &engines {
        let place = Place::tcp();
        running.push(place.serve(engine.clone()).await);
        proxies.push(Proxy::to(&place).await);
    }
    let client = client(proxies.iter().map(|it| it.place().target()));
    let assemble = async |len| {
        let request = view(&transcript(len));
        let id = session("s");
        let served = client.assemble_within(&id, request, PATIENT / 2);
        by_the_engine(&soon(served).await.unwrap());
    };
    assemble(3).await;
    let home = usize::from(engines[0].seen().is_empty());
    proxies[home].to_server(Flow::Lose);
    assemble(4).await;
    assert_eq!(engines[1 - home].seen(), [transcript(4)]);
    assemble(5).await;
    assert_eq!(
        engines[1 - home].seen().len(),
        2,
        "nobody waits there again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_endpoint_does_not_have_is_done_at_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("ledger.sqlite3");
    let one = Process::serve(&store).await;
    let other = Process::serve(&store).await;
    let old = OldEngine::new(&one.place().target(), 2, Temper::Strict);
    let client = client([old.serve().await, other.place().target()]);
    let mut at_the_old_one = 0;
    for n in 0..12 {
        let id = format!("s{n}");
        let served = soon(client.assemble(&session(&id), view(&transcript(2)))).await;
        assert_ne!(served.unwrap().by, ServedBy::InProcess);
        let before = old.arrived(Hook::CommitTurn);
        let turn = CommitTurn {
            advancement_key: "t0".to_owned(),
            messages: vec![message(0), message(1)],
            ..CommitTurn::default()
        };
        let committed = soon(client.commit_turn(&session(&id), turn)).await.unwrap();
        assert_eq!(committed.result, TurnCommitted::Committed);
        assert_eq!(
            old.arrived(Hook::CommitTurn),
            before,
            "it has no such method"
        );
        at_the_old_one = old.arrived(Hook::Assemble);
    }
    assert!(at_the_old_one > 0, "some sessions belong there");
    let status = client.status();
    let minors: Vec<_> = status
        .endpoints
        .iter()
        .map(|it| it.described.as_deref())
        .collect();
    assert!(minors[0].unwrap().ends_with(", 1.2"), "{minors:?}");
    assert!(minors[1].unwrap().ends_with(", 1.3"), "{minors:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_to_an_endpoint_where_another_engine_answers() {
    let (one, other) = (Place::new(), Place::new());
    let mut running = [
        Some(one.serve(TestEngine::keep()).await),
        Some(other.serve(WindowedEngine::new()).await),
    ];
    let client = client([one.target(), other.target()]);
    let session = session("s");
    let assemble = || client.assemble(&session, view(&transcript(2)));
    let first = soon(assemble()).await.unwrap().by;
    let both_are_known = async {
        let is_known = || {
            client
                .status()
                .endpoints
                .iter()
                .all(|it| it.described.is_some())
        };
        while !is_known() {
            tokio::task::yield_now().await;
        }
    };
    soon(Box::pin(both_are_known)).await;

    let home = usize::from(first != ServedBy::Engine("test".to_owned()));
    running[home].take().unwrap().kill().await;
    let then = soon(assemble()).await.unwrap().by;
    assert_eq!(then, ServedBy::InProcess, "after {first:?}");
    let away = &client.status().endpoints[1 - home];
    assert_eq!(away.answered, 0);
}
