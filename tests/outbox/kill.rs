//! A host that is killed anywhere: nothing that it said was recorded is lost or doubled.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use contextwire_client::Target;
use contextwire_engine::SessionId;
use contextwire_ledger::{LedgerEngine, LedgerOptions, open_file};

use super::*;

const CHILD: &str = "outbox::kill::child_that_tells_turns_until_it_is_killed";
const FILE: &str = "outbox-file=";
const TARGET: &str = "outbox-target=";
const FIRST: &str = "outbox-first=";
const SAYS: &str = "recorded ";
/// Kills in a run of all tests.
const KILLS: usize = 20;
const SESSIONS: usize = 3;

fn key(n: usize) -> String {
    format!("turn-{n:05}")
}

async fn told_nth(host: &Host, n: usize) -> Recorded {
    let key = key(n);
    let mut admission = admission(&key);
    admission.anchor.raw_seq = i64::try_from(2 * n).unwrap();
    let session = session(&format!("s{}", n % SESSIONS));
    let admission = Admission::Recorded(admission);
    let turn = host.turn(&session, admission).await.unwrap();
    let mut end = end(&key);
    end.terminal.raw_seq = i64::try_from(2 * n + 1).unwrap();
    turn.record(TurnOutcome::Completed, end).await
}

fn host_at(file: impl Into<PathBuf>, target: Target) -> Host {
    let options = ClientOptions {
        quarantine: QuarantineOptions {
            list: Quarantines::new(),
            ..QuarantineOptions::default()
        },
        ..ClientOptions::default()
    };
    let host = Host::builder().options(options).engine(ENGINE, target);
    host.outbox(file).build().unwrap()
}

/// In the child: turn after turn, each said once it is on the disk. Without its arguments, as in every
/// run of all tests, there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_tells_turns_until_it_is_killed() {
    let argument = |name| std::env::args().find_map(|arg| Some(arg.strip_prefix(name)?.to_owned()));
    let Some(file) = argument(FILE) else {
        return;
    };
    let target: Target = argument(TARGET).unwrap().parse().unwrap();
    let first: usize = argument(FIRST).unwrap().parse().unwrap();
    let host = host_at(file, target);
    for n in first.. {
        assert!(is_queued(&told_nth(&host, n).await));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{SAYS}{n}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs a child until it has recorded so many turns more, and kills it; gives the last one.
fn kill_after(desk: &Desk, first: usize, turns: usize) -> usize {
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--nocapture"])
        .arg(format!("{FILE}{}", desk.file().display()))
        .arg(format!("{TARGET}{}", desk.place.target()))
        .arg(format!("{FIRST}{first}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).filter_map(|line| {
        let (_, number) = line.split_once(SAYS)?;
        number.parse::<usize>().ok()
    });
    let last = said.take(turns).last();
    child.kill().unwrap();
    child.wait().unwrap();
    last.expect("the child recorded nothing")
}

#[tokio::test(flavor = "multi_thread")]
async fn c195_a_host_that_is_killed_again_and_again_loses_no_turn_and_doubles_none() {
    let desk = std::sync::Arc::new(Desk::new());
    let store = desk.folder.path().join("ledger.sqlite3");
    let ledger = LedgerEngine::open(&store, LedgerOptions::default()).unwrap();
    let running = desk.place.serve(ledger).await;
    // The same points in every run, and others in each round.
    let (mut next, mut random) = (0, 0x2545_f491_u64);
    for _ in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let turns = 1 + usize::try_from(random % 7).unwrap();
        let of = std::sync::Arc::clone(&desk);
        let killed = tokio::task::spawn_blocking(move || kill_after(&of, next, turns));
        next = 1 + soon(killed).await.unwrap();
    }
    let host = host_at(desk.file(), desk.place.target());
    emptied(host.outbox().unwrap()).await;
    assert_eq!(host.status().outbox.unwrap().set_aside, 0);
    drop(host);
    running.stop().await.unwrap();

    let file = open_file(&store).unwrap();
    for session in 0..SESSIONS {
        let id = SessionId::new(format!("s{session}")).unwrap();
        let stored = (0..).map_while(|place| file.message(&id, place).unwrap());
        let stored: Vec<_> = stored.map(|message| message.payload().to_vec()).collect();
        let turns = (0..next).filter(|n| n % SESSIONS == session);
        let expected: Vec<_> = turns
            .flat_map(|n| messages(&key(n)))
            .map(|message| message.payload().to_vec())
            .collect();
        // One turn more may have been recorded and not said.
        let more = stored.len() - expected.len().min(stored.len());
        assert!(more == 0 || more == 2, "{session}: {more} messages more");
        assert_eq!(
            stored[..expected.len().min(stored.len())],
            expected,
            "{session}"
        );
    }
}
