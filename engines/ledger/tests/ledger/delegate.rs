//! Compact: the host's own compaction, once a key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextwire_engine::{
    Compact, Compacted, ContextEngine, ErrorKind, Host, HostAnswer, HostCall, HostCallError,
    HostCalls, HostReply, TranscriptState,
};
use tokio::sync::Semaphore;

use super::support::*;

/// A host whose compaction takes until it is let go, and counts.
struct Slow {
    runs: AtomicUsize,
    gate: Semaphore,
}

impl Slow {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            runs: AtomicUsize::new(0),
            gate: Semaphore::new(permits),
        })
    }
}

impl HostCalls for Slow {
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        assert!(matches!(call, HostCall::DelegateCompaction(_)));
        Box::pin(async {
            let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
            self.gate.acquire().await.unwrap().forget();
            let done = Compacted {
                ok: true,
                compacted: true,
                reason: Some(format!("run {run}")),
                result: None,
            };
            Ok(HostReply::Compacted(done, TranscriptState::EMPTY))
        })
    }
}

struct Broken;

impl HostCalls for Broken {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        Box::pin(async { Err(HostCallError::new("FAILED", "no model today")) })
    }
}

#[tokio::test]
async fn r1_2_the_hosts_own_compaction_answers() {
    let place = Place::new();
    let mut cx = call();
    cx.host = Host::new(Slow::new(1));
    let done = place.open().compact(&cx, Compact::default()).await.unwrap();
    assert!(done.compacted);
    assert!(cx.take_reply().log_state.is_some());
}

#[tokio::test]
async fn r1_2_without_a_host_to_ask_it_declines_with_a_reason() {
    let place = Place::new();
    let engine = place.open();
    let done = engine.compact(&call(), Compact::default()).await.unwrap();
    assert!(!done.ok && done.reason.unwrap().starts_with("HOST_CALL_UNAVAILABLE"));
    let mut cx = call();
    cx.host = Host::new(Arc::new(Broken));
    let done = engine.compact(&cx, Compact::default()).await.unwrap();
    assert!(!done.ok && done.reason.unwrap().starts_with("FAILED"));
}

#[tokio::test]
async fn e_idm_02_compactions_of_one_key_in_parallel_run_once() {
    let place = Place::new();
    let engine = Arc::new(place.open());
    let host = Slow::new(0);
    let mut cx = call();
    cx.host = Host::new(Arc::clone(&host) as Arc<dyn HostCalls>);
    let (first, working) = (Arc::clone(&engine), cx.clone());
    let first = tokio::spawn(async move { first.compact(&working, Compact::default()).await });
    while host.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..9 {
        let waits = engine.compact(&cx, Compact::default()).await;
        assert!(matches!(kind(waits), ErrorKind::InProgress { .. }));
    }
    host.gate.add_permits(1);
    let answer = first.await.unwrap().unwrap();
    for _ in 0..9 {
        assert_eq!(
            engine.compact(&cx, Compact::default()).await.unwrap(),
            answer
        );
    }
    assert_eq!(host.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn e_tim_09_a_compaction_that_was_cut_off_lets_the_next_attempt_begin() {
    let place = Place::new();
    let engine = Arc::new(place.open());
    let host = Slow::new(0);
    let mut cx = call();
    cx.host = Host::new(Arc::clone(&host) as Arc<dyn HostCalls>);
    let (first, working) = (Arc::clone(&engine), cx.clone());
    let first = tokio::spawn(async move { first.compact(&working, Compact::default()).await });
    while host.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    host.gate.add_permits(1);
    cx.attempt = 2;
    let done = engine.compact(&cx, Compact::default()).await.unwrap();
    assert_eq!(done.reason.as_deref(), Some("run 2"));
}

#[tokio::test]
async fn r7_2_a_compaction_that_was_given_up_while_it_ran_is_never_recorded() {
    let place = Place::new();
    let engine = Arc::new(place.open());
    let host = Slow::new(0);
    let mut cx = call();
    cx.host = Host::new(Arc::clone(&host) as Arc<dyn HostCalls>);
    let (first, working) = (Arc::clone(&engine), cx.clone());
    let first = tokio::spawn(async move { first.compact(&working, Compact::default()).await });
    while host.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let mut reader = call();
    reader.abandoned_hooks = vec![cx.hook_id];
    engine.assemble(&reader, <_>::default()).await.unwrap();
    assert!(reader.take_reply().late.is_empty());
    host.gate.add_permits(1);
    assert_eq!(kind(first.await.unwrap()), ErrorKind::HookClosed);
    engine.assemble(&reader, <_>::default()).await.unwrap();
    assert!(reader.take_reply().late.is_empty(), "it never happened");
}

#[tokio::test]
async fn r7_2_a_compaction_that_had_happened_is_named_late_also_in_a_read() {
    let place = Place::new();
    let engine = place.open();
    let cx = call();
    engine.compact(&cx, Compact::default()).await.unwrap();
    for _ in 0..2 {
        let mut reader = call();
        reader.abandoned_hooks = vec![cx.hook_id];
        engine.assemble(&reader, <_>::default()).await.unwrap();
        let late = reader.take_reply().late;
        assert_eq!(
            (late[0].hook_id, late[0].method.as_str()),
            (cx.hook_id, "Compact")
        );
    }
}
