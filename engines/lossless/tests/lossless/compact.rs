//! Compaction through the hooks, beside everything else.

use std::sync::Arc;

use contextwire_engine::{
    Compact, Compacted, ContextEngine, Maintain, RuntimeContext, TokenBudget, Transcript,
};
use contextwire_lossless::rows::{MemoryStore, Rows};
use contextwire_lossless::{LosslessEngine, LosslessOptions, Redaction};
use contextwire_store::{LogRows as _, Store};

use super::stub::Stub;
use super::support::*;

fn options(stub: &Stub) -> LosslessOptions {
    LosslessOptions {
        summarizer: Arc::new(stub.clone()),
        ..LosslessOptions::default()
    }
}

fn room(budget: u64) -> Compact {
    Compact {
        token_budget: TokenBudget::new(budget),
        ..Compact::default()
    }
}

async fn compact<S: Store<Rows: Rows>>(engine: &LosslessEngine<S>, budget: u64) -> Compacted {
    engine.compact(&call(), room(budget)).await.unwrap()
}

#[tokio::test]
async fn a_compaction_makes_room_and_the_next_turns_keep_their_prefix() {
    let place = Place::new();
    let stub = Stub::default();
    let engine = LosslessEngine::open(&place.path(), options(&stub)).unwrap();
    let entries = long(420, 90);
    let log: Transcript = entries[..400].iter().cloned().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let done = compact(&engine, 20_000).await;
    assert!(done.ok && done.compacted, "{:?}", done.reason);
    let result = done.result.unwrap();
    assert!(result.tokens_before > 30_000 && result.tokens_after.unwrap() < 20_000);
    let first = assemble(&engine, &call(), &log, Some(20_000)).await;
    assert!(first.estimated_tokens <= 20_000);
    // A21: the prefix stays until the next compaction.
    let mut before = payloads(&first, &log);
    assert!(
        before
            .iter()
            .any(|payload| payload.contains("compactionSummary"))
    );
    for turns in (402..420).step_by(2) {
        let log: Transcript = entries[..turns].iter().cloned().collect();
        after_turn(&engine, &call(), log.clone()).await;
        let now = payloads(&assemble(&engine, &call(), &log, Some(20_000)).await, &log);
        assert!(now.starts_with(&before));
        before = now;
    }
    // C08, C09: nothing new, nothing asked.
    let asked = stub.calls();
    let again = compact(&engine, 20_000).await;
    assert!(again.ok && !again.compacted, "{:?}", again.reason);
    assert_eq!(stub.calls(), asked);
}

#[tokio::test]
async fn c15_both_stores_and_another_run_make_the_same_plan() {
    let mut epochs = Vec::new();
    let log: Transcript = long(300, 90).into_iter().collect();
    for _ in 0..2 {
        let place = Place::new();
        let engine = LosslessEngine::open(&place.path(), options(&Stub::default())).unwrap();
        bootstrap(&engine, &call(), log.clone()).await;
        assert!(compact(&engine, 15_000).await.compacted);
        let reply = assemble(&engine, &call(), &log, Some(15_000)).await;
        epochs.push(reply.context_projection.unwrap().epoch);
    }
    let memory = LosslessEngine::over(MemoryStore::new(), options(&Stub::default()));
    bootstrap(&memory, &call(), log.clone()).await;
    assert!(compact(&memory, 15_000).await.compacted);
    let reply = assemble(&memory, &call(), &log, Some(15_000)).await;
    epochs.push(reply.context_projection.unwrap().epoch);
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]));
}

#[tokio::test]
async fn l01_an_assembly_and_a_commit_do_not_wait_for_a_compaction() {
    let place = Place::new();
    let stub = Stub::held();
    let engine = Arc::new(LosslessEngine::open(&place.path(), options(&stub)).unwrap());
    let entries = long(300, 90);
    let log: Transcript = entries.iter().cloned().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let before = assemble(&engine, &call(), &log, Some(15_000)).await;
    let running = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { compact(&engine, 15_000).await }
    });
    stub.asked().await;
    assert_eq!(assemble(&engine, &call(), &log, Some(15_000)).await, before);
    commit(&engine, turn("k", 1, vec![entry("new")])).await;
    stub.release();
    // C13: what came meanwhile stays as it is.
    assert!(running.await.unwrap().compacted);
    let mut longer = log.clone();
    longer.push(entry("new"));
    let reply = assemble(&engine, &call(), &longer, Some(15_000)).await;
    let shown = payloads(&reply, &longer);
    assert!(shown.last().unwrap().contains("new"));
    assert!(
        shown
            .iter()
            .any(|payload| payload.contains("compactionSummary"))
    );
}

#[tokio::test]
async fn c14_what_is_rewritten_while_it_is_summarised_stays_verbatim() {
    let place = Place::new();
    let stub = Stub::held();
    let engine = Arc::new(LosslessEngine::open(&place.path(), options(&stub)).unwrap());
    let mut entries = long(300, 90);
    bootstrap(&engine, &call(), entries.iter().cloned().collect()).await;
    let running = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { compact(&engine, 15_000).await }
    });
    stub.asked().await;
    entries[3] = said("assistant", "rewritten").with_entry_id("e3");
    let correction = contextwire_engine::Ingest {
        message: entries[3].clone(),
        is_heartbeat: false,
    };
    engine.ingest(&call(), correction).await.unwrap();
    stub.release();
    let refused = running.await.unwrap();
    assert!(!refused.ok && !refused.compacted, "{:?}", refused.reason);
    // The next one starts from what is there now.
    assert!(compact(&engine, 15_000).await.compacted);
    let log: Transcript = entries.into_iter().collect();
    assert!(
        assemble(&engine, &call(), &log, Some(15_000))
            .await
            .estimated_tokens
            <= 15_000
    );
}

#[tokio::test]
async fn a_key_that_was_answered_is_answered_the_same_again() {
    let place = Place::new();
    let stub = Stub::default();
    let engine = LosslessEngine::open(&place.path(), options(&stub)).unwrap();
    bootstrap(&engine, &call(), long(300, 90).into_iter().collect()).await;
    let cx = call();
    let first = engine.compact(&cx, room(15_000)).await.unwrap();
    let asked = stub.calls();
    assert_eq!(engine.compact(&cx, room(15_000)).await.unwrap(), first);
    assert_eq!(stub.calls(), asked);
}

#[tokio::test]
async fn maintenance_beside_the_conversation_compacts_where_the_host_allows_it() {
    let place = Place::new();
    let engine = LosslessEngine::open(&place.path(), options(&Stub::default())).unwrap();
    let log: Transcript = long(300, 90).into_iter().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let beside = |allowed| Maintain {
        background: true,
        runtime_context: Some(RuntimeContext {
            allow_deferred_compaction_execution: Some(allowed),
            token_budget: Some(15_000),
            ..RuntimeContext::default()
        }),
        ..Maintain::default()
    };
    engine.maintain(&call(), beside(false)).await.unwrap();
    let before = assemble(&engine, &call(), &log, Some(90_000)).await;
    assert_eq!(payloads(&before, &log).len(), 300);
    engine.maintain(&call(), beside(true)).await.unwrap();
    let after = assemble(&engine, &call(), &log, Some(90_000)).await;
    assert!(payloads(&after, &log).len() < 300);
}

#[tokio::test]
async fn c20_a_small_session_is_left_alone_without_a_call() {
    let place = Place::new();
    let stub = Stub::default();
    let engine = LosslessEngine::open(&place.path(), options(&stub)).unwrap();
    bootstrap(&engine, &call(), list(&["a", "b"])).await;
    let done = compact(&engine, 15_000).await;
    assert!(!done.compacted && done.reason.is_some());
    let unknown = engine.compact(&of("nobody"), room(15_000)).await.unwrap();
    assert!(!unknown.compacted && unknown.reason.is_some());
    assert_eq!(stub.calls(), 0);
}

/// Places of the session whose text has a word, as the index knows them.
async fn found<S: Store<Rows: Rows>>(store: &S, word: &'static str) -> Vec<u64> {
    let find = move |rows: &S::Rows| match rows.session(&name("s"))? {
        Some(session) => rows.find(session.id, &[word], 9),
        None => Ok(Vec::new()),
    };
    store.read(find).await.unwrap()
}

#[tokio::test]
async fn i15_what_the_policy_masks_is_in_no_index_and_no_summary_and_the_log_keeps_it() {
    let place = Place::new();
    let options = LosslessOptions {
        redaction: Redaction::of(["hunter[0-9]+"]).unwrap(),
        ..LosslessOptions::default()
    };
    let engine = LosslessEngine::open(&place.path(), options).unwrap();
    let mut entries = long(300, 90);
    entries[2] = said("user", "the word is hunter22, find it under Port48213").with_entry_id("e2");
    let log: Transcript = entries.into_iter().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    // No model: quotes, which would say it word for word.
    assert!(compact(&engine, 15_000).await.compacted);
    engine.maintain(&call(), Maintain::default()).await.unwrap();
    let shown = payloads(&assemble(&engine, &call(), &log, Some(15_000)).await, &log);
    assert!(!shown.iter().any(|payload| payload.contains("hunter22")));
    let store = place.store();
    assert_eq!(found(&store, "Port48213").await, [2]);
    assert!(found(&store, "hunter22").await.is_empty());
    // The log has the original.
    let stored = contextwire_lossless::open_file(&place.path()).unwrap();
    let stored = stored.log(&name("s")).unwrap().unwrap();
    assert_eq!(stored.total, log.state());
}
