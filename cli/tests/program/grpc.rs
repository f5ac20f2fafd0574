//! Somebody else's gRPC client, which knows of the contract only what reflection tells it: `buf curl`
//! over both kinds of address.

use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::run::{Service, text};

const PACKAGE: &str = "@bufbuild/buf@1.75.0";
const NPX: &str = if cfg!(windows) { "npx.cmd" } else { "npx" };
const SERVICE: &str = "contextengine.v1.ContextEngineService";

/// `{"role":"user","content":"hi"}`, and the chain over it as the one message of a list.
const PAYLOAD: &str = "eyJyb2xlIjoidXNlciIsImNvbnRlbnQiOiJoaSJ9";
const CHAIN: &str = "px6FcEAzuliM1XOs4gtRNWuB2DDtJEL4pxUUWwNzE2s=";

/// Where buf is, if Node has fetched it before; the protocol lint does.
static BUF: LazyLock<Option<String>> = LazyLock::new(|| {
    let find = ["--offline", "--yes", "-p", PACKAGE, "-c", "command -v buf"];
    let output = Command::new(NPX)
        .args(find)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let path = text(&output.stdout).trim().to_owned();
    (output.status.success() && !path.is_empty()).then_some(path)
});

/// How buf gets to an address.
fn address(address: &str) -> (Vec<String>, String) {
    match address.strip_prefix("unix:") {
        Some(path) => (
            vec!["--unix-socket".to_owned(), path.to_owned()],
            "http://localhost".to_owned(),
        ),
        None => (Vec::new(), address.to_owned()),
    }
}

fn curl(buf: &str, at: &str, more: &[&str], path: &str) -> Output {
    let (how, url) = address(at);
    Command::new(buf)
        .args(["curl", "--protocol", "grpc", "--http2-prior-knowledge"])
        .args(how)
        .args(more)
        .arg(format!("{url}{path}"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The answer of a method to this request.
fn call(buf: &str, at: &str, method: &str, request: &Value) -> Value {
    let data = request.to_string();
    let output = curl(buf, at, &["-d", &data], &format!("/{SERVICE}/{method}"));
    assert!(
        output.status.success(),
        "{at} {method}: {}",
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn context(number: u8) -> Value {
    json!({
        "hook_id": format!("019ad6d0-0000-7000-8000-0000000000{number:02x}"),
        "attempt": 1,
        "budget_ms": 20000,
        "session": { "session_id": format!("s{number}") },
    })
}

/// Every step at one address, which nobody used before with these numbers.
fn look_at(buf: &str, at: &str, number: u8) {
    let listed = curl(buf, at, &["--list-methods"], "");
    let methods = text(&listed.stdout).lines();
    let ours = methods.filter(|line| line.starts_with(SERVICE)).count();
    assert_eq!(ours, contextwire_engine::Hook::ALL.len(), "{at}");

    let protocol = json!({ "protocol": { "major": 1, "minor": 3 } });
    let described = call(buf, at, "Describe", &protocol);
    assert_eq!(described["engine"]["id"], "ledger");
    assert_eq!(described["state"], "ENGINE_STATE_READY");

    let message = json!({ "payload": PAYLOAD, "entry_id": "e1", "role": "user" });
    let ingest = json!({ "call": context(number), "message": message });
    let ingested = call(buf, at, "Ingest", &ingest);
    assert_eq!(ingested["ingested"], true, "{at} {ingested}");

    let start = json!({
        "call": context(number),
        "transcript": {
            "seq": 1,
            "list": "TRANSCRIPT_LIST_VIEW",
            "segments": [{ "insert": message }],
            "head": { "count": 1, "chain": CHAIN },
        },
        "current_turn": "CURRENT_TURN_INCLUDED",
        "site": "ASSEMBLE_SITE_BEFORE_PROMPT",
    });
    let assembled = call(buf, at, "Assemble", &json!({ "start": start }));
    let segments = &assembled["result"]["messages"]["segments"];
    assert_eq!(
        segments,
        &json!([{ "keep": { "count": "1" } }]),
        "{assembled}"
    );

    let failed = curl(buf, at, &["-d", "{}"], &format!("/{SERVICE}/Ingest"));
    assert!(!failed.status.success());
    assert!(text(&failed.stderr).contains("invalid_argument"), "{at}");
}

#[test]
fn a_client_that_knows_reflection_only_lists_describes_and_calls() {
    let Some(buf) = BUF.as_deref() else {
        println!("skipped: buf is not here (`npx --yes {PACKAGE} --version` fetches it)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store.sqlite3");
    let mut args = vec!["--engine", "ledger", "--store", store.to_str().unwrap()];
    args.extend(["--listen", "127.0.0.1:0"]);
    #[cfg(unix)]
    let socket = crate::run::private(folder.path()).join("engine.sock");
    #[cfg(unix)]
    args.extend(["--socket", socket.to_str().unwrap()]);
    let service = Service::start(&args, if cfg!(unix) { 2 } else { 1 });
    for (number, at) in (1..).zip(&service.addresses) {
        look_at(buf, at, number);
    }
}
