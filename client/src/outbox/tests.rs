#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what only these tests send has no other arms"
)]

mod delivery;
mod ends;
mod states;
mod two;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use contextwire_engine::{
    CommitTurn, EntryAnchor, Message, ResolveSubagentSpawn, RuntimeContext, Session, SpawnOutcome,
    TurnAdmission, TurnCommitted,
};
use tempfile::TempDir;

use super::*;
use crate::call::{Answer, Call, Served, ServedBy};
use crate::error::CallError;
use crate::request::{EngineReply, EngineRequest};
use crate::script::session;

/// An outbox in a folder of its own, by a clock that stands still.
struct Desk {
    folder: TempDir,
    now_ms: Arc<AtomicU64>,
    events: Arc<Mutex<Vec<OutboxEvent>>>,
    outbox: Outbox,
}

impl Desk {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut OutboxOptions)) -> Self {
        let now_ms = Arc::new(AtomicU64::new(1_000_000));
        let events = Arc::<Mutex<Vec<OutboxEvent>>>::default();
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&now_ms, &events);
        change(&mut options);
        Self {
            outbox: Outbox::open(folder.path().join("outbox.sqlite3"), options).unwrap(),
            folder,
            now_ms,
            events,
        }
    }

    /// Another host on the same file.
    fn another(&self) -> Outbox {
        let options = options(&self.now_ms, &self.events);
        Outbox::open(self.outbox.path(), options).unwrap()
    }

    fn pass_time(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::SeqCst);
    }

    async fn commit(&self, session: &str, key: &str) -> i64 {
        self.outbox.append(commit(session, key)).await.unwrap()
    }

    /// Key and state of each row.
    fn shown(&self) -> Vec<String> {
        let shown = |row: &Row| match row.set_aside_ms {
            Some(_) => format!("{} aside", row.key),
            None => format!("{} {}", row.key, row.state),
        };
        self.outbox.rows().unwrap().iter().map(shown).collect()
    }

    fn told(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let shown = |event: &OutboxEvent| match event {
            OutboxEvent::TurnStored { row, committed, .. } => format!("{} {committed:?}", row.key),
            OutboxEvent::Told { row } => format!("{} told", row.key),
            OutboxEvent::SetAside { row, .. } => format!("{} aside", row.key),
        };
        events.iter().map(shown).collect()
    }
}

fn options(now_ms: &Arc<AtomicU64>, events: &Arc<Mutex<Vec<OutboxEvent>>>) -> OutboxOptions {
    let (now_ms, events) = (Arc::clone(now_ms), Arc::clone(events));
    OutboxOptions {
        clock: WallClock::new(move || now_ms.load(Ordering::SeqCst)),
        observer: Some(OutboxObserver::new(move |event| {
            events.lock().unwrap().push(event);
        })),
        ..OutboxOptions::default()
    }
}

fn to() -> Addressee {
    Addressee::new("lossless")
}

fn admission(key: &str) -> TurnAdmission {
    TurnAdmission {
        anchor: EntryAnchor {
            entry_id: format!("{key}-user"),
            ..EntryAnchor::default()
        },
        logical_turn_id: key.to_owned(),
        role: "user".to_owned(),
    }
}

fn accepted(key: &str) -> AcceptedTurn {
    AcceptedTurn {
        admission: admission(key),
        terminal: EntryAnchor {
            entry_id: format!("{key}-answer"),
            ..EntryAnchor::default()
        },
        ..AcceptedTurn::default()
    }
}

fn messages(key: &str) -> Vec<Message> {
    let payloads =
        ["user", "assistant"].map(|role| format!(r#"{{"role":"{role}","content":"{key}"}}"#));
    payloads.into_iter().map(Message::from_payload).collect()
}

fn turn(key: &str) -> CommitTurn {
    accepted(key).with_messages(messages(key))
}

fn commit(id: &str, key: &str) -> NewRow {
    NewRow {
        to: to(),
        session: session(id),
        scope: <_>::default(),
        call: OutboxCall::CommitTurn(Box::new(turn(key))),
    }
}

/// What became of a spawn.
fn resolve(outcome: SpawnOutcome) -> NewRow {
    NewRow {
        call: OutboxCall::ResolveSubagentSpawn {
            child_session_key: "child".to_owned(),
            request: ResolveSubagentSpawn {
                spawn_id: "spawn".to_owned(),
                outcome,
            },
        },
        ..commit("parent", "-")
    }
}

/// An engine that answers as its script says, and `COMMITTED` once the script is over.
#[derive(Clone, Default)]
struct Engine {
    script: Arc<Mutex<VecDeque<Option<CallError>>>>,
    seen: Arc<Mutex<Vec<Call>>>,
    is_starting: bool,
}

impl Engine {
    fn failing(script: impl IntoIterator<Item = CallError>) -> Self {
        let script = script.into_iter().map(Some).collect();
        Self {
            script: Arc::new(Mutex::new(script)),
            ..Self::default()
        }
    }

    /// The keys of the turns that arrived, in order.
    fn keys(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let key = |call: &Call| match &call.request {
            EngineRequest::CommitTurn(turn) => turn.advancement_key.clone(),
            EngineRequest::ResolveSubagentSpawn(it) => format!("resolve {}", it.spawn_id),
            EngineRequest::EndSubagent(it) => format!("end {}", it.child_session_key),
            other => other.hook().name().to_owned(),
        };
        seen.iter().map(key).collect()
    }
}

impl Recipient for Engine {
    fn deliver(&self, call: Call) -> Delivering<'_> {
        let next = self.script.lock().unwrap().pop_front().flatten();
        let result = match &call.request {
            EngineRequest::ResolveSubagentSpawn(_) => EngineReply::SpawnResolved(()),
            EngineRequest::EndSubagent(_) => EngineReply::SubagentEnded(()),
            _ => EngineReply::TurnCommitted(TurnCommitted::Committed),
        };
        let known = |before: &Call| before.hook_id == call.hook_id;
        let mut seen = self.seen.lock().unwrap();
        let was_seen = seen.iter().any(known);
        let result = match result {
            EngineReply::TurnCommitted(_) if was_seen => {
                EngineReply::TurnCommitted(TurnCommitted::Duplicate)
            }
            other => other,
        };
        let traffic = call.traffic.clone();
        seen.push(call);
        Box::pin(async move {
            match next {
                Some(error) => Err(error),
                None => Ok(answer(result, traffic)),
            }
        })
    }

    fn is_ready(&self) -> bool {
        !self.is_starting
    }
}

fn answer(result: EngineReply, traffic: crate::call::Traffic) -> Answer {
    Served {
        result,
        by: ServedBy::Engine("lossless".into()),
        reason: None,
        said: <_>::default(),
        traffic,
    }
}

/// A session that another file's rows are of.
fn key_session(id: &str, key: &str) -> Session {
    Session {
        key: Some(key.to_owned()),
        ..session(id)
    }
}
