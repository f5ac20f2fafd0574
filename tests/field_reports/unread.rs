//! An engine in a process of its own, whose log goes to a pipe that nobody reads or holds.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::{by, origin};
use crate::harness::Place;

/// The child, which is killed with this.
struct Unread {
    child: Child,
    place: Place,
    // A closed pipe would be an error to the child here.
    _out: BufReader<ChildStdout>,
}

impl Unread {
    fn serve(store: &Path) -> Self {
        let test = "harness::process::child_that_serves_until_it_is_stopped";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .arg(format!("store={}", store.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(address) = line.trim_end().split("listening on http://").nth(1) {
                break address.parse().unwrap();
            }
        };
        Self {
            child,
            place: Place::at(address),
            _out: out,
        }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _gone = self.child.kill().is_err();
        let _gone = self.child.wait().is_err();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_169_an_engine_whose_lines_nobody_reads_any_more_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.sqlite3");
    let engine = tokio::task::spawn_blocking(move || Unread::serve(&file));
    let engine = engine.await.unwrap();
    let client = engine.place.direct();
    for _ in 0..3 {
        assert_eq!(origin(&client).await, by("ledger"));
    }
}
