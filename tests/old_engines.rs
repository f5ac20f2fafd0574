//! Engines of older minors over real sockets, tolerant and strict, ours and in Python: each turn is
//! theirs, and what they cannot take costs them nothing (PROTOCOL 5).

use contextwire_client::{EngineClient, Served, ServedBy};
use contextwire_engine::{
    Assemble, Compact, Hook, Ingest, RuntimeContext, RuntimeSettings, Session, TokenBudget,
};
use futures_util::future::join_all;

use crate::harness::{
    Age, OldEngine, Place, PythonEngine, Temper, TestEngine, message, python, session, transcript,
    view,
};

const TEMPERS: [Temper; 3] = [Temper::Tolerant, Temper::Strict, Temper::Throwing];

fn family() -> Session {
    let mut session = session("s");
    session.key = Some("agent:main:main".to_owned());
    session
}

/// A request with all that a newer host says.
fn modern() -> Assemble {
    Assemble {
        runtime_settings: Some(RuntimeSettings::default()),
        runtime_context: Some(RuntimeContext {
            cwd: Some("/w".to_owned()),
            ..RuntimeContext::default()
        }),
        token_budget: TokenBudget::new(9_000),
        prompt: Some("hello".to_owned()),
        ..view(&transcript(5))
    }
}

fn by_engine<T>(served: &Served<T>) -> bool {
    matches!(&served.by, ServedBy::Engine(id) if id == "test" || id == "python")
}

/// Every hook of the first minor, once.
async fn a_turn(client: &EngineClient) {
    let client = client.with_log(transcript(5));
    let served = client.assemble(&family(), modern()).await.unwrap();
    assert!(by_engine(&served), "{:?}", served.reason);
    let ingest = Ingest {
        message: message(9),
        is_heartbeat: true,
    };
    assert!(by_engine(&client.ingest(&family(), ingest).await.unwrap()));
    let compact = Compact {
        runtime_settings: Some(RuntimeSettings::default()),
        ..Compact::default()
    };
    assert!(by_engine(
        &client.compact(&family(), compact).await.unwrap()
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn r5_engines_of_every_minor_are_sent_what_existed_then() {
    let place = Place::new();
    let engine = TestEngine::keep();
    let _running = place.serve(engine.clone()).await;
    for minor in 0..4 {
        for temper in TEMPERS {
            let old = OldEngine::new(&place.target(), minor, temper);
            let client = EngineClient::new(&old.serve().await).unwrap();
            a_turn(&client).await;
            let request = engine.requests().pop().unwrap();
            assert_eq!(request.runtime_context.is_some(), minor > 0);
            assert_eq!(request.prompt.as_deref(), Some("hello"));
            for hook in [Hook::Assemble, Hook::Ingest, Hook::Compact] {
                assert_eq!(old.arrived(hook), 1, "{hook} at {minor}, {temper:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_012_a_strict_engine_loses_what_it_does_not_know_and_keeps_its_turn() {
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    for temper in [Temper::Strict, Temper::Throwing] {
        let old = OldEngine::new(&place.target(), 0, temper).announcing(3);
        let client = EngineClient::new(&old.serve().await).unwrap();
        for _ in 0..3 {
            a_turn(&client).await;
        }
        assert_eq!(old.arrived(Hook::Assemble), 4, "one lesson, {temper:?}");
        assert!(old.arrived(Hook::Ingest) <= 4 && old.arrived(Hook::Compact) <= 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r5_5_a_refused_describe_is_repeated_once_as_of_old() {
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    for (temper, asked) in [
        (Temper::Tolerant, 1),
        (Temper::Strict, 2),
        (Temper::Throwing, 2),
    ] {
        let old = OldEngine::new(&place.target(), 0, temper);
        let client = EngineClient::new(&old.serve().await).unwrap();
        let served = client.assemble(&family(), modern()).await.unwrap();
        assert!(by_engine(&served));
        assert_eq!(old.arrived(Hook::Describe), asked, "{temper:?}");
    }
}

/// An engine in Python for each of these; nothing where Python is not set up.
async fn in_python(
    ages: impl IntoIterator<Item = Age>,
    tempers: &[Temper],
) -> Vec<(PythonEngine, Age, Temper)> {
    let Some(python) = python() else {
        println!("skipped: `cargo xtask ci` sets up what old engines in Python need");
        return Vec::new();
    };
    let each = ages
        .into_iter()
        .flat_map(|age| tempers.iter().map(move |temper| (age, *temper)));
    // Interpreters take a while to start: all at once.
    let started = each.map(|(age, temper)| {
        let python = &python;
        async move { (PythonEngine::start(python, age, temper).await, age, temper) }
    });
    join_all(started).await
}

#[tokio::test(flavor = "multi_thread")]
async fn r5_engines_in_python_of_every_minor_are_sent_what_existed_then() {
    let ages = [(0, true), (1, true), (2, true), (0, false)].map(|(minor, names)| Age {
        minor,
        announced: minor,
        names,
    });
    for (old, age, temper) in in_python(ages, &[Temper::Tolerant, Temper::Strict]).await {
        let client = EngineClient::new(old.target()).unwrap();
        a_turn(&client).await;
        for hook in [Hook::Assemble, Hook::Ingest, Hook::Compact] {
            assert_eq!(old.arrived(hook), 1, "{hook}, {age:?}, {temper:?}");
        }
        // The one field of Describe that is newer than the first minor.
        let refuses = age.minor == 0 && temper != Temper::Tolerant;
        assert_eq!(
            old.arrived(Hook::Describe),
            1 + usize::from(refuses),
            "{age:?}, {temper:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_012_a_strict_engine_in_python_loses_what_it_does_not_know_and_keeps_its_turn() {
    let age = Age {
        minor: 0,
        announced: 3,
        names: true,
    };
    for (old, _, temper) in in_python([age], &TEMPERS).await {
        let client = EngineClient::new(old.target()).unwrap();
        for _ in 0..3 {
            a_turn(&client).await;
        }
        let lessons = usize::from(temper != Temper::Tolerant);
        assert_eq!(old.arrived(Hook::Assemble), 3 + lessons, "{temper:?}");
        assert!(old.arrived(Hook::Ingest) <= 4 && old.arrived(Hook::Compact) <= 4);
    }
}
