//! Hosts that do not read: what the engine says piles up in front of them, and its work must end by
//! its deadline all the same.

use std::time::Duration;

use contextwire_engine::{Assembled, Progress};
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_server::ServerOptions;

use crate::harness::{Gate, Http2, Http2Call, Place, TestEngine, start, transcript};

/// An engine that says more than anybody buffers, then waits at the gate.
fn talking(gate: &Gate) -> TestEngine {
    let gate = gate.clone();
    TestEngine::of(move |cx, list| {
        let gate = gate.clone();
        async move {
            for _ in 0..100 {
                cx.progress(Progress::default());
                tokio::task::yield_now().await;
            }
            gate.pass().await;
            Ok(Assembled::keep(0..list.len()))
        }
    })
}

/// An Assemble of a host that reads nothing of the answer.
async fn unread(host: &Http2, budget: Duration) -> Http2Call {
    let mut call = host.open("Assemble").await;
    let mut first = start(&transcript(3));
    first.call.as_mut().unwrap().budget_ms = u64::try_from(budget.as_millis()).unwrap();
    let frame = Some(HostFrame::Start(first));
    call.send(&v1::AssembleRequest { frame });
    call
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_01_an_engine_stops_by_its_budget_although_its_host_reads_nothing() {
    for place in Place::each() {
        let gate = Gate::new();
        let options = ServerOptions {
            max_hooks: 1,
            ..ServerOptions::default()
        };
        let running = place.serve_with(talking(&gate), options).await;
        let host = Http2::connect(&place.target(), 0).await;
        let _call = unread(&host, Duration::from_millis(300)).await;
        gate.arrived(1).await;
        gate.left(1).await;
        running.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_host_that_reads_nothing_can_cancel() {
    let (place, gate) = (Place::new(), Gate::new());
    let _running = place.serve(talking(&gate)).await;
    let host = Http2::connect(&place.target(), 0).await;
    let mut call = unread(&host, Duration::from_mins(1)).await;
    gate.arrived(1).await;
    let cancel = v1::Cancel {
        reason: v1::CancelReason::CallerAbort.into(),
    };
    let frame = Some(HostFrame::Cancel(cancel));
    call.send(&v1::AssembleRequest { frame });
    gate.left(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_reads_nothing_does_not_hold_a_drain_beyond_its_grace() {
    let (place, gate) = (Place::new(), Gate::new());
    let options = ServerOptions {
        drain_grace: Duration::ZERO,
        ..ServerOptions::default()
    };
    let running = place.serve_with(talking(&gate), options).await;
    let host = Http2::connect(&place.target(), 0).await;
    let _call = unread(&host, Duration::from_mins(1)).await;
    gate.arrived(1).await;
    running.begin_stop();
    gate.left(1).await;
    running.stop().await.unwrap();
}
