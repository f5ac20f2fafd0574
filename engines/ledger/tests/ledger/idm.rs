//! Keys: one effect each, whatever comes how often.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "hooks come from the list of those that change something"
)]

use std::sync::Arc;

use contextwire_engine::{
    AfterTurn, Bootstrap, Compact, ContextEngine, EndSubagent, EngineError, ErrorKind, Hook,
    HookContext, Ingest, IngestBatch, Maintain, MaintainReason, PrepareSubagentSpawn,
    ResolveSubagentSpawn, SpawnOutcome,
};
use contextwire_ledger::LedgerEngine;

use super::support::*;

/// Every hook that changes something.
const MUTATING: [Hook; 10] = [
    Hook::Bootstrap,
    Hook::Ingest,
    Hook::IngestBatch,
    Hook::Compact,
    Hook::AfterTurn,
    Hook::CommitTurn,
    Hook::Maintain,
    Hook::PrepareSubagentSpawn,
    Hook::ResolveSubagentSpawn,
    Hook::EndSubagent,
];

/// The hook with content `a` or another one under the same key; its answer as text.
async fn run(
    engine: &LedgerEngine,
    cx: &HookContext,
    hook: Hook,
    other: bool,
) -> Result<String, EngineError> {
    let id = if other { "b" } else { "a" };
    match hook {
        Hook::Bootstrap => {
            let request = Bootstrap {
                transcript: list(&[id]),
                ..Bootstrap::default()
            };
            as_text(engine.bootstrap(cx, request).await)
        }
        Hook::Ingest => {
            let request = Ingest {
                message: entry(id),
                is_heartbeat: false,
            };
            as_text(engine.ingest(cx, request).await)
        }
        Hook::IngestBatch => {
            let request = IngestBatch {
                messages: vec![entry(id)],
                is_heartbeat: false,
            };
            as_text(engine.ingest_batch(cx, request).await)
        }
        Hook::AfterTurn => {
            let request = AfterTurn {
                transcript: list(&[id]),
                ..AfterTurn::default()
            };
            as_text(engine.after_turn(cx, request).await)
        }
        Hook::CommitTurn => {
            // The second answer differs by design; what it says of the store is the same.
            let stored = engine.commit_turn(cx, turn("t", 1, vec![entry(id)])).await;
            as_text(stored.map(drop))
        }
        _ => run_without_messages(engine, cx, hook, other).await,
    }
}

async fn run_without_messages(
    engine: &LedgerEngine,
    cx: &HookContext,
    hook: Hook,
    other: bool,
) -> Result<String, EngineError> {
    let id = if other { "b" } else { "a" };
    match hook {
        Hook::Compact => {
            let request = Compact {
                force: other,
                ..Compact::default()
            };
            as_text(engine.compact(cx, request).await)
        }
        Hook::Maintain => {
            let reason = if other {
                MaintainReason::Compaction
            } else {
                MaintainReason::Turn
            };
            let request = Maintain {
                reason,
                ..Maintain::default()
            };
            as_text(engine.maintain(cx, request).await)
        }
        Hook::PrepareSubagentSpawn => {
            let request = PrepareSubagentSpawn {
                spawn_id: "spawn".into(),
                child_session_key: id.into(),
                ..PrepareSubagentSpawn::default()
            };
            as_text(engine.prepare_subagent_spawn(cx, request).await)
        }
        Hook::ResolveSubagentSpawn => {
            let outcome = if other {
                SpawnOutcome::RolledBack
            } else {
                SpawnOutcome::Started
            };
            let request = ResolveSubagentSpawn {
                spawn_id: "spawn".into(),
                outcome,
            };
            as_text(engine.resolve_subagent_spawn(cx, request).await)
        }
        _ => {
            let request = EndSubagent {
                reason: id.into(),
                ..EndSubagent::default()
            };
            as_text(engine.end_subagent(cx, request).await)
        }
    }
}

fn as_text<T: std::fmt::Debug>(answer: Result<T, EngineError>) -> Result<String, EngineError> {
    answer.map(|answer| format!("{answer:?}"))
}

#[tokio::test]
async fn e_idm_01_each_mutating_hook_ten_times_with_one_key_has_one_effect_and_one_answer() {
    for hook in MUTATING {
        let place = Place::new();
        let engine = place.open();
        let cx = ordered(1, 1);
        let first = run(&engine, &cx, hook, false).await.unwrap();
        let (log, told) = (place.log(), cx.take_reply().log_state);
        for _ in 0..9 {
            assert_eq!(
                run(&engine, &cx, hook, false).await.unwrap(),
                first,
                "{hook}"
            );
            assert_eq!(place.log(), log, "{hook}");
            assert_eq!(cx.take_reply().log_state, told, "{hook}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e_idm_02_the_same_in_parallel_is_one_execution() {
    let place = Place::new();
    let replicas = [Arc::new(place.open()), Arc::new(place.open())];
    for hook in MUTATING.into_iter().filter(|hook| *hook != Hook::Compact) {
        let cx = of(hook.name());
        let calls = (0..10).map(|n| {
            let (engine, cx) = (Arc::clone(&replicas[n % 2]), cx.clone());
            tokio::spawn(async move { run(&engine, &cx, hook, false).await })
        });
        let calls: Vec<_> = calls.collect();
        let mut answers = Vec::new();
        for call in calls {
            match call.await.unwrap() {
                Ok(answer) => answers.push(answer),
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::InProgress { .. }),
                        "{hook}: {error}"
                    );
                }
            }
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{hook}");
        let stored = sound(&place.file(), hook.name()).entries.len();
        assert!(stored <= 1, "{hook} stored {stored}");
    }
}

#[tokio::test]
async fn e_idm_03_other_content_under_a_key_is_a_conflict_and_nothing_is_done() {
    for hook in MUTATING {
        let place = Place::new();
        let engine = place.open();
        let cx = ordered(1, 1);
        run(&engine, &cx, hook, false).await.unwrap();
        let log = place.log();
        for _ in 0..2 {
            // E-IDM-11: what is terminal stays terminal.
            let refused = run(&engine, &cx, hook, true).await;
            assert_eq!(kind(refused), ErrorKind::IdempotencyConflict, "{hook}");
        }
        assert_eq!(place.log(), log, "{hook}");
        assert!(run(&engine, &cx, hook, false).await.is_ok(), "{hook}");
    }
}

#[tokio::test]
async fn e_idm_05_an_answer_that_was_lost_is_given_again_also_by_the_next_process() {
    for hook in MUTATING {
        let place = Place::new();
        let cx = ordered(1, 1);
        let first = run(&place.open(), &cx, hook, false).await.unwrap();
        let mut retry = cx.clone();
        retry.attempt = 2;
        assert_eq!(
            run(&place.open(), &retry, hook, false).await.unwrap(),
            first,
            "{hook}"
        );
    }
}

#[tokio::test]
async fn e_idm_11_what_is_refused_for_good_is_refused_again_and_a_busy_store_never_is() {
    let place = Place::new();
    let engine = place.open_with(std::time::Duration::ZERO);
    let cx = call();
    let nameless = || engine.commit_turn(&cx, turn("", 1, vec![entry("a")]));
    assert_eq!(kind(nameless().await), ErrorKind::Rejected);
    assert_eq!(kind(nameless().await), ErrorKind::Rejected);
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = engine
        .commit_turn(&cx, turn("t", 1, vec![entry("a")]))
        .await;
    assert_eq!(kind(busy), ErrorKind::Transient);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(
        engine
            .commit_turn(&cx, turn("t", 1, vec![entry("a")]))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_its_turn_has_no_effect() {
    let place = Place::new();
    let engine = place.open();
    let cx = call();
    cx.cancellation.cancel();
    assert_eq!(
        kind(ingest_as(&engine, &cx, entry("a")).await),
        ErrorKind::Cancelled
    );
    assert_eq!(place.ids(), [""; 0]);
}
