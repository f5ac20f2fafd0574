//! Hooks that do not get to their end: cut, cancelled, left alone by their host, or flooded by it.

use contextwire_client::ServedBy;
use contextwire_engine::Transcript;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::{Reason, reason_of, v1};
use tonic::Code;

use crate::harness::{
    Gate, PATIENT, Place, Proxy, RawAssemble, RawCompact, TestEngine, connect, refusal, session,
    start, start_over, stub, transcript, update, view,
};

fn cancel(reason: v1::CancelReason) -> HostFrame {
    HostFrame::Cancel(v1::Cancel {
        reason: reason.into(),
    })
}

/// A start whose base the engine cannot have.
fn start_unknown(list: &Transcript) -> v1::AssembleStart {
    start_over(&session("unknown"), list, list)
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_18_a_connection_cut_in_mid_frame_costs_one_attempt() {
    for place in Place::each() {
        let engine = TestEngine::keep();
        let _engine = place.serve(engine.clone()).await;
        let proxy = Proxy::to(&place).await;
        let (target, list) = (proxy.place().target(), transcript(2000));
        let mut first = start(&list);
        proxy.cut_to_server_after(20_000);
        let mut hook = RawAssemble::start(&stub(&target), first.clone()).await;
        let cut = hook.failure().await;
        assert_eq!(reason_of(&cut), None, "{cut}");
        assert!(engine.seen().is_empty(), "half a frame is no call");

        proxy.mend();
        first.call.as_mut().unwrap().attempt = 2;
        let mut second = RawAssemble::start(&stub(&target), first).await;
        assert_eq!(second.kept().await, [(0, 2000)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_18_a_client_whose_connection_is_cut_in_mid_frame_falls_back_once() {
    for place in Place::each() {
        let _engine = place.serve(TestEngine::keep()).await;
        let proxy = Proxy::to(&place).await;
        let (client, list) = (proxy.place().direct(), transcript(2000));
        client.describe(PATIENT).await.unwrap();
        proxy.cut_to_server_after(20_000);
        let served = client.assemble(&session("s"), view(&list)).await.unwrap();
        assert_eq!(served.by, ServedBy::InProcess);
        assert_eq!(served.reason.unwrap().code(), "UNREACHABLE");
        proxy.mend();
        let mut answers = Vec::new();
        // The first call may still find the broken connection.
        for _ in 0..2 {
            answers.push(
                client
                    .assemble(&session("s"), view(&list))
                    .await
                    .unwrap()
                    .by,
            );
        }
        assert_eq!(answers.pop(), Some(ServedBy::Engine("test".to_owned())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_cancelled_hook_ends_with_cancelled_and_its_engine_stops() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(gate.engine()).await;
    let stub = stub(&place.target());
    for reason in [
        v1::CancelReason::CallerAbort,
        v1::CancelReason::Deadline,
        v1::CancelReason::Superseded,
    ] {
        let mut hook = RawAssemble::start(&stub, start(&transcript(3))).await;
        gate.arrived(1).await;
        hook.send(cancel(reason)).await;
        let status = hook.failure().await;
        assert_eq!(refusal(&status), (Code::Cancelled, Some(Reason::Cancelled)));
        gate.left(1).await;
    }
    let mut waiting = RawAssemble::start(&stub, start_unknown(&transcript(3))).await;
    waiting.need().await;
    waiting.send(cancel(v1::CancelReason::CallerAbort)).await;
    assert_eq!(waiting.failure().await.code(), Code::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_disappears_stops_its_engine() {
    for place in Place::each() {
        let gate = Gate::new();
        let _engine = place.serve(gate.engine()).await;
        let proxy = Proxy::to(&place).await;
        let stub = stub(&proxy.place().target());
        let _hook = RawAssemble::start(&stub, start(&transcript(3))).await;
        gate.arrived(1).await;
        drop(proxy);
        gate.left(1).await;
        assert!(connect(&place.target()).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_cancelled_compact_whose_engine_does_not_listen_is_cancelled_all_the_same() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(TestEngine::keep().with_compact_at(&gate)).await;
    let stub = stub(&place.target());
    let mut hook = RawCompact::start(&stub, &session("s")).await;
    gate.arrived(1).await;
    let cancel = v1::Cancel {
        reason: v1::CancelReason::CallerAbort.into(),
    };
    hook.send(v1::compact_request::Frame::Cancel(cancel)).await;
    let status = hook.next().await.unwrap_err();
    assert_eq!(refusal(&status), (Code::Cancelled, Some(Reason::Cancelled)));
    gate.left(1).await;
    // Its twin: without the cancel there is one result, then OK trailers.
    gate.open();
    let mut hook = RawCompact::start(&stub, &session("s")).await;
    let Some(v1::compact_response::Frame::Result(result)) = hook.next().await.unwrap() else {
        panic!("a result")
    };
    assert!(!result.ok && result.reason.is_some());
    assert_eq!(hook.next().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_sends_frames_for_ever_does_not_outlive_its_budget() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(gate.engine()).await;
    let (stub, list) = (stub(&place.target()), transcript(3));
    let ignored = update(1, &Transcript::new(), &list);
    for (phase, mut first, frame) in [
        (
            "at work",
            start(&list),
            HostFrame::HostCallResult(v1::HostCallResult::default()),
        ),
        (
            "waiting for the list",
            start_unknown(&list),
            HostFrame::Transcript(ignored),
        ),
    ] {
        first.call.as_mut().unwrap().budget_ms = 300;
        let mut hook = RawAssemble::start(&stub, first).await;
        hook.flood(frame);
        if phase == "waiting for the list" {
            hook.need().await;
        }
        let status = hook.failure().await;
        assert_eq!(
            refusal(&status),
            (Code::DeadlineExceeded, Some(Reason::DeadlineExceeded)),
            "{phase}"
        );
    }
    gate.left(1).await;
    gate.open();
    assert_eq!(
        RawAssemble::start(&stub, start(&list)).await.kept().await,
        [(0, 3)]
    );
}
