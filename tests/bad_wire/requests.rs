//! Well-formed messages that must not come, or not like this.

use bytes::Bytes;
use contextwire_engine::Transcript;
use contextwire_proto::status::metadata;
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;

use super::{INVALID, TOO_LARGE, VIOLATION, bench, fields, ingest};
use crate::harness::{RawAssemble, refusal, session, start, start_over, transcript, update};

#[tokio::test(flavor = "multi_thread")]
async fn a_half_close_before_anything_is_refused() {
    let bench = bench().await;
    let mut hook = RawAssemble::open(&bench.stub).await;
    hook.half_close();
    let status = hook.failure().await;
    assert_eq!(
        (refusal(&status), fields(&status)),
        (INVALID, vec!["start".to_owned()])
    );
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_frame_that_is_no_start_is_a_contract_violation() {
    let bench = bench().await;
    let list = transcript(3);
    for frame in [
        HostFrame::Transcript(update(1, &Transcript::new(), &list)),
        HostFrame::Cancel(v1::Cancel::default()),
        HostFrame::HostCallResult(v1::HostCallResult::default()),
    ] {
        let mut hook = RawAssemble::open(&bench.stub).await;
        hook.send(frame).await;
        assert_eq!(refusal(&hook.failure().await), VIOLATION);
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_holds_nothing_is_refused_first_or_later() {
    let bench = bench().await;
    let first = RawAssemble::open(&bench.stub).await;
    first.send_wire(v1::AssembleRequest::default()).await;
    let list = transcript(3);
    let resumed = start_over(&session("other"), &list, &list);
    let mut later = RawAssemble::start(&bench.stub, resumed).await;
    later.need().await;
    later.send_wire(v1::AssembleRequest::default()).await;
    for mut hook in [first, later] {
        let status = hook.failure().await;
        assert_eq!(
            (refusal(&status), fields(&status)),
            (INVALID, vec!["frame".to_owned()])
        );
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_session_or_with_a_bad_id_is_refused_by_field() {
    type Defect = fn(&mut v1::CallContext);
    let defects: [(&str, Defect); 5] = [
        ("call.session", |call| call.session = None),
        ("call.session.session_id", |call| {
            call.session.as_mut().unwrap().session_id = String::new();
        }),
        ("call.session.session_id", |call| {
            call.session.as_mut().unwrap().session_id = "x".repeat(1025);
        }),
        ("call.hook_id", |call| call.hook_id = "no uuid".to_owned()),
        ("call.hook_id", |call| call.hook_id = String::new()),
    ];
    let bench = bench().await;
    for (field, defect) in defects {
        let (mut unary, mut stream) = (ingest(), start(&transcript(3)));
        defect(unary.call.as_mut().unwrap());
        defect(stream.call.as_mut().unwrap());
        let unary = bench.stub.clone().ingest(unary).await.unwrap_err();
        let stream = bench.refused_start(stream).await;
        for status in [unary, stream] {
            assert_eq!(
                (refusal(&status), fields(&status)),
                (INVALID, vec![field.to_owned()])
            );
        }
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_its_parts_is_refused_by_field() {
    let bench = bench().await;
    let no_call = v1::IngestRequest {
        call: None,
        ..ingest()
    };
    let no_message = v1::IngestRequest {
        message: None,
        ..ingest()
    };
    for (field, wrong) in [("call", no_call), ("message", no_message)] {
        let status = bench.stub.clone().ingest(wrong).await.unwrap_err();
        assert_eq!(
            (refusal(&status), fields(&status)),
            (INVALID, vec![field.to_owned()])
        );
    }
    let no_list = v1::AssembleStart {
        transcript: None,
        ..start(&transcript(3))
    };
    assert_eq!(fields(&bench.refused_start(no_list).await), ["transcript"]);
    bench.lives().await;
}

/// Over the wire a stub says that its body did not travel; there is nothing to store (R2.5).
#[tokio::test(flavor = "multi_thread")]
async fn r2_5_an_ingest_of_a_stub_is_too_large() {
    let bench = bench().await;
    let mut request = ingest();
    let sha256 = Bytes::from_static(&[7; 32]);
    request.message.as_mut().unwrap().omitted = Some(v1::OmittedPayload {
        bytes: 20 << 20,
        sha256,
    });
    let status = bench.stub.clone().ingest(request).await.unwrap_err();
    assert_eq!(refusal(&status), TOO_LARGE);
    assert_eq!(metadata(&status)["bytes"], (20 << 20).to_string());
    bench.lives().await;
}
