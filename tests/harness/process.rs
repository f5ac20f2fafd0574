//! A server in a process of its own: this test binary once more, with one of its tests. The one here
//! serves the ledger as `contextwire serve` does.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use clap::Parser;
use contextwire::command::serve::{self, ServeArgs};
use tempfile::TempDir;

use super::Place;

const STORE: &str = "store=";
const CHILD: &str = "harness::process::child_that_serves_until_it_is_stopped";
const LISTENING: &str = "listening on http://";

/// A server that is another process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    place: Place,
    folder: TempDir,
    // A closed pipe would be an error to the child.
    out: Arc<Mutex<BufReader<ChildStdout>>>,
}

impl Process {
    /// A server of this file; when this returns, hosts can connect.
    pub(crate) async fn serve(store: &Path) -> Self {
        Self::run(CHILD, format!("{STORE}{}", store.display())).await
    }

    /// A server that is this test with this argument; it says where it listens.
    pub(crate) async fn run(test: &'static str, argument: String) -> Self {
        tokio::task::spawn_blocking(move || Self::start(test, &argument))
            .await
            .unwrap()
    }

    fn start(test: &str, argument: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", argument])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended");
            if let Some(address) = line.trim_end().split(LISTENING).nth(1) {
                break address.parse().unwrap();
            }
        };
        Self {
            child,
            place: Place::at(address),
            folder,
            out: Arc::new(Mutex::new(out)),
        }
    }

    /// Waits until it has said this line so many times more.
    pub(crate) async fn says(&self, word: &'static str, times: usize) {
        let out = Arc::clone(&self.out);
        let heard = tokio::task::spawn_blocking(move || {
            let mut out = out.lock().unwrap();
            for _ in 0..times {
                let mut line = String::new();
                while line.trim() != word {
                    line.clear();
                    assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended");
                }
            }
        });
        super::soon(heard).await.unwrap();
    }

    /// Where it listens.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Kills it, without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Tells it to stop, and waits until it has.
    #[cfg(unix)]
    pub(crate) async fn stop(mut self) -> String {
        self.signal("TERM");
        tokio::task::spawn_blocking(move || {
            self.child.wait().unwrap();
            self.log()
        })
        .await
        .unwrap()
    }

    /// Stops all of its threads where they are.
    #[cfg(target_os = "linux")]
    pub(crate) fn pause(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.child.id());
        let stopped = |task: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(task.unwrap().path().join("status"));
            status.is_ok_and(|status| status.contains("State:\tT"))
        };
        while !std::fs::read_dir(&tasks).unwrap().all(stopped) {
            std::thread::yield_now();
        }
    }

    /// Lets it go on.
    #[cfg(target_os = "linux")]
    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = self.child.kill().is_err();
        let _gone = self.child.wait().is_err();
    }
}

/// The command line of the child.
#[derive(clap::Parser)]
struct Serve {
    #[command(flatten)]
    args: ServeArgs,
}

/// In the child: serves the file that an argument names. Without it, as in every run of all tests,
/// there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_serves_until_it_is_stopped() {
    let store = std::env::args().find_map(|arg| Some(arg.strip_prefix(STORE)?.to_owned()));
    let Some(store) = store else {
        return;
    };
    let mut line = vec!["serve", "--config", "none", "--engine", "ledger"];
    line.extend(["--store", &store]);
    line.extend(["--listen", "127.0.0.1:0", "--log-filter", "debug"]);
    if cfg!(unix) {
        line.extend(["--socket", "none"]);
    }
    serve::run(Serve::parse_from(line).args).await.unwrap();
}
