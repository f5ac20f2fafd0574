//! kill -9 at any instant of a commit or a compaction: an acknowledged turn is there, never half of
//! one, and every entry is in exactly one place of the plan.
//!
//! The engine runs in a child: this test binary again, with one test and the path of the store as
//! an argument. Without that argument the child's test does nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contextwire_engine::{Compact, ContextEngine, Maintain, TokenBudget};
use contextwire_lossless::{PastSession, open_file};

use super::support::*;

/// Seeded instants at which a child is killed, unless `CONTEXTWIRE_KILLS` says how many.
const KILLS: u64 = 20;
const MIGRATING: &str = "migrating";
const STORE: &str = "store=";
const COMMITTED: &str = "committed ";
/// Messages of each turn.
const MESSAGES: usize = 6;

fn store_argument() -> Option<PathBuf> {
    let path = std::env::args().find_map(|arg| Some(arg.strip_prefix(STORE)?.to_owned()));
    path.map(PathBuf::from)
}

/// In the child: commits, indexes and compacts until it is killed, and says each acknowledgement.
#[tokio::test]
async fn child_that_commits_until_it_is_killed() {
    let Some(path) = store_argument() else {
        return;
    };
    let engine = contextwire_lossless::LosslessEngine::open(&path, <_>::default()).unwrap();
    let start = stored(&path).len();
    let padding = "x".repeat(900);
    for n in start.. {
        let message =
            |part| said("user", &format!("{padding}{n}")).with_entry_id(format!("{n}/{part}"));
        let messages = (0..MESSAGES).map(message).collect();
        let turn = turn(&format!("t{n}"), i64::try_from(n).unwrap(), messages);
        let done = commit(&engine, turn).await;
        println!("{COMMITTED}{n} {done:?}");
        engine.maintain(&call(), Maintain::default()).await.unwrap();
        let room = Compact {
            token_budget: TokenBudget::new(3_000),
            force: true,
            ..Compact::default()
        };
        engine.compact(&call(), room).await.unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the switch of a long run")]
fn kills() -> u64 {
    let said = std::env::var("CONTEXTWIRE_KILLS");
    said.ok().map_or(KILLS, |said| said.parse().unwrap())
}

/// In the child: brings the file of an older release up to date, and says when it begins.
#[test]
fn child_that_migrates_until_it_is_killed() {
    let Some(path) = store_argument() else {
        return;
    };
    println!("{MIGRATING}");
    contextwire_lossless::LosslessEngine::open(&path, <_>::default()).unwrap();
}

/// What the file of the release before was: without the tables of the last step.
fn as_before(path: &Path) {
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute_batch(
        "BEGIN; DROP TABLE pin; DROP TABLE debt; DROP TABLE revision; DROP TABLE erased;
         DELETE FROM progress;
         PRAGMA user_version = 1; COMMIT;",
    )
    .unwrap();
}

#[tokio::test]
async fn a_kill_during_a_migration_leaves_the_old_file_or_the_new_one() {
    let place = Place::new();
    let path = place.path();
    let log: contextwire_engine::Transcript = long(60, 40).into_iter().collect();
    bootstrap(&place.open(), &call(), log.clone()).await;
    let mut seeded = Seeded(2);
    let mut finished = 0;
    for kill in 0..kills() {
        as_before(&path);
        let test = "kill::child_that_migrates_until_it_is_killed";
        let mut child = child_in(test, &path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains(MIGRATING) {}
        for _ in 0..seeded.below(500_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Whoever reads it as it is finds everything, whichever release it is of.
        let stored = open_file(&path).unwrap().log(&name("s")).unwrap().unwrap();
        assert_eq!(stored.total, log.state(), "kill {kill}");
        let version: u32 = rusqlite::Connection::open(&path)
            .unwrap()
            .query_row("SELECT user_version FROM pragma_user_version", (), |row| {
                row.get(0)
            })
            .unwrap();
        finished += u64::from(version == 2);
        // The next engine goes on with it.
        let engine = place.open();
        let reply = assemble(&engine, &call(), &log, None).await;
        assert_eq!(texts(&reply, &log).len(), 60, "kill {kill}");
    }
    println!(
        "{finished} of {} migrations were over before the kill",
        kills()
    );
}

fn child(store: &Path) -> Child {
    child_in("kill::child_that_commits_until_it_is_killed", store)
}

fn child_in(test: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .arg(format!("{STORE}{}", store.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Numbers that are the same in every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        // The step of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Kills a child some way into its work; notes what it had acknowledged.
fn killed(store: &Path, seeded: &mut Seeded, acknowledged: &mut Vec<usize>) {
    let mut child = child(store);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let enough = acknowledged.len() + usize::try_from(1 + seeded.below(8)).unwrap();
    while acknowledged.len() < enough {
        acknowledged.extend(turn_in(&lines.next().unwrap().unwrap()));
    }
    for _ in 0..seeded.below(400_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts, a line that was cut off does not.
    for line in lines.map_while(Result::ok) {
        acknowledged.extend(turn_in(&line));
    }
}

fn turn_in(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once(COMMITTED)?;
    let (n, answer) = rest.split_once(' ')?;
    (answer == "Committed").then(|| n.parse().unwrap())
}

/// How many entries of each turn are stored.
fn stored(path: &Path) -> BTreeMap<usize, usize> {
    let mut turns = BTreeMap::new();
    let log = open_file(path).unwrap().log(&name("s")).unwrap();
    for entry in log.into_iter().flat_map(|log| log.entries) {
        let (n, _) = entry.entry_id.as_str().split_once('/').unwrap();
        *turns.entry(n.parse().unwrap()).or_default() += 1;
    }
    turns
}

#[test]
fn a_kill_loses_no_acknowledged_turn_and_leaves_no_half_turn_and_no_half_plan() {
    let mut versions = 0;
    let place = Place::new();
    let mut seeded = Seeded(1);
    let mut acknowledged = Vec::new();
    for kill in 0..kills() {
        killed(&place.path(), &mut seeded, &mut acknowledged);
        let stored = stored(&place.path());
        for n in &acknowledged {
            assert!(
                stored.contains_key(n),
                "kill {kill}: turn {n} was acknowledged"
            );
        }
        for (n, count) in stored {
            assert_eq!(count, MESSAGES, "kill {kill}: turn {n} is not whole");
        }
        let file = open_file(&place.path()).unwrap();
        let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
        assert_eq!(past.faults(file.rows()).unwrap(), [], "kill {kill}");
        versions = past.plan().version();
    }
    assert!(versions > 0, "there was a plan to break");
}
