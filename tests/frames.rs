//! The frames of a streaming hook, spoken by hand (PROTOCOL 1).

use contextwire_engine::{Assembled, HookContext, HookId, Progress, Transcript};
use contextwire_proto::status::violations;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use contextwire_proto::{CallContext, Reason, reason_of, v1};
use tonic::Code;

use crate::harness::{
    Gate, Place, RawAssemble, RawCompact, TestEngine, edit_update, refusal, session, start,
    start_over, stub, transcript, update,
};

fn host_call_result(call_id: &str) -> HostFrame {
    let error = v1::HostCallError {
        reason: "FAILED".to_owned(),
        ..v1::HostCallError::default()
    };
    HostFrame::HostCallResult(v1::HostCallResult {
        call_id: call_id.to_owned(),
        outcome: Some(v1::host_call_result::Outcome::Error(error)),
    })
}

/// A start whose base the engine cannot have.
fn start_unknown(list: &Transcript) -> v1::AssembleStart {
    start_over(&session("unknown"), list, list)
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_03_a_second_start_is_a_contract_violation() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(gate.engine()).await;
    let (stub, list) = (stub(&place.target()), transcript(2));

    let working = RawAssemble::start(&stub, start(&list)).await;
    gate.arrived(1).await;
    let waiting = RawAssemble::start(&stub, start_unknown(&list)).await;
    for (phase, mut hook) in [("at work", working), ("waiting for the list", waiting)] {
        hook.send(HostFrame::Start(start(&list))).await;
        if phase == "waiting for the list" {
            hook.need().await;
        }
        let status = hook.failure().await;
        assert_eq!(
            refusal(&status),
            (Code::Internal, Some(Reason::ContractViolation)),
            "{phase}"
        );
    }
    gate.left(1).await;

    // Its twin: the same frames without the second start.
    gate.open();
    let mut hook = RawAssemble::start(&stub, start(&list)).await;
    assert_eq!(hook.kept().await, [(0, 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_03_a_second_start_of_a_compact_is_a_contract_violation_too() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(TestEngine::keep().with_compact_at(&gate)).await;
    let stub = stub(&place.target());
    let mut hook = RawCompact::start(&stub, &session("s")).await;
    gate.arrived(1).await;
    hook.send(v1::compact_request::Frame::Start(
        v1::CompactStart::default(),
    ))
    .await;
    // Whatever it holds, the frame itself is what is wrong; but it is read before it is judged.
    let status = hook.next().await.unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
    gate.left(1).await;

    let mut hook = RawCompact::start(&stub, &session("s")).await;
    gate.arrived(1).await;
    let call = CallContext::new(HookId::mint(), session("s"));
    hook.send_start(call.into()).await;
    let status = hook.next().await.unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::ContractViolation));
    gate.left(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_04_and_20_one_result_then_ok_trailers_without_waiting_for_the_hosts_half_close() {
    for place in Place::each() {
        let _engine = place.serve(TestEngine::keep()).await;
        let stub = stub(&place.target());
        let mut hook = RawAssemble::start(&stub, start(&transcript(3))).await;
        assert_eq!(hook.kept().await, [(0, 3)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_08_a_host_that_half_closes_at_once_gets_its_result() {
    let (place, gate) = (Place::new(), Gate::new());
    let _engine = place.serve(gate.engine()).await;
    let stub = stub(&place.target());
    let mut hook = RawAssemble::start(&stub, start(&transcript(3))).await;
    hook.half_close();
    gate.arrived(1).await;
    gate.open();
    assert_eq!(hook.kept().await, [(0, 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_08_half_closed_with_the_base_unknown_fails_cleanly() {
    let place = Place::new();
    let _engine = place.serve(TestEngine::keep()).await;
    let (stub, list) = (stub(&place.target()), transcript(3));
    let mut hook = RawAssemble::start(&stub, start_unknown(&list)).await;
    hook.half_close();
    hook.need().await;
    let status = hook.failure().await;
    assert_eq!(
        refusal(&status),
        (
            Code::FailedPrecondition,
            Some(Reason::TranscriptUnavailable)
        )
    );
    assert_eq!(
        RawAssemble::start(&stub, start(&list)).await.kept().await,
        [(0, 3)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_08_a_host_that_cannot_serve_its_list_says_so_and_the_call_fails_cleanly() {
    let place = Place::new();
    let _engine = place.serve(TestEngine::keep()).await;
    let (stub, list) = (stub(&place.target()), transcript(3));
    let mut hook = RawAssemble::start(&stub, start_unknown(&list)).await;
    let seq = hook.need().await.seq;
    let list = v1::TranscriptList::View.into();
    let update = v1::TranscriptUpdate {
        seq,
        list,
        unavailable: true,
        ..v1::TranscriptUpdate::default()
    };
    hook.send(HostFrame::Transcript(update)).await;
    let reason = reason_of(&hook.failure().await);
    assert_eq!(reason, Some(Reason::TranscriptUnavailable));
}

/// No engine of this release issues host calls, so every result is one of a call that nobody made.
#[tokio::test(flavor = "multi_thread")]
async fn e_frm_09_and_10_results_of_calls_that_nobody_made_are_ignored_however_often_they_come() {
    let (place, gate) = (Place::new(), Gate::new());
    let engine = gate.engine();
    let _engine = place.serve(engine.clone()).await;
    let (stub, list) = (stub(&place.target()), transcript(3));
    let mut hook = RawAssemble::start(&stub, start_unknown(&list)).await;
    let seq = hook.need().await.seq;
    for _ in 0..2 {
        hook.send(host_call_result("nobody's")).await;
    }
    hook.send(HostFrame::Transcript(update(
        seq,
        &Transcript::new(),
        &list,
    )))
    .await;
    gate.arrived(1).await;
    for _ in 0..2 {
        hook.send(host_call_result("nobody's")).await;
    }
    gate.open();
    assert_eq!(hook.kept().await, [(0, 3)]);
    assert_eq!(engine.seen(), [list]);
}

/// Host calls do not exist yet: what holds now is that a hook's whole stream carries none, so that
/// the limit on open ones cannot be exceeded.
#[tokio::test(flavor = "multi_thread")]
async fn e_frm_11_no_host_call_is_ever_open() {
    let (place, gate) = (Place::new(), Gate::new());
    let reporting = gate.clone();
    let engine = TestEngine::of(move |cx: HookContext, list| {
        let gate = reporting.clone();
        async move {
            cx.progress(Progress {
                phase: "select".to_owned(),
                ..Progress::default()
            });
            gate.pass().await;
            Ok(Assembled::keep(0..list.len()))
        }
    });
    let _engine = place.serve(engine).await;
    let stub = stub(&place.target());
    let mut hook = RawAssemble::start(&stub, start(&transcript(3))).await;
    let Some(EngineFrame::Progress(progress)) = hook.next().await.unwrap() else {
        panic!("progress")
    };
    assert_eq!(progress.phase, "select");
    gate.open();
    assert_eq!(hook.kept().await, [(0, 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_a_known_number_is_refused_by_field() {
    let place = Place::new();
    let _engine = place.serve(TestEngine::keep()).await;
    let stub = stub(&place.target());
    let good = start(&transcript(3));
    let mut no_site = good.clone();
    no_site.site = 0;
    let mut no_turn = good.clone();
    no_turn.current_turn = 77;
    let no_list = edit_update(good.clone(), |update| update.list = 0);
    let no_seq = edit_update(good.clone(), |update| update.seq = 0);
    for (field, wrong) in [
        ("site", no_site),
        ("current_turn", no_turn),
        ("transcript.list", no_list),
        ("transcript.seq", no_seq),
    ] {
        let status = RawAssemble::start(&stub, wrong).await.failure().await;
        assert_eq!(reason_of(&status), Some(Reason::InvalidRequest), "{field}");
        let named: Vec<_> = violations(&status).into_iter().map(|v| v.field).collect();
        assert_eq!(named, [field]);
    }
    assert_eq!(RawAssemble::start(&stub, good).await.kept().await, [(0, 3)]);
}
