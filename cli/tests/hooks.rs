//! Every hook of a client, through a server, to an engine that remembers what it was asked.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use contextwire_client::{
    CallError, ClientOptions, EngineClient, OnEngineFailure, Policy, ServedBy, Target,
};
use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{
    AfterTurn, Assemble, Bootstrap, CommitTurn, Compact, EndSubagent, Hook, Ingest, IngestBatch,
    Maintain, Message, PrepareSubagentSpawn, Reply, ResolveSubagentSpawn, Session, SessionId,
    SpawnOutcome, Transcript, TurnCommitted,
};
use contextwire_server::{Listen, Server};
use tokio::task::JoinHandle;

async fn serve(engine: &RecordingEngine) -> (Target, JoinHandle<()>) {
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server = Server::new(engine.clone()).listen(Listen::Tcp(loopback));
    let bound = server.bind().await.unwrap();
    let Listen::Tcp(address) = bound.addresses()[0] else {
        panic!("a TCP address")
    };
    let running = tokio::spawn(async move {
        bound.run(std::future::pending()).await.unwrap();
    });
    (Target::Tcp(address), running)
}

/// An address where nobody listens any more.
async fn nobody() -> Target {
    let (target, running) = serve(&RecordingEngine::new()).await;
    running.abort();
    let _ended = running.await.is_err();
    target
}

fn session() -> Session {
    Session::new(SessionId::new("s").unwrap())
}

fn message(text: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#)).with_entry_id(text)
}

fn list(texts: &[&str]) -> Transcript {
    texts.iter().map(|text| message(text)).collect()
}

fn commit() -> CommitTurn {
    CommitTurn {
        advancement_key: "t1".to_owned(),
        messages: vec![message("a")],
        ..CommitTurn::default()
    }
}

fn prepare() -> PrepareSubagentSpawn {
    PrepareSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        child_session_key: "child".to_owned(),
        ..PrepareSubagentSpawn::default()
    }
}

fn resolve() -> ResolveSubagentSpawn {
    ResolveSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        outcome: SpawnOutcome::Started,
    }
}

fn end() -> EndSubagent {
    EndSubagent {
        child_session_key: "child".to_owned(),
        reason: "completed".to_owned(),
        ..EndSubagent::default()
    }
}

/// Who served and why, of each optional hook.
async fn optional_hooks(
    client: &EngineClient,
) -> Vec<(Hook, Result<(ServedBy, Reply), CallError>)> {
    let s = session();
    macro_rules! of {
        ($hook:ident, $call:expr) => {
            (
                Hook::$hook,
                $call.await.map(|served| (served.by, served.said)),
            )
        };
    }
    let log = Bootstrap {
        transcript: list(&["a"]),
        ..Bootstrap::default()
    };
    let after = AfterTurn {
        transcript: list(&["a", "b"]),
        ..AfterTurn::default()
    };
    let batch = IngestBatch {
        messages: vec![message("c")],
        is_heartbeat: false,
    };
    vec![
        of!(Bootstrap, client.bootstrap(&s, log)),
        of!(AfterTurn, client.after_turn(&s, after)),
        of!(Maintain, client.maintain(&s, Maintain::default())),
        of!(IngestBatch, client.ingest_batch(&s, batch)),
        of!(CommitTurn, client.commit_turn(&s, commit())),
        of!(
            PrepareSubagentSpawn,
            client.prepare_subagent_spawn(&s, prepare())
        ),
        of!(
            ResolveSubagentSpawn,
            client.resolve_subagent_spawn(&s, resolve())
        ),
        of!(EndSubagent, client.end_subagent(&s, end())),
        of!(Dispose, client.dispose()),
    ]
}

#[tokio::test]
async fn every_optional_hook_reaches_the_engine_and_its_answer_the_caller() {
    let said = Reply {
        late: Vec::new(),
        log_state: Some(list(&["a"]).state()),
    };
    let engine = RecordingEngine::new().saying(said.clone());
    let (target, _running) = serve(&engine).await;
    let client = EngineClient::new(&target).unwrap();
    let answers = optional_hooks(&client).await;
    assert_eq!(answers.len(), 9);
    let asked: Vec<_> = answers.iter().map(|(hook, _)| *hook).collect();
    for (hook, answer) in answers {
        let by = ServedBy::Engine("recording".to_owned());
        assert_eq!(answer.unwrap(), (by, said.clone()), "{hook}");
    }
    assert_eq!(engine.hooks(), asked);
}

#[tokio::test]
async fn typed_answers_are_the_engines_own() {
    let (target, _running) = serve(&RecordingEngine::new()).await;
    let (client, s) = (EngineClient::new(&target).unwrap(), session());
    let log = Bootstrap {
        transcript: list(&["a", "b"]),
        ..Bootstrap::default()
    };
    let bootstrapped = client.bootstrap(&s, log).await.unwrap().result;
    assert_eq!(bootstrapped.imported_messages, Some(2));
    for expected in [TurnCommitted::Committed, TurnCommitted::Duplicate] {
        let committed = client.commit_turn(&s, commit()).await.unwrap();
        assert_eq!(committed.result, expected);
    }
    let prepared = client.prepare_subagent_spawn(&s, prepare()).await.unwrap();
    assert!(prepared.result.prepared);
    let maintained = client.maintain(&s, Maintain::default()).await.unwrap();
    assert_eq!(maintained.result.reason.as_deref(), Some("nothing to do"));
}

#[tokio::test]
async fn r1_1_absent_methods_are_answered_at_once_and_never_called() {
    for on_engine_failure in [OnEngineFailure::Substitute, OnEngineFailure::Fail] {
        // It would serve them, but does not say so.
        let engine = RecordingEngine::new().advertising([]);
        let (target, _running) = serve(&engine).await;
        let options = ClientOptions {
            on_engine_failure,
            ..ClientOptions::default()
        };
        let client = EngineClient::with_options(&target, &options).unwrap();
        for (hook, answer) in optional_hooks(&client).await {
            match answer {
                Ok((by, said)) => assert_eq!((by, said), (ServedBy::InProcess, Reply::default())),
                Err(error) => {
                    assert_eq!(hook, Hook::CommitTurn);
                    assert!(matches!(
                        error,
                        CallError::Absent {
                            hook: Hook::CommitTurn
                        }
                    ));
                }
            }
        }
        assert_eq!(engine.hooks(), []);
    }
}

#[tokio::test]
async fn without_an_engine_only_hooks_that_a_sync_makes_up_for_are_substituted() {
    let options = ClientOptions {
        policy: Policy::Direct,
        ..ClientOptions::default()
    };
    let client = EngineClient::with_options(&nobody().await, &options).unwrap();
    for (hook, answer) in optional_hooks(&client).await {
        let neutral = [
            Hook::Bootstrap,
            Hook::AfterTurn,
            Hook::Maintain,
            Hook::IngestBatch,
        ];
        match answer {
            Ok((by, _)) => assert!(
                neutral.contains(&hook) && by == ServedBy::InProcess,
                "{hook}"
            ),
            Err(error) => {
                assert!(!neutral.contains(&hook), "{hook}");
                assert_eq!(error.code(), "UNREACHABLE", "{hook}");
            }
        }
    }
}

#[tokio::test]
async fn a_batch_over_the_message_limit_goes_in_several() {
    let engine = RecordingEngine::new();
    let (target, _running) = serve(&engine).await;
    let options = ClientOptions {
        max_message_bytes: 64 << 10,
        ..ClientOptions::default()
    };
    let client = EngineClient::with_options(&target, &options).unwrap();
    let body = "x".repeat(4 << 10);
    let batch = IngestBatch {
        messages: (0..30).map(|n| message(&format!("{n}{body}"))).collect(),
        is_heartbeat: false,
    };
    let served = client.ingest_batch(&session(), batch).await.unwrap();
    assert_eq!(served.by, ServedBy::Engine("recording".to_owned()));
    assert_eq!(served.result.ingested_count, 30);
    assert!(engine.hooks().len() > 2);
}

#[tokio::test]
async fn r3_3_an_engine_that_is_behind_gets_the_hosts_log_in_any_streaming_hook() {
    let engine = RecordingEngine::new().behind();
    let (target, _running) = serve(&engine).await;
    let s = session();
    let log = list(&["a", "b", "c"]);
    let client = EngineClient::new(&target).unwrap().with_log(log.clone());
    let view = Assemble {
        transcript: list(&["view"]),
        ..Assemble::default()
    };
    client.assemble(&s, view).await.unwrap();
    client.compact(&s, Compact::default()).await.unwrap();
    client.maintain(&s, Maintain::default()).await.unwrap();
    let ingest = Ingest {
        message: message("d"),
        is_heartbeat: false,
    };
    client.ingest(&s, ingest).await.unwrap();
    let seen = engine.seen();
    for seen in &seen {
        assert_eq!(seen.cx.log_head, Some(log.state()));
        // A unary hook has no way to carry it.
        let carried = (seen.request.hook() != Hook::Ingest).then(|| log.clone());
        assert_eq!(seen.log, carried, "{}", seen.request.hook());
    }
    assert_eq!(seen.len(), 4);
}

#[tokio::test]
async fn r3_11_a_log_that_grows_costs_what_is_new() {
    let engine = RecordingEngine::new().behind();
    let (target, _running) = serve(&engine).await;
    let s = session();
    let client = EngineClient::new(&target).unwrap();
    let mut log: Transcript = (0..200).map(|n| message(&format!("{n:0500}"))).collect();
    let first = client.with_log(log.clone());
    let first = first.compact(&s, Compact::default()).await.unwrap();
    assert!(first.traffic.bytes_sent() > 100_000);
    log.push(message("new"));
    let second = client.with_log(log.clone());
    let second = second.compact(&s, Compact::default()).await.unwrap();
    assert!(
        second.traffic.bytes_sent() < 1_000,
        "{}",
        second.traffic.bytes_sent()
    );
    assert_eq!(engine.seen()[1].log, Some(log));
}
