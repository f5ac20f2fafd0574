//! What tonic, prost and h2 do that our rules rest on. A release of theirs that does something else
//! fails here by name, before a rule of ours fails somewhere else; then read what the rule is for.

mod messages;
mod service;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use service::{Caller, Facts, Note, Notes, note};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataValue;
use tonic::transport::Server;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::harness::{Place, Relay, TestEngine, channel, soon};

/// Largest message that is decoded where nobody says otherwise.
const DEFAULT_LIMIT: usize = 4 << 20;

/// A message of exactly the default limit, and one byte more.
fn at_the_limit() -> (Note, Note) {
    // A tag and a length of four bytes stand before the body.
    let exact = note(DEFAULT_LIMIT - 5);
    assert_eq!(exact.encoded_len(), DEFAULT_LIMIT);
    (exact, note(DEFAULT_LIMIT - 4))
}

fn once(note: Note) -> Request<tokio_stream::Once<Note>> {
    Request::new(tokio_stream::once(note))
}

/// A stream whose sender is the test's.
fn talk() -> (mpsc::Sender<Note>, Request<ReceiverStream<Note>>) {
    let (frames, outgoing) = mpsc::channel(16);
    (frames, Request::new(ReceiverStream::new(outgoing)))
}

/// Frames of the test's own, whatever comes in.
fn answering(frames: Vec<Result<Note, Status>>) -> Notes {
    Box::pin(tokio_stream::iter(frames))
}

async fn next(answers: &mut Streaming<Note>) -> Option<Note> {
    soon(answers.message()).await.unwrap()
}

#[tokio::test]
async fn a_request_over_4_mib_is_out_of_range_unary_and_as_a_first_frame_and_the_channel_lives() {
    let serving = Facts::echo().serve().await;
    let caller = serving.caller();
    let (exact, over) = at_the_limit();
    let relaxed = Caller(caller.0.clone().max_decoding_message_size(usize::MAX));
    assert_eq!(
        relaxed
            .unary(Request::new(exact))
            .await
            .unwrap()
            .encoded_len(),
        DEFAULT_LIMIT
    );
    // No limit on the way out: it is sent, and the other end refuses it.
    let refused = relaxed.unary(Request::new(over.clone())).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    let sizes = [(DEFAULT_LIMIT + 1).to_string(), DEFAULT_LIMIT.to_string()];
    let digits = |c: char| !c.is_ascii_digit();
    let said = refused.message().split(digits).filter(|it| !it.is_empty());
    assert!(said.eq(sizes), "the sizes, and no other number: {refused}");
    let mut answers = relaxed.bidi(once(over)).await.unwrap();
    let refused = soon(answers.message()).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    assert!(caller.works().await);
}

#[tokio::test]
async fn an_answer_over_4_mib_is_out_of_range_unary_and_as_a_frame_and_the_channel_lives() {
    let (_, over) = at_the_limit();
    let frame = over.clone();
    let facts = Facts::echo()
        .unary(move |request| {
            let answer = match request.get_ref().body.len() {
                1 => request.into_inner(),
                _ => over.clone(),
            };
            async { Ok(answer) }
        })
        .bidi(move |_| answering(vec![Ok(frame.clone())]));
    let serving = facts.serve().await;
    let caller = serving.caller();
    let refused = caller.unary(Request::new(note(2))).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    let mut answers = caller.bidi(once(note(2))).await.unwrap();
    let refused = soon(answers.message()).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    assert!(caller.works().await);
}

#[tokio::test]
async fn a_senders_own_limit_resets_the_stream_as_an_internal_error() {
    let serving = Facts::echo().serve().await;
    let caller = serving.caller();
    let limited = Caller(caller.0.clone().max_encoding_message_size(100));
    let refused = limited.unary(Request::new(note(200))).await.unwrap_err();
    // Nothing says what it was: the sender has to look at the size first.
    assert_eq!(refused.code(), Code::Internal, "{refused}");
    assert!(refused.message().contains("h2 protocol error"), "{refused}");
    assert!(caller.works().await);
}

#[tokio::test]
async fn a_handler_that_ignores_the_streams_error_ends_ok_with_no_frame() {
    let facts = Facts::echo().bidi(|mut inbound| {
        let (answers, frames) = mpsc::channel(1);
        drop(tokio::spawn(async move {
            while let Ok(Some(note)) = inbound.message().await {
                answers.send(Ok(note)).await.unwrap();
            }
        }));
        Box::pin(ReceiverStream::new(frames))
    });
    let serving = facts.serve().await;
    let mut answers = serving.caller().bidi(once(at_the_limit().1)).await.unwrap();
    assert_eq!(next(&mut answers).await, None, "OK trailers, nothing else");
}

#[tokio::test]
async fn a_message_that_inflates_over_the_limit_is_resource_exhausted() {
    let serving = Facts::echo().with_gzip().serve().await;
    let caller = serving.caller();
    let gzip = Caller(caller.0.clone().send_compressed(CompressionEncoding::Gzip));
    assert!(gzip.works().await);
    let refused = gzip
        .unary(Request::new(at_the_limit().1))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(caller.works().await);
}

#[tokio::test]
async fn compression_that_a_server_did_not_switch_on_is_unimplemented() {
    let serving = Facts::echo().serve().await;
    let caller = serving.caller();
    let gzip = Caller(caller.0.clone().send_compressed(CompressionEncoding::Gzip));
    let refused = gzip.unary(Request::new(note(1))).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented, "{refused}");
    assert!(caller.works().await);
}

/// A unary method that answers small notes only, and a stream that echoes.
fn hanging() -> Facts {
    Facts::echo().unary(|request| async {
        match request.get_ref().body.len() {
            1 => Ok(request.into_inner()),
            _ => std::future::pending().await,
        }
    })
}

#[tokio::test]
async fn a_grpc_timeout_ends_a_unary_call_with_cancelled() {
    let serving = hanging().serve().await;
    let caller = serving.caller();
    let mut request = Request::new(note(2));
    request.set_timeout(Duration::from_millis(100));
    let status = soon(caller.unary(request)).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Cancelled, "Timeout expired")
    );
    assert!(caller.works().await);
}

#[tokio::test]
async fn a_grpc_timeout_does_not_cut_a_stream_that_is_open() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let serving = hanging().serve().await;
    let caller = serving.caller();
    let (frames, mut outgoing) = talk();
    outgoing.set_timeout(TIMEOUT);
    let mut answers = caller.bidi(outgoing).await.unwrap();
    // A unary call that begins later with the same timeout shows when it is over.
    let mut later = Request::new(note(2));
    later.set_timeout(TIMEOUT);
    assert_eq!(
        soon(caller.unary(later)).await.unwrap_err().code(),
        Code::Cancelled
    );
    frames.send(note(1)).await.unwrap();
    assert_eq!(next(&mut answers).await, Some(note(1)));
}

#[tokio::test]
async fn a_call_that_failed_is_never_repeated_by_itself() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let facts = Facts::echo().unary(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Err(Status::unavailable("later")) }
    });
    let serving = facts.serve().await;
    let status = serving
        .caller()
        .unary(Request::new(note(1)))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn details_of_11_kb_arrive_and_those_of_12_and_a_half_and_of_100_kb_vanish() {
    let facts = Facts::echo().unary(|request| async move {
        let body = request.into_inner().body;
        if body.len() == 1 {
            return Ok(Note { body });
        }
        Err(Status::with_details(Code::FailedPrecondition, "text", body))
    });
    let serving = facts.serve().await;
    let caller = serving.caller();
    for (bytes, code, arriving) in [
        (11_000, Code::FailedPrecondition, 11_000),
        (12_500, Code::Internal, 0),
        (100_000, Code::ResourceExhausted, 0),
    ] {
        let status = caller.unary(Request::new(note(bytes))).await.unwrap_err();
        assert_eq!(
            (status.code(), status.details().len()),
            (code, arriving),
            "{bytes}: {status}"
        );
        assert!(caller.works().await);
    }
}

#[tokio::test]
async fn metadata_of_20_kb_is_http_431_which_becomes_unknown() {
    let serving = Facts::echo().serve().await;
    let caller = serving.caller();
    let with_metadata = |bytes| {
        let mut request = Request::new(note(1));
        let value = MetadataValue::try_from("x".repeat(bytes)).unwrap();
        request.metadata_mut().insert("extra", value);
        request
    };
    assert_eq!(caller.unary(with_metadata(8 << 10)).await.unwrap(), note(1));
    let status = caller.unary(with_metadata(20_000)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown, "{status}");
    assert!(status.message().contains("431"), "{status}");
    assert!(caller.works().await);
}

/// Opens streams that nobody answers, then drops them all, which the server sees at once; and
/// whether a call that was running on the same connection goes on.
async fn survives(burst: usize, server: Server) -> bool {
    let serving = hanging().serve_by(server).await;
    let relay = Relay::to(serving.address).await;
    let caller = Caller::at(relay.address);
    let (frames, outgoing) = talk();
    let mut running = caller.bidi(outgoing).await.unwrap();
    relay.hold();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..burst {
        let caller = caller.clone();
        calls.spawn(async move { caller.unary(Request::new(note(2))).await });
    }
    relay.sent(|sent| sent.opened == 1 + burst).await;
    calls.shutdown().await;
    relay.sent(|sent| sent.reset == burst).await;
    relay.release();
    let _gone = frames.send(note(1)).await.is_err();
    matches!(soon(running.message()).await, Ok(Some(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_21_resets_that_a_busy_server_sees_at_once_kills_the_connection() {
    assert!(survives(20, Server::builder()).await);
    assert!(!survives(21, Server::builder()).await);
    let patient = Server::builder().http2_max_pending_accept_reset_streams(Some(1000));
    assert!(survives(200, patient).await);
}

#[tokio::test]
async fn dropping_the_answers_of_a_stream_resets_it_once_the_request_is_over_too() {
    let (seen, mut saw) = mpsc::channel(4);
    let facts = Facts::echo().bidi(move |mut inbound| {
        let (answers, frames) = mpsc::channel(1);
        let seen = seen.clone();
        drop(tokio::spawn(async move {
            answers.send(Ok(note(1))).await.unwrap();
            let late = inbound.message().await.unwrap();
            seen.send(late).await.unwrap();
            // Whoever only reads may take what comes now for a clean end.
            answers.closed().await;
            seen.send(None).await.unwrap();
        }));
        Box::pin(ReceiverStream::new(frames))
    });
    let serving = facts.serve().await;
    let relay = Relay::to(serving.address).await;
    let caller = Caller::at(relay.address);
    let (frames, outgoing) = talk();
    let mut answers = caller.bidi(outgoing).await.unwrap();
    assert_eq!(next(&mut answers).await, Some(note(1)));
    drop(answers);
    frames.send(note(2)).await.unwrap();
    assert_eq!(
        soon(saw.recv()).await,
        Some(Some(note(2))),
        "the stream still carries frames"
    );
    drop(frames);
    relay.sent(|sent| sent.reset == 1).await;
    assert_eq!(soon(saw.recv()).await, Some(None));
    assert!(caller.works().await);
}

#[tokio::test]
async fn a_panic_in_a_handler_resets_its_stream_without_a_status_of_anybody() {
    let facts = hanging().bidi(|_| panic!("in the handler"));
    let serving = facts.serve().await;
    let caller = serving.caller();
    let status = match caller.bidi(once(note(1))).await {
        Err(status) => status,
        Ok(mut answers) => soon(answers.message()).await.unwrap_err(),
    };
    assert_eq!(
        (status.code(), status.details().len()),
        (Code::Cancelled, 0),
        "{status}"
    );
    assert!(caller.works().await, "the connection lives");
}

#[tokio::test]
async fn a_graceful_shutdown_waits_for_streams_however_long_they_last() {
    let serving = Facts::echo().serve().await;
    let (frames, outgoing) = talk();
    let mut answers = serving.caller().bidi(outgoing).await.unwrap();
    serving.stop.cancel();
    // Goes on and on: nothing but its own end ends it.
    for _ in 0..3 {
        frames.send(note(1)).await.unwrap();
        assert_eq!(next(&mut answers).await, Some(note(1)));
        assert!(!serving.run.is_finished());
    }
    drop(frames);
    assert_eq!(next(&mut answers).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_health_service_cannot_list() {
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    let mut grpc = tonic::client::Grpc::new(channel(&place.target()));
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/grpc.health.v1.Health/List");
    let listed = grpc.unary(
        Request::new(note(0)),
        path,
        ProstCodec::<Note, Note>::default(),
    );
    assert_eq!(soon(listed).await.unwrap_err().code(), Code::Unimplemented);
}
