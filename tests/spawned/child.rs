//! What runs in processes of its own: this test binary once more, as an engine or as a host.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::Parser;
use contextwire::command::serve::{self, ServeArgs};
use contextwire_client::{EngineClient, SpawnCommand, Target};

const FOLDER: &str = "spawned-folder=";
const HOST_FOLDER: &str = "spawned-host-folder=";
const ENGINE: &str = "spawned::child::child_that_serves_where_it_is_told";
const HOST: &str = "spawned::child::child_that_runs_an_engine";
const READY: &str = "the engine is ";

/// The command of an engine that stores in this folder, and says there where it listened and that it
/// ended in good order.
pub(crate) fn engine(folder: &Path) -> SpawnCommand {
    let program = std::env::current_exe().unwrap();
    SpawnCommand::new(program.to_str().unwrap())
        .arg(ENGINE)
        .arg("--exact")
        .arg("--nocapture")
        .arg(format!("{FOLDER}{}", folder.display()))
}

fn argument(name: &str) -> Option<PathBuf> {
    let folder = std::env::args().find_map(|arg| Some(arg.strip_prefix(name)?.to_owned()));
    folder.map(PathBuf::from)
}

/// The command line of the engine.
#[derive(clap::Parser)]
struct Serve {
    #[command(flatten)]
    args: ServeArgs,
}

/// In the child: serves as `contextwire serve` does, at the socket that the environment names.
/// Without its argument, as in every run of all tests, there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_serves_where_it_is_told() {
    let Some(folder) = argument(FOLDER) else {
        return;
    };
    let told = std::env::vars_os().find(|(name, _)| name == "CONTEXTENGINE_SOCKET");
    let (_, socket) = told.unwrap();
    std::fs::write(folder.join("socket"), socket.to_str().unwrap()).unwrap();
    let store = folder.join("ledger.sqlite3");
    let line = ["serve", "--config", "none", "--engine", "ledger", "--store"];
    let line = line.into_iter().chain([store.to_str().unwrap()]);
    serve::run(Serve::parse_from(line).args).await.unwrap();
    std::fs::write(folder.join("ended"), "").unwrap();
}

/// A host in a process of its own.
pub(super) struct HostProcess {
    pub(super) child: Child,
    /// The process group of its engine.
    pub(super) watchdog: u32,
}

/// A host whose engine, in this folder, is ready.
pub(super) async fn host(folder: &Path) -> HostProcess {
    let argument = format!("{HOST_FOLDER}{}", folder.display());
    let start = move || {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([HOST, "--exact", "--nocapture", &argument])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut said = out.lines().map(Result::unwrap);
        let watchdog = said.find_map(|line| Some(line.split(READY).nth(1)?.parse().unwrap()));
        HostProcess {
            child,
            watchdog: watchdog.expect("it ended"),
        }
    };
    tokio::task::spawn_blocking(start).await.unwrap()
}

/// In the child: runs an engine until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_runs_an_engine() {
    let Some(folder) = argument(HOST_FOLDER) else {
        return;
    };
    let client = EngineClient::new(&Target::spawn(engine(&folder))).unwrap();
    super::until(|| super::process(&client).state == "ready").await;
    println!("{READY}{}", super::process(&client).pid.unwrap());
    std::future::pending::<()>().await;
}
