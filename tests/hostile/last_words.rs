//! What an engine hears of a host that gives a call up: a cancel in band, then the end (R1.5).

use contextwire_client::EngineClient;
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use tokio::sync::mpsc;

use super::engine::{Hostile, described};
use super::{in_process, late_origin, origin};
use crate::harness::{Place, Proxy, soon};

/// What an engine that does not listen hears of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Start,
    Cancel(v1::CancelReason),
    /// The stream was reset or closed; nothing more comes.
    End,
}

/// All that such an engine hears of a call, and that its connection lives.
async fn last_words(call: impl AsyncFn(EngineClient, &mut mpsc::Receiver<Heard>)) -> Vec<Heard> {
    last_words_to(described(), call).await
}

/// The same of one that describes itself so.
async fn last_words_to(
    description: v1::DescribeResponse,
    call: impl AsyncFn(EngineClient, &mut mpsc::Receiver<Heard>),
) -> Vec<Heard> {
    let (words, mut heard) = mpsc::channel(8);
    let engine = Hostile::new(move |mut talk| {
        let words = words.clone();
        async move {
            talk.start().await;
            words.send(Heard::Start).await.unwrap();
            while let Some(frame) = talk.next().await {
                let HostFrame::Cancel(cancel) = frame else {
                    panic!("a cancel")
                };
                words.send(Heard::Cancel(cancel.reason())).await.unwrap();
            }
            talk.abandoned().await;
            words.send(Heard::End).await.unwrap();
        }
    });
    let place = Place::new();
    let _engine = engine.describing(Ok(description)).serve_at(&place).await;
    let proxy = Proxy::to(&place).await;
    call(proxy.place().direct(), &mut heard).await;
    let mut all = Vec::new();
    while all.last() != Some(&Heard::End) {
        all.push(soon(heard.recv()).await.unwrap());
    }
    assert_eq!(proxy.connections(), 1);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_an_overrun_is_cancelled_in_band_before_the_stream_is_reset() {
    let heard = last_words(async |client, _| {
        assert_eq!(late_origin(&client).await, in_process("DEADLINE_EXCEEDED"));
    });
    let cancel = Heard::Cancel(v1::CancelReason::Deadline);
    assert_eq!(heard.await, [Heard::Start, cancel, Heard::End]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_a_caller_that_leaves_cancels_in_band_before_the_stream_is_reset() {
    let heard = last_words(async |client, heard| {
        let call = tokio::spawn(async move { origin(&client).await });
        assert_eq!(soon(heard.recv()).await, Some(Heard::Start));
        call.abort();
    });
    let cancel = Heard::Cancel(v1::CancelReason::CallerAbort);
    assert_eq!(heard.await, [cancel, Heard::End]);
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_11_an_engine_that_is_silent_for_longer_than_it_said_is_given_up() {
    let mut description = described();
    description.engine.as_mut().unwrap().max_silence_ms = Some(50);
    let heard = last_words_to(description, async |client, _| {
        assert_eq!(origin(&client).await, in_process("SILENT"));
    });
    let cancel = Heard::Cancel(v1::CancelReason::Deadline);
    assert_eq!(heard.await, [Heard::Start, cancel, Heard::End]);
}
