//! Endpoints that never answer, answer something else, or vanish; and handshakes that must fail.

use std::time::Duration;

use contextwire_client::{ServedBy, Target};
use contextwire_engine::{Assembled, Hook, Message};
use contextwire_proto::v1;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use super::engine::{Hostile, Talk, described, keeping};
use super::{PATIENT, by_engine, in_process, late_origin, origin, origin_of};
use crate::harness::{Listener, Place, Proxy, TestEngine, Wire, connect, soon, transcript};

async fn kept(mut talk: Talk) {
    let count = talk
        .start()
        .await
        .transcript
        .unwrap()
        .head
        .map_or(0, |head| head.count);
    talk.send(keeping(&[(0, count)])).await;
}

/// Listens, and accepts for as long as it lives, doing this with each connection.
async fn accepting<F>(
    place: &Place,
    greet: impl Fn(Wire) -> F + Send + Sync + 'static,
) -> AbortOnDropHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = Listener::bind(&place.target()).await;
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut greetings = JoinSet::new();
        loop {
            let socket = listener.accept().await;
            greetings.spawn(greet(socket));
        }
    }))
}

async fn silence(socket: Wire) {
    let _held_open = socket;
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn br_023_an_endpoint_that_accepts_and_never_answers_costs_the_deadline() {
    for place in Place::each() {
        let (_silent, client) = (accepting(&place, silence).await, place.direct());
        for _ in 0..2 {
            assert_eq!(
                late_origin(&client).await,
                in_process("DEADLINE_EXCEEDED"),
                "{place:?}"
            );
        }
        let error = client
            .describe(Duration::from_millis(200))
            .await
            .unwrap_err();
        assert_eq!(
            error.code(),
            "DEADLINE_EXCEEDED",
            "Describe has a deadline of its own"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_144_a_full_accept_queue_costs_the_deadline_at_most() {
    for place in Place::each() {
        let _full = full_queue(&place);
        let mut waiting = JoinSet::new();
        for _ in 0..8 {
            let target = place.target();
            waiting.spawn(async move {
                let _held = connect(&target).await;
                std::future::pending::<()>().await;
            });
        }
        let (by, reason) = late_origin(&place.direct()).await;
        assert_eq!(by, ServedBy::InProcess);
        // A full Unix queue refuses at once, a full TCP queue swallows packets.
        assert!(
            matches!(reason, Some("DEADLINE_EXCEEDED" | "UNREACHABLE")),
            "{reason:?}"
        );
    }
}

/// A listener that accepts nobody.
fn full_queue(place: &Place) -> Box<dyn Send> {
    match place.target() {
        #[cfg(unix)]
        Target::Unix(path) => {
            let socket = tokio::net::UnixSocket::new_stream().unwrap();
            socket.bind(path).unwrap();
            Box::new(socket.listen(1).unwrap())
        }
        #[cfg(not(unix))]
        Target::Unix(_) => panic!("no Unix sockets here"),
        Target::Tcp(address) => {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.bind(address).unwrap();
            Box::new(socket.listen(1).unwrap())
        }
        Target::Spawn(_) | Target::Replicas(_) => panic!("one address"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_hangs_up_is_unreachable() {
    for place in Place::each() {
        let _hangs_up = accepting(&place, async |socket| drop(socket)).await;
        assert_eq!(
            origin(&place.direct()).await,
            in_process("UNREACHABLE"),
            "{place:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_speaks_another_protocol_is_unreachable() {
    for place in Place::each() {
        let web_server = async |mut socket: Wire| {
            let mut request = [0; 24];
            socket.read_exact(&mut request).await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
            socket.write_all(answer).await.unwrap();
        };
        let _web_server = accepting(&place, web_server).await;
        assert_eq!(
            origin(&place.direct()).await,
            in_process("UNREACHABLE"),
            "{place:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_closed_in_the_middle_of_the_result_is_unreachable() {
    for place in Place::each() {
        let large = Message::from_payload(format!(r#"{{"content":"{}"}}"#, "x".repeat(1 << 20)));
        let engine = TestEngine::of(move |_, list| {
            let mut messages = Assembled::keep(0..list.len());
            // A list of three is answered at length.
            if list.len() == 3 {
                messages.push_insert(large.clone());
            }
            async move { Ok(messages) }
        });
        let _running = place.serve(engine).await;
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().direct();
        origin_of(&client, &transcript(2), PATIENT).await;
        proxy.cut_to_host_after(100_000);
        assert_eq!(
            origin(&client).await,
            in_process("UNREACHABLE"),
            "{place:?}"
        );
        proxy.mend();
        let mut answers = Vec::new();
        // The first call may still find the broken connection.
        for _ in 0..2 {
            answers.push(origin_of(&client, &transcript(2), PATIENT).await);
        }
        assert_eq!(
            answers.pop(),
            Some((ServedBy::Engine("test".to_owned()), None))
        );
    }
}

/// What a client of an engine with this Describe answers.
async fn with_describe(described: Result<v1::DescribeResponse, Status>) -> &'static str {
    let place = Place::new();
    let _engine = Hostile::new(kept)
        .describing(described)
        .serve_at(&place)
        .await;
    let client = place.direct();
    let (by, reason) = origin(&client).await;
    assert_eq!(by, ServedBy::InProcess);
    let error = client
        .describe(Hook::Describe.profile().deadline)
        .await
        .unwrap_err();
    assert_eq!(Some(error.code()), reason);
    error.code()
}

#[tokio::test(flavor = "multi_thread")]
async fn br_171_another_major_version_is_refused_at_the_handshake_naming_both() {
    let of_major_2 = v1::DescribeResponse {
        protocol: Some(v1::ProtocolVersion { major: 2, minor: 0 }),
        ..described()
    };
    assert_eq!(
        with_describe(Ok(of_major_2.clone())).await,
        "VERSION_UNSUPPORTED"
    );
    let place = Place::new();
    let _engine = Hostile::new(kept)
        .describing(Ok(of_major_2))
        .serve_at(&place)
        .await;
    let error = place
        .direct()
        .describe(PATIENT)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("2.0") && error.contains("1.3"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_3_a_description_without_id_name_or_required_methods_breaks_the_contract() {
    let with = |change: fn(&mut v1::EngineInfo)| {
        let mut described = described();
        change(described.engine.as_mut().unwrap());
        Ok(described)
    };
    for described in [
        with(|engine| engine.id = "  ".to_owned()),
        with(|engine| engine.name = String::new()),
        with(|engine| engine.methods.retain(|method| method != "Compact")),
        Ok(v1::DescribeResponse {
            engine: None,
            ..described()
        }),
    ] {
        assert_eq!(with_describe(described).await, "CONTRACT_VIOLATION");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_that_fails_makes_the_engine_unavailable() {
    assert_eq!(
        with_describe(Err(Status::unavailable("later"))).await,
        "UNREACHABLE"
    );
    assert_eq!(
        with_describe(Err(Status::unimplemented(""))).await,
        "METHOD_ABSENT"
    );
    assert_eq!(
        with_describe(Err(Status::permission_denied("no"))).await,
        "PERMISSION_DENIED"
    );
}

/// What is new in a description means nothing to an older host, and hurts it neither (R4.3).
#[tokio::test(flavor = "multi_thread")]
async fn h_neg_05_what_a_newer_engine_says_of_itself_is_ignored() {
    let mut newer = described();
    newer.protocol.as_mut().unwrap().minor = 99;
    newer.state = 77;
    let engine = newer.engine.as_mut().unwrap();
    engine.methods.push("Dream".to_owned());
    engine.transcript_sync = 77;
    engine.turn_maintenance_mode = 77;
    let place = Place::new();
    let _engine = Hostile::new(kept)
        .describing(Ok(newer))
        .serve_at(&place)
        .await;
    assert_eq!(origin(&place.direct()).await, by_engine());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_engine_takes_over_from_a_bad_one_without_a_new_client() {
    let place = Place::new();
    let client = place.direct();
    let silent = accepting(&place, silence).await;
    assert_eq!(late_origin(&client).await, in_process("DEADLINE_EXCEEDED"));
    silent.abort();
    let _ended = soon(silent).await.is_err();
    let _running = place.serve(TestEngine::keep()).await;
    let mut answers = Vec::new();
    // The first call may still find the old connection.
    for _ in 0..2 {
        answers.push(origin(&client).await.0);
    }
    assert_eq!(answers.pop(), Some(ServedBy::Engine("test".to_owned())));
}
