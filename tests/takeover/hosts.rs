//! Many sessions of a host that talk at the same time, each turn until it is committed, and the
//! audit of what was stored.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contextwire::audit::{Finding, Item, compare};
use contextwire_client::{CallError, ClientOptions, EngineClient, ServedBy, Target};
use contextwire_engine::{CommitTurn, Message, SessionId, Transcript};
use contextwire_ledger::open_file;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::harness::{session, soon, view};

/// The sessions of one host over one store.
pub(super) struct Hosts {
    folder: TempDir,
    sessions: usize,
    turns: usize,
    /// Turns that each session has committed.
    done: Arc<watch::Sender<Vec<usize>>>,
}

/// What became of the calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) failed: usize,
    pub(super) in_process: usize,
    /// Of those, where nobody could be reached.
    pub(super) nobody: usize,
    pub(super) by_engine: usize,
    /// Commits that had to be sent again by the host.
    pub(super) commits_again: usize,
}

impl Figures {
    pub(super) fn show(&self, what: &str) {
        println!("{what}: {self:?}");
    }
}

fn size(name: &str, usual: usize) -> usize {
    let named = std::env::vars().find(|(it, _)| it == name);
    named.map_or(usual, |(_, value)| value.parse().unwrap())
}

impl Hosts {
    pub(super) fn new() -> Self {
        let sessions = size("CONTEXTWIRE_TAKEOVER_SESSIONS", 6);
        Self {
            folder: tempfile::tempdir().unwrap(),
            sessions,
            turns: size("CONTEXTWIRE_TAKEOVER_TURNS", 8),
            done: Arc::new(watch::Sender::new(vec![0; sessions])),
        }
    }

    /// The file of the ledger.
    pub(super) fn store(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite3")
    }

    pub(super) fn all_turns(&self) -> usize {
        self.turns
    }

    /// Ends when every session has committed so many turns.
    pub(super) async fn turns(&self, count: usize) {
        let mut done = self.done.subscribe();
        let all = |done: &Vec<usize>| done.iter().all(|it| *it >= count);
        soon(done.wait_for(all)).await.unwrap();
    }

    /// Lets all sessions talk by one client.
    pub(super) fn talk(&self, target: &Target) -> JoinHandle<Figures> {
        self.talk_by(target).1
    }

    /// The same with the client.
    pub(super) fn talk_by(&self, target: &Target) -> (EngineClient, JoinHandle<Figures>) {
        let options = ClientOptions {
            affinity_key: Some("tests".to_owned()),
            ..ClientOptions::default()
        };
        let client = EngineClient::with_options(target, &options).unwrap();
        let mut talks = JoinSet::new();
        for id in 0..self.sessions {
            let talk = Talk {
                client: client.clone(),
                id,
                figures: Figures::default(),
            };
            talks.spawn(talk.run(self.turns, Arc::clone(&self.done)));
        }
        let all = tokio::spawn(async move {
            let each = talks.join_all().await.into_iter();
            each.fold(Figures::default(), |sum, it| Figures {
                failed: sum.failed + it.failed,
                in_process: sum.in_process + it.in_process,
                nobody: sum.nobody + it.nobody,
                by_engine: sum.by_engine + it.by_engine,
                commits_again: sum.commits_again + it.commits_again,
            })
        });
        (client, all)
    }

    /// Every session is stored whole: each message once, in order.
    pub(super) fn audit(&self) {
        let file = open_file(&self.store()).unwrap();
        for id in 0..self.sessions {
            let log = file
                .log(&SessionId::new(name(id)).unwrap())
                .unwrap()
                .unwrap();
            let stored = log.entries.into_iter().map(|entry| Item {
                entry_id: entry.entry_id,
                digest: entry.digest,
            });
            let said = (0..self.turns).flat_map(|n| turn(id, n)).map(|it| Item {
                entry_id: it.entry_id().clone(),
                digest: it.digest(),
            });
            let findings = compare(&said.collect::<Vec<_>>(), &stored.collect::<Vec<_>>());
            assert_eq!(findings, [] as [Finding; 0], "session {id}");
        }
    }
}

fn name(id: usize) -> String {
    format!("session-{id}")
}

/// A user and an assistant.
fn turn(id: usize, n: usize) -> [Message; 2] {
    ["user", "assistant"].map(|role| {
        let payload = format!(r#"{{"role":"{role}","content":"{role} {n} of {id}"}}"#);
        Message::from_payload(payload).with_entry_id(format!("{id}/{n}/{role}"))
    })
}

/// A session that talks.
struct Talk {
    client: EngineClient,
    id: usize,
    figures: Figures,
}

impl Talk {
    async fn run(mut self, turns: usize, done: Arc<watch::Sender<Vec<usize>>>) -> Figures {
        let mut log = Transcript::new();
        for n in 0..turns {
            let [user, assistant] = turn(self.id, n);
            log.push(user.clone());
            self.assemble(&log).await;
            log.push(assistant.clone());
            self.commit(n, vec![user, assistant]).await;
            done.send_modify(|done| done[self.id] = n + 1);
        }
        self.figures
    }

    async fn assemble(&mut self, log: &Transcript) {
        let served = self
            .client
            .assemble(&session(&name(self.id)), view(log))
            .await;
        match served {
            Ok(served) if served.by == ServedBy::InProcess => {
                let code = served.reason.as_deref().map_or("", CallError::code);
                self.figures.in_process += 1;
                self.figures.nobody += usize::from(["UNREACHABLE", "DRAINING"].contains(&code));
            }
            Ok(_) => self.figures.by_engine += 1,
            Err(_) => self.figures.failed += 1,
        }
    }

    /// The same turn under its key until it is stored, as a durable outbox sends it: a commit that
    /// is not acknowledged yet is none of the turn's failures.
    async fn commit(&mut self, n: usize, messages: Vec<Message>) {
        let mut request = CommitTurn {
            advancement_key: format!("turn-{n}"),
            messages,
            ..CommitTurn::default()
        };
        request.admission.anchor.raw_seq = i64::try_from(n).unwrap();
        let session = session(&name(self.id));
        while self
            .client
            .commit_turn(&session, request.clone())
            .await
            .is_err()
        {
            self.figures.commits_again += 1;
            sleep(Duration::from_millis(100)).await;
        }
    }
}
