//! The same in single frames, as a host sees them.

use std::collections::HashSet;

use contextwire_engine::{Compact, Compacted, HookContext, HookId, LlmComplete, ReadTranscript};
use contextwire_proto::v1::compact_request::Frame as HostFrame;
use contextwire_proto::v1::compact_response::Frame as EngineFrame;
use contextwire_proto::v1::host_call_result::Outcome;
use contextwire_proto::{CallContext, v1};
use tonic::Code;

use super::engine::CallingEngine;
use crate::harness::{Place, RawCompact, session, stub};

fn ask(text: &str) -> LlmComplete {
    LlmComplete {
        messages: vec![("user".to_owned(), text.to_owned())],
        ..LlmComplete::default()
    }
}

/// Says what the model said, or why it did not.
async fn said(cx: &HookContext, text: &str) -> String {
    match cx.host.complete(ask(text)).await {
        Ok(completed) => completed.text,
        Err(error) => error.reason,
    }
}

fn asking_once() -> CallingEngine {
    CallingEngine::compacting(|cx, _: Compact| async move {
        Ok(Compacted::declined(said(&cx, "hello").await))
    })
}

async fn host_call(hook: &mut RawCompact) -> v1::HostCall {
    match hook.next().await.unwrap() {
        Some(EngineFrame::HostCall(call)) => call,
        other => panic!("a host call, not {other:?}"),
    }
}

async fn reason(hook: &mut RawCompact) -> Option<String> {
    match hook.next().await.unwrap() {
        Some(EngineFrame::Result(result)) => result.reason,
        other => panic!("a result, not {other:?}"),
    }
}

fn completed(call_id: &str, text: &str) -> HostFrame {
    HostFrame::HostCallResult(v1::HostCallResult {
        call_id: call_id.to_owned(),
        outcome: Some(Outcome::LlmComplete(v1::LlmCompleteResult {
            text: text.to_owned(),
            usage: Some(v1::LlmUsage::default()),
            ..v1::LlmCompleteResult::default()
        })),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_09_and_10_only_the_first_result_of_the_open_call_is_applied() {
    let place = Place::new();
    let _engine = place.serve(asking_once()).await;
    let mut hook = RawCompact::start(&stub(&place.target()), &session("s")).await;
    let call = host_call(&mut hook).await;
    hook.send(completed("another", "wrong")).await;
    hook.send(completed(&call.call_id, "right")).await;
    hook.send(completed(&call.call_id, "again")).await;
    assert_eq!(reason(&mut hook).await.as_deref(), Some("right"));
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_11_never_more_than_four_host_calls_are_open() {
    let place = Place::new();
    let engine = CallingEngine::compacting(|cx, _| async move {
        let calls = ["a", "b", "c", "d", "e", "f"].map(|text| said(&cx, text));
        let all = futures_util::future::join_all(calls).await;
        Ok(Compacted::declined(all.concat()))
    });
    let _engine = place.serve(engine).await;
    let mut hook = RawCompact::start(&stub(&place.target()), &session("s")).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(host_call(&mut hook).await.call_id);
    }
    let unique: HashSet<_> = open.iter().collect();
    assert_eq!(unique.len(), 4);
    // A fifth frame would have been on its way before the answer.
    hook.half_close();
    let all = "HOST_CALL_UNAVAILABLE".repeat(6);
    assert_eq!(reason(&mut hook).await, Some(all));
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_4_an_engine_whose_host_closed_its_side_finishes_without_it() {
    let place = Place::new();
    let _engine = place.serve(asking_once()).await;
    let mut hook = RawCompact::start(&stub(&place.target()), &session("s")).await;
    hook.half_close();
    // The call may have gone out before the end of the host's side was seen.
    let text = match hook.next().await.unwrap() {
        Some(EngineFrame::Result(result)) => result.reason,
        Some(EngineFrame::HostCall(_)) => reason(&mut hook).await,
        other => panic!("{other:?}"),
    };
    assert_eq!(text.as_deref(), Some("HOST_CALL_UNAVAILABLE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_07_a_cancel_that_crosses_a_host_call_ends_the_hook_without_another_call() {
    let place = Place::new();
    let engine = CallingEngine::compacting(|cx, _| async move {
        let first = said(&cx, "one").await;
        let second = said(&cx, "two").await;
        Ok(Compacted::declined(format!("{first} {second}")))
    });
    let _engine = place.serve(engine).await;
    let mut hook = RawCompact::start(&stub(&place.target()), &session("s")).await;
    let call = host_call(&mut hook).await;
    hook.send(HostFrame::Cancel(v1::Cancel {
        reason: v1::CancelReason::CallerAbort.into(),
    }))
    .await;
    hook.send(completed(&call.call_id, "late")).await;
    match hook.next().await {
        Err(status) => assert_eq!(status.code(), Code::Cancelled),
        Ok(Some(EngineFrame::Result(result))) => {
            assert_eq!(result.reason.as_deref(), Some("HOOK_CLOSED HOOK_CLOSED"));
        }
        Ok(other) => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_11_and_e_cbk_06_a_call_has_no_more_time_than_its_hook_and_its_id_in_attempt_2() {
    let place = Place::new();
    let engine = CallingEngine::compacting(|cx, _| async move {
        let read = ReadTranscript::default();
        let _page = cx.host.read_transcript(read).await;
        Ok(Compacted::declined(said(&cx, "hello").await))
    });
    let _engine = place.serve(engine).await;
    let hook_id = HookId::mint();
    let mut attempts = Vec::new();
    for attempt in 1..=2 {
        let call = v1::CallContext {
            budget_ms: 2_000,
            attempt,
            ..CallContext::new(hook_id, session("s")).into()
        };
        let mut hook = RawCompact::start_as(&stub(&place.target()), call).await;
        let read = host_call(&mut hook).await;
        hook.send(completed(&read.call_id, "of another kind")).await;
        let asked = host_call(&mut hook).await;
        for call in [&read, &asked] {
            assert!(
                (1..=2_000).contains(&call.timeout_ms),
                "{}",
                call.timeout_ms
            );
        }
        assert_ne!(read.call_id, asked.call_id);
        attempts.push((read.call_id, asked.call_id));
    }
    assert_eq!(attempts[0], attempts[1]);
}
