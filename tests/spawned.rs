//! An engine that its host runs: there when it is needed, there again when it died, gone with its
//! host, however that goes.

mod child;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use contextwire_client::status::ProcessStatus;
use contextwire_client::{EngineClient, Host, ServedBy, SpawnCommand, Target};
use contextwire_engine::{CommitTurn, TurnCommitted};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::harness::{message, session, soon, transcript, view};
pub(crate) use child::engine;
use child::host;

fn process(client: &EngineClient) -> ProcessStatus {
    let [endpoint] = <[_; 1]>::try_from(client.status().endpoints).unwrap();
    endpoint.process.expect("a process of its own")
}

/// Ends when it is as it should be; nothing is timed with it.
async fn until(what: impl Fn() -> bool) {
    let look = async {
        while !what() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    soon(look).await;
}

/// A turn that is committed however often it takes.
async fn commit(client: &EngineClient, n: usize) -> TurnCommitted {
    let mut turn = CommitTurn {
        advancement_key: format!("t{n}"),
        messages: vec![message(2 * n), message(2 * n + 1)],
        ..CommitTurn::default()
    };
    turn.admission.anchor.raw_seq = i64::try_from(n).unwrap();
    let committed = async {
        loop {
            if let Ok(served) = client.commit_turn(&session("s"), turn.clone()).await {
                return served.result;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon(committed).await
}

fn is_there(pid: u32) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

/// The process of the engine itself: the watchdog's child.
#[cfg(target_os = "linux")]
fn engine_of(watchdog: u32) -> u32 {
    let children = format!("/proc/{watchdog}/task/{watchdog}/children");
    let children = std::fs::read_to_string(children).unwrap();
    children.split_whitespace().next().unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Kills the engine of a client, as soon as it has one.
#[cfg(target_os = "linux")]
pub(crate) fn kill(client: &EngineClient) {
    if let Some(watchdog) = process(client).pid {
        signal(engine_of(watchdog), Signal::KILL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_is_run_in_a_private_folder_and_goes_with_its_client() {
    let folder = tempfile::tempdir().unwrap();
    let client = EngineClient::new(&Target::spawn(engine(folder.path()))).unwrap();
    assert_eq!(commit(&client, 0).await, TurnCommitted::Committed);
    let running = process(&client);
    assert_eq!((&*running.state, running.starts), ("ready", 1));
    let socket = std::fs::read_to_string(folder.path().join("socket")).unwrap();
    let socket = PathBuf::from(socket);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(socket.parent().unwrap()), mode(&socket)),
        (0o700, 0o600)
    );

    let watchdog = running.pid.unwrap();
    drop(client);
    until(|| !socket.parent().unwrap().exists() && !is_there(watchdog)).await;
    // It was asked to end, and did so by itself.
    until(|| folder.path().join("ended").exists()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_killed_is_run_again_and_knows_what_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let client = EngineClient::new(&Target::spawn(engine(folder.path()))).unwrap();
    assert_eq!(commit(&client, 0).await, TurnCommitted::Committed);
    kill(&client);
    assert_eq!(commit(&client, 1).await, TurnCommitted::Committed);
    assert_eq!(commit(&client, 0).await, TurnCommitted::Duplicate);
    let running = process(&client);
    assert_eq!((&*running.state, running.starts), ("ready", 2));
    assert_eq!(
        running.ended_because.as_deref(),
        Some("it was ended by signal 9")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_always_ends_is_a_crash_loop_that_says_why_and_costs_no_call() {
    let command = SpawnCommand::new("sh")
        .arg("-c")
        .arg("echo no such store >&2; exit 3");
    let host = Host::builder().engine("mine", Target::spawn(command));
    let host = host.build().unwrap();
    let status = || process(&host.engine("mine").unwrap());
    until(|| status().state == "crash-loop").await;
    let served = host
        .assemble(&session("s"), view(&transcript(2)))
        .await
        .unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    let why = served.reason.unwrap().to_string();
    let expected = "ends again and again: it ended with code 3: no such store";
    assert!(why.contains(expected), "{why}");
    let looping = status();
    assert_eq!(
        looping.ended_because.as_deref(),
        Some("it ended with code 3")
    );
    assert_eq!(looping.last_lines, ["no such store"]);
    assert_eq!((looping.starts, looping.pid), (5, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_said_to_be_none() {
    let target = Target::spawn(SpawnCommand::new("no-such-engine-anywhere"));
    let client = EngineClient::new(&target).unwrap();
    until(|| process(&client).ended_because.is_some()).await;
    let why = process(&client).ended_because.unwrap();
    assert_eq!(why, "there is no such program");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_does_not_outlive_a_host_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = host(folder.path()).await;
    let (watchdog, engine) = (host.watchdog, engine_of(host.watchdog));
    let socket = std::fs::read_to_string(folder.path().join("socket")).unwrap();
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    until(|| !is_there(engine) && !is_there(watchdog)).await;
    until(|| !Path::new(&socket).parent().unwrap().exists()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_will_not_end_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let deaf = format!(
        "trap '' TERM; echo $$ > {0}/pid.new; mv {0}/pid.new {0}/pid; while :; do sleep 1; done",
        folder.path().display()
    );
    let command = SpawnCommand::new("sh").arg("-c").arg(deaf);
    let client = EngineClient::new(&Target::spawn(command)).unwrap();
    let pid = folder.path().join("pid");
    until(|| pid.exists()).await;
    let pid: u32 = std::fs::read_to_string(pid)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(is_there(pid));
    drop(client);
    until(|| !is_there(pid)).await;
}
