//! Engines whose frames break the contract (R1.3, R3.6), and the host's own last words (R1.5).

use std::sync::{Arc, Mutex};

use contextwire_client::{ClientOptions, ServedBy};
use contextwire_engine::{Message, Transcript};
use contextwire_proto::Reason;
use contextwire_proto::status::status;
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use tonic::{Code, Status};

use super::engine::{Hostile, Talk, after_start, keeping};
use super::{Origin, PATIENT, by_engine, in_process, late_origin, origin};
use crate::harness::{Place, Proxy, session, view};

fn need(seq: u32) -> EngineFrame {
    let list = v1::TranscriptList::View.into();
    EngineFrame::NeedTranscript(v1::NeedTranscript {
        seq,
        list,
        have: Vec::new(),
    })
}

fn progress() -> EngineFrame {
    EngineFrame::Progress(v1::Progress::default())
}

/// Who answers when the engine does this, over both transports; and the same once more, since the
/// connection has to live.
async fn answered<F>(script: impl Fn(Talk) -> F + Clone + Send + Sync + 'static) -> Origin
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut answers = Vec::new();
    for place in Place::each() {
        let _engine = after_start(script.clone()).serve_at(&place).await;
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().direct();
        answers.push(origin(&client).await);
        answers.push(origin(&client).await);
        assert_eq!(proxy.connections(), 1);
    }
    let first = answers.pop().unwrap();
    assert!(
        answers.iter().all(|answer| *answer == first),
        "{first:?} and {answers:?}"
    );
    first
}

/// The same of an engine that says nothing final, once.
async fn late_answered<F>(script: impl Fn(Talk) -> F + Clone + Send + Sync + 'static) -> Origin
where
    F: Future<Output = ()> + Send + 'static,
{
    let place = Place::new();
    let _engine = after_start(script).serve_at(&place).await;
    let proxy = Proxy::to(&place).await;
    let answer = late_origin(&proxy.place().direct()).await;
    assert_eq!(proxy.connections(), 1);
    answer
}

/// The same for an engine that just sends these frames, then OK trailers.
async fn sending(frames: &[EngineFrame]) -> Origin {
    let frames = frames.to_vec();
    answered(move |talk| {
        let frames = frames.clone();
        async move {
            for frame in frames {
                talk.send(frame).await;
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_result_and_ok_trailers_are_an_answer() {
    assert_eq!(sending(&[keeping(&[(0, 3)])]).await, by_engine());
    assert_eq!(
        sending(&[progress(), progress(), keeping(&[(0, 3)])]).await,
        by_engine()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_3_a_second_result_or_any_frame_after_it_breaks_the_contract() {
    let result = keeping(&[(0, 3)]);
    for after in [result.clone(), progress(), need(2)] {
        assert_eq!(
            sending(&[result.clone(), after]).await,
            in_process("CONTRACT_VIOLATION")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_04_ok_trailers_without_a_result_are_no_answer() {
    assert_eq!(sending(&[]).await, in_process("CONTRACT_VIOLATION"));
    assert_eq!(
        sending(&[progress()]).await,
        in_process("CONTRACT_VIOLATION")
    );
    let empty = EngineFrame::Result(v1::AssembleResult::default());
    assert_eq!(sending(&[empty]).await, in_process("CONTRACT_VIOLATION"));
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_05_an_error_after_a_result_makes_the_result_void() {
    let failing = |status: fn() -> Status| {
        answered(move |talk| async move {
            talk.send(keeping(&[(0, 3)])).await;
            talk.fail(status()).await;
        })
    };
    let bare = failing(|| Status::internal("h2 protocol error")).await;
    assert_eq!(bare, in_process("UNREACHABLE"));
    let ours = failing(|| status(Reason::EngineFailure, "late bug")).await;
    assert_eq!(ours, in_process("ENGINE_FAILURE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_7_ranges_outside_the_list_or_kept_twice_never_reach_the_caller() {
    for ranges in [
        &[(0, 4)][..],
        &[(3, 1)],
        &[(0, 2), (1, 2)],
        &[(0, 0)],
        &[(1, u64::MAX)],
    ] {
        let answer = sending(&[keeping(ranges)]).await;
        assert_eq!(answer, in_process("CONTRACT_VIOLATION"), "{ranges:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_a_third_request_for_the_list_breaks_the_contract() {
    let asking = |times: u32| {
        answered(move |mut talk| async move {
            for seq in 2..2 + times {
                talk.send(need(seq)).await;
                let update = talk.update().await;
                assert_eq!((update.seq, update.segments.len()), (seq, 3));
            }
            talk.send(keeping(&[(0, 3)])).await;
        })
    };
    assert_eq!(asking(2).await, by_engine());
    assert_eq!(asking(3).await, in_process("CONTRACT_VIOLATION"));
    assert_eq!(
        sending(&[need(2), need(3), need(4)]).await,
        in_process("CONTRACT_VIOLATION")
    );
    assert_eq!(sending(&[need(7)]).await, in_process("CONTRACT_VIOLATION"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_3_a_list_that_the_hook_does_not_carry_is_unavailable_and_the_call_goes_on() {
    let answer = answered(|mut talk| async move {
        let list = v1::TranscriptList::Log.into();
        let need = v1::NeedTranscript {
            seq: 1,
            list,
            have: Vec::new(),
        };
        talk.send(EngineFrame::NeedTranscript(need)).await;
        let update = talk.update().await;
        assert_eq!(
            (update.seq, update.list, update.unavailable),
            (1, list, true)
        );
        talk.send(keeping(&[(0, 3)])).await;
    });
    assert_eq!(answer.await, by_engine());
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_a_result_before_the_last_part_breaks_the_contract() {
    let engine = Hostile::new(|mut talk| async move {
        talk.start().await;
        talk.send(need(2)).await;
        // One part of many, so that the host still has some to send.
        talk.next().await;
        talk.send(keeping(&[(0, 40)])).await;
        std::future::pending::<()>().await;
    });
    let place = Place::new();
    let _engine = engine.serve_at(&place).await;
    let text = "x".repeat(1 << 20);
    let large = |n| Message::from_payload(format!(r#"{{"role":"user","content":"{n} {text}"}}"#));
    let list: Transcript = (0..40).map(large).collect();
    let options = ClientOptions {
        max_message_bytes: 2 << 20,
        ..ClientOptions::default()
    };
    let client = place.client_with(&options);
    let request = view(&list);
    let served = client
        .assemble_within(&session("s"), request, PATIENT)
        .await
        .unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "CONTRACT_VIOLATION");
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_2_a_status_without_our_reason_is_judged_by_its_code() {
    for (code, reason) in [
        (Code::Internal, "UNREACHABLE"),
        (Code::Unknown, "UNREACHABLE"),
        (Code::DataLoss, "UNREACHABLE"),
        (Code::ResourceExhausted, "UNREACHABLE"),
        (Code::OutOfRange, "UNREACHABLE"),
        (Code::Aborted, "UNREACHABLE"),
        (Code::Unavailable, "UNREACHABLE"),
        (Code::Cancelled, "UNREACHABLE"),
        (Code::DeadlineExceeded, "UNREACHABLE"),
        (Code::Unimplemented, "METHOD_ABSENT"),
        (Code::InvalidArgument, "INVALID_REQUEST"),
        (Code::Unauthenticated, "UNAUTHENTICATED"),
        (Code::PermissionDenied, "PERMISSION_DENIED"),
        (Code::FailedPrecondition, "UNSUPPORTED"),
        (Code::NotFound, "UNSUPPORTED"),
    ] {
        let answer = answered(move |talk| talk.fail(Status::new(code, "of somebody else"))).await;
        assert_eq!(answer, in_process(reason), "{code:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_a_newer_engine_is_ignored() {
    let answer = answered(|talk| async move {
        talk.send_wire(v1::AssembleResponse { frame: None }).await;
        talk.send(keeping(&[(0, 3)])).await;
    });
    assert_eq!(answer.await, by_engine());
}

#[tokio::test(flavor = "multi_thread")]
async fn h_tim_03_progress_for_ever_costs_the_deadline() {
    let endless = late_answered(|talk| async move {
        while !talk.is_abandoned() {
            talk.send(progress()).await;
        }
    });
    assert_eq!(endless.await, in_process("DEADLINE_EXCEEDED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_whose_stream_does_not_end_costs_the_deadline() {
    let unfinished = late_answered(|talk| async move {
        talk.send(keeping(&[(0, 3)])).await;
        talk.abandoned().await;
    });
    assert_eq!(unfinished.await, in_process("DEADLINE_EXCEEDED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_7_after_a_mismatch_the_list_is_sent_in_full_until_it_is_acknowledged() {
    let starts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&starts);
    let engine = Hostile::new(move |mut talk| {
        let seen = Arc::clone(&seen);
        async move {
            let update = talk.start().await.transcript.unwrap();
            let calls = {
                let mut seen = seen.lock().unwrap();
                seen.push((
                    update.base.map_or(0, |base| base.count),
                    update.segments.len(),
                ));
                seen.len()
            };
            match calls {
                2 | 3 => {
                    let mismatch = status(Reason::TranscriptDigestMismatch, "another list");
                    talk.fail(mismatch).await;
                }
                _ => talk.send(keeping(&[(0, 3)])).await,
            }
        }
    });
    let place = Place::new();
    let _engine = engine.serve_at(&place).await;
    let client = place.direct();
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(origin(&client).await);
    }
    let mismatch = || in_process("TRANSCRIPT_DIGEST_MISMATCH");
    assert_eq!(
        answers,
        [
            by_engine(),
            mismatch(),
            mismatch(),
            by_engine(),
            by_engine()
        ]
    );
    let sent = starts.lock().unwrap().clone();
    // Base and segments: the head alone, one kept range, everything twice, one kept range again.
    assert_eq!(sent, [(3, 0), (3, 1), (0, 3), (0, 3), (3, 1)]);
}
