//! Calls that change something at the same time: in one session, and in many.

use std::sync::Arc;

use contextwire_engine::{
    Compact, ContextEngine, Host, HostAnswer, HostCall, HostCalls, IngestBatch, Maintain,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::support::*;

/// A host whose compaction never ends, and which says that it began.
struct Stuck(Semaphore);

impl HostCalls for Stuck {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        self.0.add_permits(1);
        Box::pin(std::future::pending())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e_idm_15_hooks_that_change_one_session_at_once_queue_and_none_is_lost() {
    const ROUNDS: usize = 20;
    let place = Place::new();
    let engine = Arc::new(place.open());
    let mut calls = JoinSet::new();
    for n in 0..ROUNDS {
        let of = move |part: &str| entry(&format!("{n}{part}"));
        let engine = || Arc::clone(&engine);
        let ingesting = engine();
        calls.spawn(async move { ingest_as(&ingesting, &call(), of("i")).await.map(drop) });
        let batching = engine();
        calls.spawn(async move {
            let messages = vec![of("b"), of("c")];
            let request = IngestBatch {
                messages,
                is_heartbeat: false,
            };
            batching.ingest_batch(&call(), request).await.map(drop)
        });
        let committing = engine();
        calls.spawn(async move {
            let turn = turn(&format!("t{n}"), 1, vec![of("u"), of("v")]);
            committing.commit_turn(&call(), turn).await.map(drop)
        });
        let maintaining = engine();
        calls.spawn(async move {
            let done = maintaining.maintain(&call(), Maintain::default()).await;
            done.map(drop)
        });
    }
    while let Some(outcome) = calls.join_next().await {
        outcome.unwrap().unwrap();
    }
    let mut ids = place.ids();
    ids.sort_unstable();
    let all = (0..ROUNDS).flat_map(|n| ["i", "b", "c", "u", "v"].map(|part| format!("{n}{part}")));
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    assert_eq!(ids, all, "each entry once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e_idm_16_a_session_that_waits_for_its_host_holds_up_no_other_and_no_hook_of_its_own() {
    let place = Place::new();
    let engine = Arc::new(place.open());
    let host = Arc::new(Stuck(Semaphore::new(0)));
    let mut cx = call();
    cx.host = Host::new(Arc::clone(&host) as Arc<dyn HostCalls>);
    let stuck = Arc::clone(&engine);
    let stuck = tokio::spawn(async move { stuck.compact(&cx, Compact::default()).await });
    host.0.acquire().await.unwrap().forget();

    let others = (0..16).map(|n| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move { ingest_as(&engine, &of(&format!("s{n}")), entry("a")).await })
    });
    for other in others.collect::<Vec<_>>() {
        assert!(other.await.unwrap().unwrap());
    }
    assert!(ingest(&engine, entry("a")).await);
    assert_eq!(place.ids(), ["a"]);
    assert!(!stuck.is_finished());
    stuck.abort();
}
