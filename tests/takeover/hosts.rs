//! Many sessions of a host that talk at the same time, each turn until it is committed, and the
//! audit of what was stored.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contextwire::audit::{Finding, Item, compare};
use contextwire_client::lifecycle::TurnOutcome;
use contextwire_client::outbox::{OutboxEvent, OutboxObserver, OutboxOptions};
use contextwire_client::{
    Admission, CallError, ClientOptions, EngineClient, Host, QuarantineOptions, Quarantines,
    Recorded, RecordedEnd, ServedBy, Target, Turn,
};
use contextwire_engine::{
    EntryAnchor, Message, SessionId, Transcript, TurnAdmission, TurnCommitted,
};
use contextwire_ledger::open_file;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::harness::{session, soon, view};

/// The id in the slot.
const ENGINE: &str = "ledger";

/// The sessions of one host over one store.
pub(super) struct Hosts {
    folder: TempDir,
    sessions: usize,
    turns: usize,
    /// Turns that each session has ended.
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
    /// Tries of the outbox that stored nothing.
    pub(super) tried_in_vain: usize,
    /// Turns that an earlier try had stored, though its answer was lost.
    pub(super) stored_before: usize,
}

impl Figures {
    pub(super) fn show(&self, what: &str) {
        let Self {
            failed,
            in_process,
            nobody,
            by_engine,
            tried_in_vain,
            stored_before,
        } = self;
        println!(
            "{what}: {failed} failed, {by_engine} by the engine, {in_process} in its place \
             ({nobody} where nobody was reached); the outbox tried {tried_in_vain} times in vain, \
             {stored_before} turns were stored by such a try"
        );
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

    /// Ends when every session has ended so many turns.
    pub(super) async fn turns(&self, count: usize) {
        let mut done = self.done.subscribe();
        let all = |done: &Vec<usize>| done.iter().all(|it| *it >= count);
        soon(done.wait_for(all)).await.unwrap();
    }

    /// Lets all sessions talk by one client.
    pub(super) fn talk(&self, target: &Target) -> JoinHandle<Figures> {
        self.talk_by(target).1
    }

    /// The same with the client. It ends when the outbox has delivered every turn.
    pub(super) fn talk_by(&self, target: &Target) -> (EngineClient, JoinHandle<Figures>) {
        let delivered = Arc::<Delivered>::default();
        let host = self.host(target, &delivered);
        let client = host.engine(ENGINE).unwrap();
        let mut talks = JoinSet::new();
        for id in 0..self.sessions {
            let talk = Talk {
                host: host.clone(),
                delivered: Arc::clone(&delivered),
                id,
                figures: Figures::default(),
            };
            talks.spawn(talk.run(self.turns, Arc::clone(&self.done)));
        }
        let all = tokio::spawn(async move {
            let each = talks.join_all().await.into_iter();
            let sum = each.fold(Figures::default(), |sum, it| Figures {
                failed: sum.failed + it.failed,
                in_process: sum.in_process + it.in_process,
                nobody: sum.nobody + it.nobody,
                by_engine: sum.by_engine + it.by_engine,
                ..sum
            });
            emptied(&host).await;
            Figures {
                tried_in_vain: delivered.tried_in_vain.load(Ordering::Relaxed),
                stored_before: delivered.stored_before.load(Ordering::Relaxed),
                ..sum
            }
        });
        (client, all)
    }

    /// A host with an outbox beside the store.
    fn host(&self, target: &Target, delivered: &Arc<Delivered>) -> Host {
        let clients = ClientOptions {
            affinity_key: Some("tests".to_owned()),
            quarantine: QuarantineOptions {
                list: Quarantines::new(),
                ..QuarantineOptions::default()
            },
            ..ClientOptions::default()
        };
        let delivered = Arc::clone(delivered);
        let rows = OutboxOptions {
            observer: Some(OutboxObserver::new(move |event| delivered.note(&event))),
            ..OutboxOptions::default()
        };
        let file = self.folder.path().join("outbox.sqlite3");
        let host = Host::builder().options(clients).outbox_with(file, rows);
        host.engine(ENGINE, target.clone()).build().unwrap()
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

/// Turns that a session goes on ahead of what is stored of it, so that it does not run out of turns
/// while an engine is away.
const AHEAD: usize = 2;

/// What the outbox told.
#[derive(Debug, Default)]
struct Delivered {
    /// Turns that are stored of each session.
    stored: watch::Sender<HashMap<String, usize>>,
    tried_in_vain: AtomicUsize,
    stored_before: AtomicUsize,
}

impl Delivered {
    fn note(&self, event: &OutboxEvent) {
        let OutboxEvent::TurnStored { row, committed, .. } = event else {
            return;
        };
        let tries = usize::try_from(row.attempts).unwrap();
        self.tried_in_vain.fetch_add(tries, Ordering::Relaxed);
        let was_stored = usize::from(*committed == TurnCommitted::Duplicate);
        self.stored_before.fetch_add(was_stored, Ordering::Relaxed);
        self.stored.send_modify(|stored| {
            *stored.entry(row.session.clone()).or_default() += 1;
        });
    }
}

impl Delivered {
    async fn wait(&self, session: &str, turns: usize) {
        let mut stored = self.stored.subscribe();
        let is_so = |stored: &HashMap<String, usize>| {
            stored.get(session).copied().unwrap_or_default() >= turns
        };
        stored.wait_for(is_so).await.unwrap();
    }
}

/// Waits until no row waits any more; none may be set aside.
async fn emptied(host: &Host) {
    let outbox = host.outbox().unwrap();
    let mut changes = outbox.changes();
    loop {
        let rows = outbox.rows().unwrap();
        let aside = rows.iter().find(|row| row.set_aside_ms.is_some());
        assert_eq!(aside, None, "no turn is given up");
        if rows.is_empty() {
            return;
        }
        changes.changed().await.unwrap();
    }
}

/// A session that talks.
struct Talk {
    host: Host,
    delivered: Arc<Delivered>,
    id: usize,
    figures: Figures,
}

impl Talk {
    async fn run(mut self, turns: usize, done: Arc<watch::Sender<Vec<usize>>>) -> Figures {
        let mut log = Transcript::new();
        for n in 0..turns {
            let [user, assistant] = turn(self.id, n);
            let begun = self.begin(n).await;
            log.push(user);
            self.assemble(&begun, &log).await;
            log.push(assistant);
            self.end(&begun, n).await;
            done.send_modify(|done| done[self.id] = n + 1);
            let needed = (n + 1).saturating_sub(AHEAD);
            self.delivered.wait(&name(self.id), needed).await;
        }
        self.figures
    }

    async fn begin(&self, n: usize) -> Turn {
        let mut admission = TurnAdmission {
            anchor: self.anchor(n, "user"),
            logical_turn_id: format!("{}/{n}", self.id),
            role: "user".to_owned(),
        };
        admission.anchor.raw_seq = i64::try_from(n).unwrap();
        let admission = Admission::Recorded(admission);
        let session = session(&name(self.id));
        self.host.turn(&session, admission).await.unwrap()
    }

    async fn assemble(&mut self, turn: &Turn, log: &Transcript) {
        let served = turn.assemble(&session(&name(self.id)), view(log)).await;
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

    /// Writes the turn down; from here on it is the outbox's.
    async fn end(&mut self, begun: &Turn, n: usize) {
        let end = RecordedEnd {
            terminal: self.anchor(n, "assistant"),
            messages: Some(turn(self.id, n).into()),
            ..RecordedEnd::default()
        };
        let recorded = begun.record(TurnOutcome::Completed, end).await;
        let is_kept = matches!(recorded, Recorded::Queued { .. });
        self.figures.failed += usize::from(!is_kept);
    }

    fn anchor(&self, n: usize, role: &str) -> EntryAnchor {
        EntryAnchor {
            entry_id: format!("{}/{n}/{role}", self.id),
            ..EntryAnchor::default()
        }
    }
}
