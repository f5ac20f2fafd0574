//! A recorded session through an engine that remembers what it was asked.

use std::time::Duration;

use contextwire_client::{EngineClient, Target};
use contextwire_engine::testing::{RecordingEngine, Seen, SeenRequest};
use contextwire_engine::{
    ContextEngine, Hook, Maintain, MaintainReason, MaintenanceMode, Message, TokenBudget,
    Transcript,
};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_legacy::LegacyEngine;
use contextwire_server::{Listen, Server};
use tokio::task::JoinHandle;

use super::{CompactRule, Replay, Settings};
use crate::report::ReplayReport;
use crate::session::{self, HistoryView, Session as Recording, Strictness};

const THREE_TURNS: &str = r#"{"type":"session","version":3,"id":"three"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":"1"}}
{"type":"message","id":"u2","parentId":"a1","message":{"role":"user","content":"two"}}
{"type":"message","id":"a2","parentId":"u2","message":{"role":"assistant","content":"2"}}
{"type":"message","id":"a3","parentId":"a2","message":{"role":"assistant","content":"3"}}
{"type":"message","id":"u3","parentId":"a3","message":{"role":"user","content":"three"}}
"#;

fn recording(text: &str) -> Recording {
    session::read_from(text.as_bytes(), Strictness::Lenient).unwrap()
}

fn settings() -> Settings {
    Settings {
        budget: TokenBudget::new(60_000),
        deadline: Duration::from_mins(1),
        model: Some("mock-1".to_owned()),
        ..Settings::default()
    }
}

async fn serve(engine: impl ContextEngine) -> (EngineClient, JoinHandle<()>) {
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server = Server::new(engine).listen(Listen::Tcp(loopback));
    let bound = server.bind().await.unwrap();
    let Listen::Tcp(address) = bound.addresses()[0] else {
        panic!("a TCP address")
    };
    let running = tokio::spawn(async move {
        bound.run(std::future::pending()).await.unwrap();
    });
    let client = EngineClient::new(&Target::Tcp(address)).unwrap();
    (client, running)
}

/// Replays the session through the engine; gives what the engine saw.
async fn replay(
    engine: &RecordingEngine,
    text: &str,
    settings: &Settings,
) -> (ReplayReport, Vec<Seen>) {
    let recording = recording(text);
    let (client, running) = serve(engine.clone()).await;
    let replay = Replay::new(&client, &recording, settings).unwrap();
    let report = replay.run(&recording, |_| {}).await.unwrap();
    running.abort();
    (report, engine.seen())
}

fn hooks(seen: &[Seen]) -> Vec<Hook> {
    seen.iter().map(|seen| seen.request.hook()).collect()
}

fn ids<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let ids = messages
        .into_iter()
        .map(|message| message.entry_id().as_str());
    ids.collect::<Vec<_>>().join(" ")
}

/// The entries of each message that an engine was handed at the ends of turns.
fn handed(seen: &[Seen]) -> Vec<String> {
    let of = |seen: &Seen| match &seen.request {
        SeenRequest::CommitTurn(request) => Some(ids(&request.messages)),
        SeenRequest::AfterTurn(request) => Some(format!(
            "{} | {}",
            request.pre_prompt_message_count,
            ids(request.transcript.iter())
        )),
        SeenRequest::IngestBatch(request) => Some(ids(&request.messages)),
        SeenRequest::Ingest(request) => Some(ids([&request.message])),
        SeenRequest::Bootstrap(_)
        | SeenRequest::Assemble(_)
        | SeenRequest::Compact(_)
        | SeenRequest::Maintain(_)
        | SeenRequest::PrepareSubagentSpawn(_)
        | SeenRequest::ResolveSubagentSpawn(_)
        | SeenRequest::EndSubagent(_)
        | SeenRequest::Dispose(_) => None,
    };
    seen.iter().filter_map(of).collect()
}

fn maintenance(seen: Seen) -> Option<Maintain> {
    if let SeenRequest::Maintain(request) = seen.request {
        Some(request)
    } else {
        None
    }
}

#[tokio::test]
async fn a_turn_ends_in_the_first_way_that_the_engine_has() {
    use Hook::{AfterTurn, CommitTurn, IngestBatch};
    let by_turn: &[&str] = &["u1 a1", "u2 a2 a3", "u3"];
    let whole_log: &[&str] = &["0 | u1 a1", "2 | u1 a1 u2 a2 a3", "5 | u1 a1 u2 a2 a3 u3"];
    let one_by_one: &[&str] = &["u1", "a1", "u2", "a2", "a3", "u3"];
    for (methods, expected) in [
        (&[CommitTurn, AfterTurn, IngestBatch][..], by_turn),
        (&[AfterTurn, IngestBatch], whole_log),
        (&[IngestBatch], by_turn),
        (&[], one_by_one),
    ] {
        let engine = RecordingEngine::new().with_methods(methods.to_vec());
        let (_, seen) = replay(&engine, THREE_TURNS, &settings()).await;
        assert_eq!(handed(&seen), expected, "{methods:?}");
    }
}

#[tokio::test]
async fn c176_every_message_of_the_sample_is_committed_once_in_order_and_by_its_turn() {
    let engine = RecordingEngine::new();
    let (report, seen) = replay(&engine, session::SAMPLE, &settings()).await;
    assert_eq!(report.totals.by_engine, report.totals.turns);
    let recording = recording(session::SAMPLE);
    let whole: Transcript = recording
        .view(HistoryView::Full)
        .messages()
        .map(|message| message.message().clone())
        .collect();
    let mut committed = Transcript::new();
    let mut position = 0;
    for seen in seen {
        let SeenRequest::CommitTurn(commit) = seen.request else {
            continue;
        };
        // Messages that a model must not see have a place on the branch and are not handed over.
        let (first, last) = (&commit.admission.anchor, &commit.terminal);
        let handed_over = i64::try_from(commit.messages.len()).unwrap();
        assert!(first.active_message_position >= position);
        assert!(last.active_message_position >= first.active_message_position + handed_over - 1);
        position = last.active_message_position + 1;
        assert_eq!(commit.advancement_key, commit.admission.anchor.entry_id);
        committed.extend(commit.messages);
    }
    assert_eq!(committed, whole);
}

#[tokio::test]
async fn an_engine_may_tidy_up_after_each_turn_in_the_mode_that_it_wants() {
    for (mode, background) in [
        (MaintenanceMode::Foreground, false),
        (MaintenanceMode::Background, true),
    ] {
        let engine = RecordingEngine::new().describing(|info| info.turn_maintenance_mode = mode);
        let (_, seen) = replay(&engine, THREE_TURNS, &settings()).await;
        let maintained: Vec<_> = seen.into_iter().filter_map(maintenance).collect();
        assert_eq!(maintained.len(), 3);
        for request in maintained {
            assert_eq!(request.reason, MaintainReason::Turn);
            assert_eq!(request.background, background);
            let context = request.runtime_context.unwrap();
            let deferred = context.allow_deferred_compaction_execution;
            assert_eq!(deferred, background.then_some(true));
        }
    }
}

#[tokio::test]
async fn a_resumed_session_is_bootstrapped_with_what_came_before() {
    let resumed = Settings {
        resume: 3,
        ..settings()
    };
    let engine = RecordingEngine::new();
    let (report, seen) = replay(&engine, THREE_TURNS, &resumed).await;
    assert_eq!(report.turns.len(), 1);
    assert_eq!(report.turns[0].turn, 3);
    assert_eq!(
        hooks(&seen),
        [
            Hook::Bootstrap,
            Hook::Maintain,
            Hook::Assemble,
            Hook::CommitTurn,
            Hook::Maintain
        ]
    );
    let SeenRequest::Bootstrap(bootstrap) = &seen[0].request else {
        panic!("a bootstrap")
    };
    assert_eq!(ids(bootstrap.transcript.iter()), "u1 a1 u2 a2 a3");
    let SeenRequest::Maintain(maintain) = &seen[1].request else {
        panic!("a maintenance")
    };
    assert_eq!(maintain.reason, MaintainReason::Bootstrap);
}

#[tokio::test]
async fn r1_1_without_bootstrap_a_resumed_session_is_still_tidied() {
    let resumed = Settings {
        resume: 2,
        ..settings()
    };
    let engine = RecordingEngine::new().with_methods([Hook::Maintain]);
    let (_, seen) = replay(&engine, THREE_TURNS, &resumed).await;
    assert_eq!(hooks(&seen)[..2], [Hook::Maintain, Hook::Assemble]);
}

#[tokio::test]
async fn c228_c258_a_context_over_budget_is_compacted_maintained_and_asked_for_again() {
    let tight = Settings {
        budget: TokenBudget::new(1),
        resume: 3,
        ..settings()
    };
    let owning = RecordingEngine::new()
        .with_methods([Hook::Maintain])
        .describing(|info| info.owns_compaction = true);
    let (report, seen) = replay(&owning, THREE_TURNS, &tight).await;
    assert_eq!(report.turns[0].compacted, Some(1));
    assert_eq!(
        hooks(&seen)[1..5],
        [
            Hook::Assemble,
            Hook::Compact,
            Hook::Maintain,
            Hook::Assemble
        ]
    );
    let SeenRequest::Compact(compact) = &seen[2].request else {
        panic!("a compaction")
    };
    assert_eq!(compact.token_budget, TokenBudget::new(1));
    assert!(compact.current_token_count > Some(1));
}

#[tokio::test]
async fn c229_an_engine_that_does_not_own_compaction_is_asked_only_when_the_rule_says_so() {
    for (compact, asked) in [
        (CompactRule::Owned, None),
        (CompactRule::Always, Some(1)),
        (CompactRule::Never, None),
    ] {
        let tight = Settings {
            budget: TokenBudget::new(1),
            compact,
            ..settings()
        };
        let engine = RecordingEngine::new().with_methods([]);
        let (report, _) = replay(&engine, THREE_TURNS, &tight).await;
        assert_eq!(report.turns[2].compacted, asked, "{compact:?}");
    }
}

#[tokio::test]
async fn a_context_that_the_host_does_not_take_is_compacted_by_what_it_costs() {
    let long = format!(r#""{}""#, "word ".repeat(2_000));
    let recording = recording(&THREE_TURNS.replace(r#""1""#, &long));
    let tight = Settings {
        budget: TokenBudget::new(500),
        compact: CompactRule::Always,
        ..settings()
    };
    let (client, running) = serve(LegacyEngine::default()).await;
    let replay = Replay::new(&client, &recording, &tight).unwrap();
    let report = replay.run(&recording, |_| {}).await.unwrap();
    running.abort();
    let asked: Vec<_> = report.turns.iter().map(|turn| turn.compacted).collect();
    assert_eq!(asked[0], None, "{report:?}");
    assert!(asked[1].is_some(), "{report:?}");
}

#[tokio::test]
async fn r7_11_a_turn_that_is_refused_for_ever_holds_up_no_later_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("ledger.sqlite3");
    let engine = LedgerEngine::open(&store, LedgerOptions::default()).unwrap();
    let (client, running) = serve(engine).await;
    let settings = settings();
    let edited = THREE_TURNS.replace(r#""1""#, r#""edited""#);
    for (text, not_stored) in [(THREE_TURNS, 0), (edited.as_str(), 1)] {
        let recording = recording(text);
        let replay = Replay::new(&client, &recording, &settings).unwrap();
        let report = replay.run(&recording, |_| {}).await.unwrap();
        assert_eq!(report.turns_not_stored, not_stored);
    }
    running.abort();
}

#[tokio::test]
async fn r3_3_an_engine_that_is_behind_gets_the_log_within_the_assemble() {
    let engine = RecordingEngine::new().with_methods([]).behind();
    let (_, seen) = replay(&engine, THREE_TURNS, &settings()).await;
    let logs: Vec<_> = seen
        .iter()
        .filter(|seen| seen.request.hook() == Hook::Assemble)
        .map(|seen| seen.log.as_ref().map(|log| ids(log.iter())))
        .collect();
    let some = |ids: &str| Some(ids.to_owned());
    assert_eq!(logs, [some(""), some("u1 a1"), some("u1 a1 u2 a2 a3")]);
}
