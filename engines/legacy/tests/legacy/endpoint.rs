//! A summariser behind a real HTTP server, on an ephemeral port.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contextwire_engine::Transcript;
use contextwire_legacy::{
    CompactOptions, CompactedLog, CompactionError, Flaw, OpenAiEndpoint, OpenAiOptions,
    SummarizeError,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::support::*;

/// A request as it arrived.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    key: Option<String>,
    body: Value,
}

/// What the server does with a request.
#[derive(Clone, Debug)]
enum Reply {
    Says(&'static str),
    Status(u16, Value),
    Limited(&'static str),
    Never,
}

#[derive(Default)]
struct Desk {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
}

/// An endpoint that answers in turn as it was told; the last answer is repeated.
struct Endpoint {
    address: SocketAddr,
    desk: Arc<Desk>,
    _server: AbortOnDropHandle<()>,
}

impl Endpoint {
    async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let desk = Arc::new(Desk {
            replies: Mutex::new(replies.into_iter().collect()),
            seen: Mutex::default(),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            desk,
            _server: AbortOnDropHandle::new(server),
        }
    }

    fn options(&self) -> OpenAiOptions {
        OpenAiOptions::new(format!("http://{}/v1", self.address), "small-model")
    }

    fn seen(&self) -> Vec<Seen> {
        self.desk.seen.lock().unwrap().clone()
    }

    async fn compacted(&self) -> CompactedLog {
        let endpoint = OpenAiEndpoint::open(&self.options()).unwrap();
        compacted(&turns(60), &quick(), &endpoint).await
    }

    async fn failure(&self) -> CompactionError {
        let endpoint = OpenAiEndpoint::open(&self.options()).unwrap();
        failure(&turns(60), &quick(), &endpoint).await
    }
}

async fn answer(
    State(desk): State<Arc<Desk>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let key = headers.get("authorization");
    desk.seen.lock().unwrap().push(Seen {
        path: uri.to_string(),
        key: key.map(|key| key.to_str().unwrap().to_owned()),
        body: serde_json::from_slice(&body).unwrap(),
    });
    let reply = {
        let mut replies = desk.replies.lock().unwrap();
        let reply = replies.pop_front().unwrap();
        if replies.is_empty() {
            replies.push_back(reply.clone());
        }
        reply
    };
    match reply {
        Reply::Says(text) => completion(text, "stop").to_string().into_response(),
        Reply::Status(status, body) => {
            (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response()
        }
        Reply::Limited(after) => {
            let headers = [("retry-after", after)];
            (StatusCode::TOO_MANY_REQUESTS, headers, "slow down").into_response()
        }
        Reply::Never => std::future::pending().await,
    }
}

fn completion(text: &str, reason: &str) -> Value {
    json!({"model": "small-model-7", "choices": [{"message": {"role": "assistant", "content": text},
        "finish_reason": reason}], "usage": {"total_tokens": 9}})
}

/// Forced, and without a wait between attempts.
fn quick() -> CompactOptions {
    let mut options = forced();
    options.settings.retry_delay = Duration::ZERO;
    options
}

fn failed(attempts: u32, source: SummarizeError) -> CompactionError {
    CompactionError::SummarizationFailed {
        attempts,
        allowed: 3,
        source,
    }
}

fn key_file(key: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, key).unwrap();
    (folder, path)
}

#[tokio::test]
async fn an_answer_becomes_the_summary_and_the_request_is_what_such_endpoints_take() {
    let server = Endpoint::start([Reply::Says("what matters")]).await;
    let (_folder, path) = key_file("sk-test\n");
    let options = OpenAiOptions {
        key_file: Some(path),
        ..server.options()
    };
    let endpoint = OpenAiEndpoint::open(&options).unwrap();
    let done = compacted(&turns(60), &quick(), &endpoint).await;
    assert_eq!(done.summary, "what matters");
    assert_eq!(details(&done)["summarizer"], "openai");
    assert_eq!(details(&done)["model"], "small-model-7");
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].path, "/v1/chat/completions");
    assert_eq!(seen[0].key.as_deref(), Some("Bearer sk-test"));
    let Value::Object(body) = &seen[0].body else {
        panic!("an object")
    };
    let keys: Vec<_> = body.keys().map(String::as_str).collect();
    assert_eq!(keys, ["max_tokens", "messages", "model", "stream"]);
    assert_eq!(body["model"], "small-model");
    assert_eq!(
        (&body["stream"], &body["max_tokens"]),
        (&json!(false), &json!(16_000))
    );
    let roles = [&body["messages"][0]["role"], &body["messages"][1]["role"]];
    assert_eq!(roles, ["system", "user"]);
}

#[tokio::test]
async fn without_a_key_file_no_key_is_sent() {
    let server = Endpoint::start([Reply::Says("what matters")]).await;
    server.compacted().await;
    assert_eq!(server.seen()[0].key, None);
}

#[tokio::test]
async fn a_status_of_400_is_final_and_its_message_is_kept_out_of_the_reason() {
    let body =
        json!({"error": {"message": "bad: word word word", "type": "invalid_request_error"}});
    let server = Endpoint::start([Reply::Status(400, body)]).await;
    let error = server.failure().await;
    let rejected = SummarizeError::Rejected {
        status: 400,
        code: Some("invalid_request_error".to_owned()),
    };
    assert_eq!(error, failed(1, rejected));
    assert!(!error.reason().contains("word"));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_status_of_401_is_final_and_says_what_to_check() {
    let server = Endpoint::start([Reply::Status(401, json!({}))]).await;
    let error = server.failure().await;
    assert_eq!(
        error,
        failed(1, SummarizeError::Unauthorized { status: 401 })
    );
    assert!(error.reason().contains("check the key file"));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_status_of_429_is_waited_for_and_asked_again() {
    let server = Endpoint::start([Reply::Limited("0"), Reply::Says("what matters")]).await;
    assert_eq!(server.compacted().await.summary, "what matters");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(details(&server.compacted().await)["calls"], 1);
}

#[tokio::test]
async fn a_status_of_500_is_tried_three_times() {
    let server = Endpoint::start([Reply::Status(500, json!("oops"))]).await;
    let error = server.failure().await;
    assert_eq!(
        error,
        failed(3, SummarizeError::Unavailable { status: 500 })
    );
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn br_057_a_prompt_that_is_too_long_is_sent_again_in_smaller_parts() {
    let too_long = json!({"error": {"code": "context_length_exceeded"}});
    let server = Endpoint::start([Reply::Status(400, too_long), Reply::Says("what matters")]).await;
    let done = server.compacted().await;
    assert_eq!(done.summary, "what matters");
    let sizes: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| seen.body.to_string().len())
        .collect();
    assert!(sizes[1..].iter().all(|size| *size < sizes[0]), "{sizes:?}");
}

#[tokio::test]
async fn a_model_that_takes_its_limit_under_the_newer_name_gets_it_from_then_on() {
    let other = json!({"error": {"message": "Unsupported parameter: use 'max_completion_tokens'"}});
    let server = Endpoint::start([Reply::Status(400, other), Reply::Says("what matters")]).await;
    let endpoint = OpenAiEndpoint::open(&server.options()).unwrap();
    for _ in 0..2 {
        compacted(&turns(60), &quick(), &endpoint).await;
    }
    let named: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| seen.body.get("max_completion_tokens").is_some())
        .collect();
    assert_eq!(named, [false, true, true]);
}

#[tokio::test]
async fn an_answer_cut_at_the_models_limit_is_no_summary() {
    let server = Endpoint::start([
        Reply::Status(200, completion("half a sent", "length")),
        Reply::Says("what matters"),
    ])
    .await;
    assert_eq!(server.compacted().await.summary, "what matters");
    let again = server.seen()[1].body["messages"][1]["content"].to_string();
    assert!(again.contains("cut off at the output limit"));
}

#[tokio::test]
async fn br_083_an_answer_that_calls_a_tool_is_no_summary() {
    let call = json!({"choices": [{"message": {"content": null, "tool_calls": [{"id": "1"}]}}]});
    let server = Endpoint::start([Reply::Status(200, call)]).await;
    assert_eq!(server.failure().await, failed(3, Flaw::ToolCall.into()));
}

#[tokio::test]
async fn what_is_no_completion_at_all_is_tried_again() {
    let server = Endpoint::start([
        Reply::Status(200, json!("<html>")),
        Reply::Says("what matters"),
    ])
    .await;
    assert_eq!(server.compacted().await.summary, "what matters");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Endpoint::start([Reply::Status(307, json!({}))]).await;
    let rejected = SummarizeError::Rejected {
        status: 307,
        code: None,
    };
    assert_eq!(server.failure().await, failed(1, rejected));
}

#[tokio::test]
async fn an_endpoint_that_never_answers_is_given_up_and_not_asked_again() {
    let server = Endpoint::start([Reply::Never]).await;
    let options = OpenAiOptions {
        timeout: Duration::from_millis(50),
        ..server.options()
    };
    let endpoint = OpenAiEndpoint::open(&options).unwrap();
    let error = failure(&turns(60), &quick(), &endpoint).await;
    assert_eq!(error, failed(1, SummarizeError::TimedOut));
}

#[tokio::test]
async fn an_abort_does_not_wait_for_the_endpoint() {
    let server = Endpoint::start([Reply::Never]).await;
    let endpoint = OpenAiEndpoint::open(&server.options()).unwrap();
    let cx = cx();
    let (log, options): (Transcript, _) = (turns(60), quick());
    let work = contextwire_legacy::compact_log(&cx, &log, &options, &endpoint);
    let abort = async {
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cx.cancellation.cancel();
    };
    let (done, ()) = tokio::join!(work, abort);
    assert_eq!(done.unwrap_err(), CompactionError::Aborted);
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_tried_three_times() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let endpoint = OpenAiEndpoint::open(&OpenAiOptions::new(url, "m")).unwrap();
    let error = failure(&turns(60), &quick(), &endpoint).await;
    assert_eq!(error, failed(3, SummarizeError::Unreachable));
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_not_talked_to_without_it() {
    let server = Endpoint::start([Reply::Says("what matters")]).await;
    let url = format!("https://{}/v1", server.address);
    let endpoint = OpenAiEndpoint::open(&OpenAiOptions::new(url, "m")).unwrap();
    let error = failure(&turns(60), &quick(), &endpoint).await;
    assert_eq!(error, failed(3, SummarizeError::Unreachable));
    assert!(server.seen().is_empty());
}

/// A server whose every answer ends too early: after these bytes the connection closes.
async fn breaking_off(answer: &'static str) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut buffer = [0; 4096];
                // The request ends with the body's closing brace.
                while !seen.ends_with(b"}") {
                    let read = stream.read(&mut buffer).await.unwrap();
                    seen.extend_from_slice(&buffer[..read]);
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    });
    (url, AbortOnDropHandle::new(server))
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_never_taken_for_a_whole_one() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"half",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"cho\r\n",
        "HTTP/1.1 200",
        "",
    ] {
        let (url, _server) = breaking_off(answer).await;
        let endpoint = OpenAiEndpoint::open(&OpenAiOptions::new(url, "m")).unwrap();
        let error = failure(&turns(60), &quick(), &endpoint).await;
        assert_eq!(error, failed(3, SummarizeError::BrokenOff), "{answer}");
    }
}
