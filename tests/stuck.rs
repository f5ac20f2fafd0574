//! Engines that stop reading a call keep a part of the window that their connection has for all its
//! calls. Such a connection is left to what runs in it; the turns after it go by another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contextwire_client::{ClientOptions, EngineClient, Policy, ServedBy};
use contextwire_engine::{Ingest, Message, Transcript};
use contextwire_proto::v1;
use prost::Message as _;
use tokio::task::JoinSet;

use crate::harness::{
    Http2Engine, Http2Request, PATIENT, Place, encoded, session, soon, transcript, view,
};

/// The room that an ordinary server gives to all calls of a connection together.
const WINDOW: u32 = 65_535;

/// For the call that gets stuck: by then the engine has to have asked for its list.
const STUCK: Duration = Duration::from_secs(3);

/// More than the room, and more than the parts that the host hands over before any is taken.
fn large() -> Transcript {
    let text = "x".repeat(16 << 10);
    let message = |n: u32| format!(r#"{{"role":"user","content":"{n} {text}"}}"#);
    (0..128).map(message).map(Message::from_payload).collect()
}

/// How far an engine gets with the one call that it does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unread {
    /// It has begun to answer, and asked for the list: the host cannot even reset the stream.
    Open,
    /// Nowhere: the host can reset it, which gives back none of the room.
    Silent,
}

/// Does not read the first call to its end, and serves every other one.
async fn serve(place: &Place, unread: Unread) -> Http2Engine {
    let first = Arc::new(AtomicBool::new(true));
    Http2Engine::serve(place, WINDOW, move |request| {
        let is_first = first.swap(false, Ordering::SeqCst);
        async move {
            if is_first {
                stop_reading(request, unread).await;
            } else {
                keep_all(request).await;
            }
        }
    })
    .await
}

/// Holds what comes and looks at none of it, for as long as the connection lives.
async fn stop_reading(mut request: Http2Request, unread: Unread) {
    if unread == Unread::Open {
        request.message().await.unwrap();
        let need = v1::NeedTranscript {
            seq: 2,
            list: v1::TranscriptList::View.into(),
            have: Vec::new(),
        };
        let frame = Some(v1::assemble_response::Frame::NeedTranscript(need));
        let mut answer = request.head();
        answer.send(encoded(&v1::AssembleResponse { frame }));
        return request.hold(answer).await;
    }
    std::future::pending::<()>().await;
}

/// Answers that everything is kept.
async fn keep_all(mut request: Http2Request) {
    let Some(frame) = request.message().await else {
        return;
    };
    let frame = v1::AssembleRequest::decode(frame).unwrap().frame;
    let Some(v1::assemble_request::Frame::Start(start)) = frame else {
        panic!("a start, not {frame:?}")
    };
    let list = start.transcript;
    let count = list.unwrap().head.map_or(0, |head| head.count);
    let keep = v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start: 0, count })),
    };
    let messages = v1::AssembledMessages {
        segments: vec![keep],
        ..v1::AssembledMessages::default()
    };
    let result = v1::AssembleResult {
        reply: None,
        outcome: Some(v1::assemble_result::Outcome::Messages(messages)),
    };
    let frame = Some(v1::assemble_response::Frame::Result(result));
    let mut answer = request.head();
    answer.send(encoded(&v1::AssembleResponse { frame }));
    answer.end(0);
}

/// Who serves this list, and why not the engine.
async fn origin(
    client: &EngineClient,
    id: &str,
    list: &Transcript,
    deadline: Duration,
) -> (ServedBy, Option<&'static str>) {
    let session = session(id);
    let call = client.assemble_within(&session, view(list), deadline);
    let served = soon(call).await.unwrap();
    let reason = served.reason.as_ref().map(|reason| reason.code());
    (served.by, reason)
}

fn by_engine() -> (ServedBy, Option<&'static str>) {
    (ServedBy::Engine("raw".to_owned()), None)
}

/// A client that sends lists in several parts.
fn client(place: &Place, policy: Policy) -> EngineClient {
    place.client_with(&ClientOptions {
        policy,
        max_message_bytes: 128 << 10,
        ..ClientOptions::default()
    })
}

/// A call that the engine does not read: more of it than there is room for.
async fn get_stuck(client: &EngineClient, unread: Unread) -> (ServedBy, Option<&'static str>) {
    if unread == Unread::Open {
        return origin(client, "s", &large(), STUCK).await;
    }
    let text = "x".repeat(100 << 10);
    let request = Ingest {
        message: Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#)),
        is_heartbeat: false,
    };
    let session = session("s");
    let served = soon(client.ingest_within(&session, request, STUCK)).await;
    let served = served.unwrap();
    (served.by, served.reason.map(|reason| reason.code()))
}

/// Turns of another session until one is the engine's. One that began in the same connection may
/// have found a rest of the room, and is given up by its deadline.
async fn until_served(client: &EngineClient) {
    let deadline = Duration::from_secs(2);
    while origin(client, "o", &transcript(3), deadline).await != by_engine() {}
}

async fn does_not_starve(place: Place, unread: Unread, reason: &'static str) {
    let engine = serve(&place, unread).await;
    let client = client(&place, Policy::Direct);
    client.engine().await.unwrap();
    let stuck = get_stuck(&client, unread).await;
    assert_eq!(stuck, (ServedBy::InProcess, Some(reason)), "{unread:?}");
    Box::pin(soon(until_served(&client))).await;
    let list = large();
    assert_eq!(origin(&client, "s", &list, PATIENT).await, by_engine());
    assert_eq!(engine.connections().made, 2, "{unread:?}");
    // Nothing runs in the first one any more.
    engine.ended(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_stops_reading_one_call_does_not_starve_those_after_it() {
    let mut tests = JoinSet::new();
    for place in Place::each() {
        let other = place.another();
        tests.spawn(does_not_starve(place, Unread::Open, "SYNCING"));
        tests.spawn(does_not_starve(other, Unread::Silent, "DEADLINE_EXCEEDED"));
    }
    tests.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_an_upload_that_goes_on_beside_goes_on_in_another_connection() {
    let place = Place::new();
    let engine = serve(&place, Unread::Open).await;
    let client = client(&place, Policy::Guarded);
    client.engine().await.unwrap();
    let stuck = get_stuck(&client, Unread::Open).await;
    assert_eq!(stuck, (ServedBy::InProcess, Some("SYNCING")));
    // Nobody calls: it is the upload that makes the second connection.
    engine.made(2).await;
    assert_eq!(origin(&client, "s", &large(), PATIENT).await, by_engine());
}
