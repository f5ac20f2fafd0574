//! What travels beside a request, and an engine that will not be described.

use contextwire_client::TraceParent;
use contextwire_engine::{Session, SessionId};
use h2::server;
use http::{HeaderMap, Response};

use super::builder;
use crate::harness::{Listener, Place, TestEngine, soon, transcript, view};

/// Answers every call with this gRPC code and gives back what the call brought in metadata.
async fn refuse(listener: &Listener, code: &str, calls: usize) -> Vec<(String, HeaderMap)> {
    let mut seen = Vec::new();
    let mut connection = server::handshake(listener.accept().await).await.unwrap();
    while seen.len() < calls {
        let (request, mut respond) = connection.accept().await.unwrap().unwrap();
        let name = request.uri().path().rsplit('/').next().unwrap().to_owned();
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", code)
            .body(())
            .unwrap();
        respond.send_response(response, true).unwrap();
        seen.push((name, request.headers().clone()));
    }
    connection.graceful_shutdown();
    // Sends what is still to be sent.
    let _ended = connection.accept().await;
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_10_r7_12_calls_carry_trace_and_affinity_also_to_an_engine_that_will_not_be_described() {
    let place = Place::new();
    let running = place.serve(TestEngine::keep()).await;
    let host = builder()
        .engine("lossless", place.target())
        .build()
        .unwrap();
    let trace: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        .parse()
        .unwrap();
    let host = host.with_trace(trace);
    let session = Session {
        key: Some("agent:main:family".to_owned()),
        ..Session::new(SessionId::new("s1").unwrap())
    };
    let assemble = async || host.assemble(&session, view(&transcript(3))).await.unwrap();
    assert_eq!(assemble().await.reason.map(|it| it.code()), None);
    running.kill().await;
    // A loss: what comes back may be another build, and is described anew.
    assert_eq!(assemble().await.reason.unwrap().code(), "UNREACHABLE");
    // The next engine at this address refuses everything, Describe in both of its forms included:
    // it is taken for what the last one said, and called.
    #[cfg(unix)]
    if let contextwire_client::Target::Unix(path) = place.target() {
        std::fs::remove_file(path).unwrap();
    }
    let listener = Listener::bind(&place.target()).await;
    let refusing = refuse(&listener, "3", 3);
    let calling = async {
        // The breaker may be open for a second.
        let mut codes = Vec::new();
        while codes.last() != Some(&"INVALID_REQUEST") {
            codes.push(assemble().await.reason.unwrap().code());
        }
    };
    let (seen, ()) = soon(Box::pin(async { tokio::join!(refusing, calling) })).await;
    let names: Vec<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Describe", "Describe", "Assemble"]);
    let text = |key: &str| seen[2].1.get(key).unwrap().to_str().unwrap().to_owned();
    let sent: TraceParent = text("traceparent").parse().unwrap();
    assert_eq!(sent.trace_id(), trace.trace_id());
    assert_ne!(sent.span_id(), trace.span_id());
    let affinity = text("contextengine-affinity");
    assert_eq!(affinity.len(), 32);
    assert!(affinity.bytes().all(|byte| byte.is_ascii_hexdigit()));
}
