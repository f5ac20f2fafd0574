//! `outbox`, on the file of a host that does not run.

use contextwire_client::engine::{EndSubagent, Session, SessionId};
use contextwire_client::outbox::{
    Addressee, Delivering, NewRow, Outbox, OutboxCall, OutboxOptions, Recipient,
};
use contextwire_client::{Call, CallError};
use serde_json::Value;

use crate::run::{program, text};

/// An engine that takes nothing, ever.
struct Refuses;

impl Recipient for Refuses {
    fn deliver(&self, _: Call) -> Delivering<'_> {
        Box::pin(async { Err(CallError::MessageTooLarge { bytes: 9, limit: 8 }) })
    }

    fn is_ready(&self) -> bool {
        true
    }
}

/// A file with a row that was set aside, and one that waits.
async fn written(path: &std::path::Path) {
    let outbox = Outbox::open(path, OutboxOptions::default()).unwrap();
    for child in ["first", "second"] {
        if child == "second" {
            outbox.pass("lossless", &Refuses).await.unwrap();
        }
        let end = EndSubagent {
            child_session_key: child.to_owned(),
            reason: "completed".to_owned(),
            ..EndSubagent::default()
        };
        let row = NewRow {
            to: Addressee::new("lossless"),
            session: Session::new(SessionId::new(child).unwrap()),
            scope: <_>::default(),
            call: OutboxCall::EndSubagent(end),
        };
        outbox.append(row).await.unwrap();
    }
}

#[tokio::test]
async fn rows_are_listed_shown_put_back_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox.sqlite3");
    written(&path).await;
    let file = path.to_str().unwrap();
    let run = |words: &[&str]| {
        let all = [&["outbox"], words, &["--file", file]].concat();
        program(&all).output().unwrap()
    };
    let shown = |words: &[&str]| {
        let done = run(words);
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout).to_owned()
    };
    let list = shown(&["list"]);
    assert!(list.contains("MESSAGE_TOO_LARGE"), "{list}");
    assert!(list.contains("1 pending in 1 lanes, 1 set aside"), "{list}");
    let json: Value = serde_json::from_str(&shown(&["list", "--json", "--aside"])).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&json["rows"][0]["id"], &json["status"]["set_aside"]),
        (&1.into(), &1.into())
    );
    let one = shown(&["show", "1"]);
    assert!(one.contains("the child ended: completed"), "{one}");

    let put_back: Value = serde_json::from_str(&shown(&["retry", "1", "--json"])).unwrap();
    assert!(put_back["set_aside_ms"].is_null());
    assert_eq!(put_back["attempts"], 0);
    let refused = run(&["drop", "1"]);
    assert!(!refused.status.success());
    assert!(
        text(&refused.stderr).contains("force it"),
        "{}",
        text(&refused.stderr)
    );
    shown(&["drop", "1", "--force"]);
    let gone = run(&["show", "1"]);
    assert!(
        text(&gone.stderr).contains("no row 1"),
        "{}",
        text(&gone.stderr)
    );
    assert!(shown(&["list"]).contains("1 pending in 1 lanes, 0 set aside"));
}

#[test]
fn a_missing_file_and_a_missing_name_say_what_to_do() {
    let unnamed = program(&["outbox", "list", "--config", "none"])
        .output()
        .unwrap();
    assert!(!unnamed.status.success());
    assert!(
        text(&unnamed.stderr).contains("--file"),
        "{}",
        text(&unnamed.stderr)
    );
    let missing = program(&["outbox", "list", "--file", "/nobody/has/this"])
        .output()
        .unwrap();
    assert!(text(&missing.stderr).contains("cannot be opened"));
}
