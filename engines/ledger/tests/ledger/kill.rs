//! kill -9 at any instant: an acknowledged turn is there, and never half of one (E-HKS-23).
//!
//! The engine runs in a child: this test binary again, with one test and the path of the store as
//! an argument. Without that argument the child's test does nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contextwire_engine::durable::Stage;
use contextwire_engine::{ContextEngine, PrepareSubagentSpawn, TurnCommitted};
use contextwire_ledger::{StoreFile, open_file};

use super::support::*;

/// Seeded instants at which a child is killed.
const KILLS: u64 = 50;
const STORE: &str = "store=";
const COMMITTED: &str = "committed ";
const PREPARED: &str = "prepared ";
/// Messages of each turn: enough that a turn is more than one page.
const MESSAGES: usize = 6;

fn store_argument() -> Option<PathBuf> {
    let path = std::env::args().find_map(|arg| Some(arg.strip_prefix(STORE)?.to_owned()));
    path.map(PathBuf::from)
}

fn turn_of(n: usize) -> contextwire_engine::CommitTurn {
    let padding = "x".repeat(900);
    let message = |part| text(&format!("{padding}{n}")).with_entry_id(format!("{n}/{part}"));
    turn(
        &format!("t{n}"),
        i64::try_from(n).unwrap(),
        (0..MESSAGES).map(message).collect(),
    )
}

/// In the child: commits and prepares until it is killed, and says each acknowledgement.
#[tokio::test]
async fn child_that_commits_until_it_is_killed() {
    let Some(path) = store_argument() else {
        return;
    };
    let engine = contextwire_ledger::LedgerEngine::open(&path, <_>::default()).unwrap();
    // A child goes on where the one before was killed.
    let start = stored(&open_file(&path).unwrap()).len();
    for n in start.. {
        let done = commit(&engine, turn_of(n)).await;
        println!("{COMMITTED}{n} {done:?}");
        let request = PrepareSubagentSpawn {
            spawn_id: n.to_string(),
            child_session_key: format!("child {n}"),
            ..PrepareSubagentSpawn::default()
        };
        engine
            .prepare_subagent_spawn(&call(), request)
            .await
            .unwrap();
        println!("{PREPARED}{n}");
    }
}

fn child(store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "kill::child_that_commits_until_it_is_killed",
            "--exact",
            "--nocapture",
        ])
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

/// Kills a child some way into one of its commits; notes what it had acknowledged.
fn killed(store: &Path, seeded: &mut Seeded, acknowledged: &mut Acknowledged) {
    let mut child = child(store);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let enough = acknowledged.turns.len() + usize::try_from(1 + seeded.below(12)).unwrap();
    while acknowledged.turns.len() < enough {
        acknowledged.note(&lines.next().unwrap().unwrap());
    }
    for _ in 0..seeded.below(400_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts, a line that was cut off does not.
    lines
        .map_while(Result::ok)
        .for_each(|line| acknowledged.note(&line));
}

#[derive(Default)]
struct Acknowledged {
    turns: Vec<usize>,
    spawns: Vec<String>,
}

impl Acknowledged {
    fn note(&mut self, line: &str) {
        if let Some((_, rest)) = line.split_once(COMMITTED) {
            // The answer at the end says that the line is whole.
            if let Some((n, "Committed" | "Duplicate")) = rest.split_once(' ') {
                self.turns.push(n.parse().unwrap());
            }
        } else if let Some(n) = line.strip_prefix(PREPARED)
            && self.turns.last().is_some_and(|last| last.to_string() == n)
        {
            self.spawns.push(n.to_owned());
        }
    }
}

/// How many entries of each turn are stored.
fn stored(file: &StoreFile) -> BTreeMap<usize, usize> {
    let mut turns = BTreeMap::new();
    for entry in sound(file, "s").entries {
        let (n, _) = entry.entry_id.as_str().split_once('/').unwrap();
        *turns.entry(n.parse().unwrap()).or_default() += 1;
    }
    turns
}

#[test]
fn e_hks_23_and_e_sub_11_a_kill_loses_no_acknowledged_turn_or_preparation_and_leaves_no_half_turn()
{
    let place = Place::new();
    let mut seeded = Seeded(1);
    let mut acknowledged = Acknowledged::default();
    for kill in 0..KILLS {
        killed(&place.path(), &mut seeded, &mut acknowledged);
        let file = place.file();
        let stored = stored(&file);
        for n in &acknowledged.turns {
            assert!(
                stored.contains_key(n),
                "kill {kill}: turn {n} was acknowledged"
            );
        }
        for (n, count) in stored {
            assert_eq!(count, MESSAGES, "kill {kill}: turn {n} is not whole");
        }
        let preparations = file.preparations().unwrap();
        for spawn in &acknowledged.spawns {
            let known = preparations.iter().find(|known| known.spawn_id == *spawn);
            assert_eq!(
                known.unwrap().stage,
                Stage::Open,
                "kill {kill}: spawn {spawn}"
            );
        }
    }
}

#[tokio::test]
async fn e_idm_05_after_a_kill_the_turn_of_unknown_outcome_is_settled_by_its_key() {
    let place = Place::new();
    let mut acknowledged = Acknowledged::default();
    killed(&place.path(), &mut Seeded(7), &mut acknowledged);
    let last = acknowledged.turns.len();
    let engine = place.open();
    let known = stored(&place.file()).contains_key(&last);
    let answer = commit(&engine, turn_of(last)).await;
    let expected = if known {
        TurnCommitted::Duplicate
    } else {
        TurnCommitted::Committed
    };
    assert_eq!(answer, expected);
    assert_eq!(stored(&place.file())[&last], MESSAGES);
}
