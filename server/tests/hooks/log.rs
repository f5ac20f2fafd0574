//! An engine whose stored log is behind fetches the host's in any streaming hook (R3.3).

use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{Hook, Transcript};
use contextwire_proto::convert::{
    AssembleResult, AssembleStart, BootstrapResult, BootstrapStart, CompactResult, CompactStart,
};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::sync::{List, TranscriptUpdate, UpdateBody};
use contextwire_proto::{CallContext, Reason, reason_of};

use crate::harness::{Stub, call, list, open, serve, update, whole};

fn log() -> Transcript {
    list(&["a", "b", "c"])
}

fn unavailable(seq: u32) -> TranscriptUpdate {
    TranscriptUpdate {
        seq,
        list: List::Log,
        body: UpdateBody::Unavailable,
    }
}

fn with_head() -> CallContext {
    CallContext {
        log_head: Some(log().state()),
        ..call()
    }
}

fn assemble() -> AssembleStart {
    AssembleStart {
        call: with_head(),
        request: <_>::default(),
        update: whole(List::View, &list(&["view"])),
    }
}

fn compact() -> CompactStart {
    CompactStart {
        call: with_head(),
        request: <_>::default(),
    }
}

async fn behind() -> (RecordingEngine, Stub, impl Drop) {
    let engine = RecordingEngine::new().behind();
    let (stub, running) = serve(engine.clone()).await;
    (engine, stub, running)
}

#[tokio::test]
async fn r3_3_view_and_log_travel_in_one_assemble() {
    let (engine, stub, _running) = behind().await;
    let mut hook = open!(stub, assemble).unwrap();
    hook.send(HostFrame::Start(Box::new(assemble()))).await;
    let need = hook.need::<AssembleResult>().await;
    assert_eq!((need.seq, need.list, need.have), (1, List::Log, Vec::new()));
    let part = whole(List::Log, &log());
    hook.send::<AssembleStart>(HostFrame::Transcript(part))
        .await;
    hook.result::<AssembleResult>().await.unwrap();
    assert_eq!(engine.seen()[0].log, Some(log()));
}

#[tokio::test]
async fn r3_6_a_log_over_an_unknown_base_is_asked_for_once_more_and_then_no_more() {
    let (engine, stub, _running) = behind().await;
    let mut hook = open!(stub, compact).unwrap();
    hook.send(HostFrame::Start(Box::new(compact()))).await;
    assert_eq!(hook.need::<CompactResult>().await.seq, 1);
    let unknown = |seq| update((seq, List::Log), &list(&["x"]), &log());
    hook.send::<CompactStart>(HostFrame::Transcript(unknown(1)))
        .await;
    assert_eq!(hook.need::<CompactResult>().await.seq, 2);
    hook.send::<CompactStart>(HostFrame::Transcript(unknown(2)))
        .await;
    let status = hook.result::<CompactResult>().await.unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::TranscriptDigestMismatch));
    assert_eq!(engine.hooks(), []);
}

#[tokio::test]
async fn r3_3_an_unavailable_log_lets_the_engine_go_on_with_what_it_has() {
    let (engine, stub, _running) = behind().await;
    let mut hook = open!(stub, assemble).unwrap();
    hook.send(HostFrame::Start(Box::new(assemble()))).await;
    let need = hook.need::<AssembleResult>().await;
    hook.send::<AssembleStart>(HostFrame::Transcript(unavailable(need.seq)))
        .await;
    hook.result::<AssembleResult>().await.unwrap();
    assert_eq!(engine.seen()[0].log, None);
}

#[tokio::test]
async fn r1_4_a_host_that_closed_its_side_is_not_asked() {
    let (engine, stub, _running) = behind().await;
    let mut hook = open!(stub, compact).unwrap();
    hook.send(HostFrame::Start(Box::new(compact()))).await;
    hook.need::<CompactResult>().await;
    // Asked in vain, and then not any more.
    hook.half_close();
    hook.result::<CompactResult>().await.unwrap();
    assert_eq!(engine.seen()[0].log, None);
}

#[tokio::test]
async fn r3_3_a_log_that_is_mirrored_in_that_state_is_not_asked_for() {
    let (engine, stub, _running) = behind().await;
    let mut hook = open!(stub, bootstrap).unwrap();
    let start = BootstrapStart {
        call: with_head(),
        request: <_>::default(),
        update: whole(List::Log, &log()),
    };
    hook.send(HostFrame::Start(Box::new(start))).await;
    hook.result::<BootstrapResult>().await.unwrap();
    let mut hook = open!(stub, compact).unwrap();
    hook.send(HostFrame::Start(Box::new(compact()))).await;
    hook.result::<CompactResult>().await.unwrap();
    let logs: Vec<_> = engine
        .seen()
        .into_iter()
        .map(|seen| (seen.request.hook(), seen.log))
        .collect();
    assert_eq!(
        logs,
        [(Hook::Bootstrap, Some(log())), (Hook::Compact, Some(log()))]
    );
}

#[tokio::test]
async fn r3_1_bootstrap_refuses_a_view_and_cannot_do_without_its_log() {
    let (engine, stub, _running) = behind().await;
    let start = |update| BootstrapStart {
        call: with_head(),
        request: <_>::default(),
        update,
    };
    for (update, reason) in [
        (
            whole(List::View, &list(&["view"])),
            Reason::ContractViolation,
        ),
        (unavailable(1), Reason::TranscriptUnavailable),
    ] {
        let mut hook = open!(stub, bootstrap).unwrap();
        hook.send(HostFrame::Start(Box::new(start(update)))).await;
        let status = hook.result::<BootstrapResult>().await.unwrap_err();
        assert_eq!(reason_of(&status), Some(reason));
    }
    assert_eq!(engine.hooks(), []);
}

#[tokio::test]
async fn a_part_of_a_log_that_nobody_asked_for_is_dropped() {
    let engine = RecordingEngine::new();
    let (stub, _running) = serve(engine.clone()).await;
    let mut hook = open!(stub, assemble).unwrap();
    hook.send(HostFrame::Start(Box::new(assemble()))).await;
    let part = whole(List::Log, &log());
    hook.send::<AssembleStart>(HostFrame::Transcript(part))
        .await;
    hook.result::<AssembleResult>().await.unwrap();
    assert_eq!(engine.hooks(), [Hook::Assemble]);
}
