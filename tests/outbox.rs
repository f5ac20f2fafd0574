//! The durable outbox of a host over real sockets and files (HOST-SEMANTICS 9, R7.11).

mod faults;
mod kill;
mod moves;
mod turns;

use std::path::PathBuf;

use contextwire_client::lifecycle::TurnOutcome;
use contextwire_client::outbox::{Outbox, OutboxOptions};
use contextwire_client::{
    Admission, ClientOptions, Host, Policy, QuarantineOptions, Quarantines, Recorded, RecordedEnd,
    Turn,
};
use contextwire_engine::testing::{RecordingEngine, SeenRequest};
use contextwire_engine::{EntryAnchor, Hook, Message, TranscriptSemantics, TurnAdmission};
use tempfile::TempDir;

use crate::harness::{Failing, Gate, Place, session, soon};

/// The id in the slot.
const ENGINE: &str = "engine";

/// A place for an engine, and a folder for an outbox.
struct Desk {
    place: Place,
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            place: Place::new(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("outbox.sqlite3")
    }

    /// A host with this desk's outbox.
    fn host(&self, policy: Policy) -> Host {
        self.host_with(policy, OutboxOptions::default())
    }

    fn host_with(&self, policy: Policy, options: OutboxOptions) -> Host {
        let clients = ClientOptions {
            policy,
            quarantine: QuarantineOptions {
                list: Quarantines::new(),
                ..QuarantineOptions::default()
            },
            ..ClientOptions::default()
        };
        let host = Host::builder().options(clients);
        host.engine(ENGINE, self.place.target())
            .outbox_with(self.file(), options)
            .build()
            .unwrap()
    }
}

/// An engine that stores closed turns, and says so.
fn durable() -> Failing {
    Failing::of(declaring(RecordingEngine::new()))
}

fn declaring(engine: RecordingEngine) -> RecordingEngine {
    engine.describing(|info| {
        info.transcript_semantics = Some(TranscriptSemantics {
            current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
            turn_advancement_idempotency: Some("atomic-idempotent-v1".to_owned()),
        });
    })
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

fn messages(key: &str) -> Vec<Message> {
    let named = [("user", "user"), ("assistant", "answer")].map(|(role, name)| {
        let payload = format!(r#"{{"role":"{role}","content":"{key}"}}"#);
        Message::from_payload(payload).with_entry_id(format!("{key}-{name}"))
    });
    named.into()
}

fn end(key: &str) -> RecordedEnd {
    RecordedEnd {
        terminal: EntryAnchor {
            entry_id: format!("{key}-answer"),
            ..EntryAnchor::default()
        },
        messages: Some(messages(key)),
        ..RecordedEnd::default()
    }
}

async fn begin(host: &Host, id: &str, key: &str) -> Turn {
    let admission = Admission::Recorded(admission(key));
    host.turn(&session(id), admission).await.unwrap()
}

/// A whole turn that completed.
async fn told(host: &Host, id: &str, key: &str) -> Recorded {
    let turn = begin(host, id, key).await;
    turn.record(TurnOutcome::Completed, end(key)).await
}

fn is_queued(recorded: &Recorded) -> bool {
    matches!(recorded, Recorded::Queued { .. })
}

/// Waits until nothing waits any more.
async fn emptied(outbox: &Outbox) {
    let mut changes = outbox.changes();
    let waits = || outbox.status(ENGINE).unwrap().pending > 0;
    soon(async {
        while waits() {
            changes.changed().await.unwrap();
        }
    })
    .await;
}

/// Waits until each row was tried in vain.
async fn tried(outbox: &Outbox) {
    let mut changes = outbox.changes();
    let is_new = || outbox.rows().unwrap().iter().any(|row| row.attempts == 0);
    soon(async {
        while is_new() {
            changes.changed().await.unwrap();
        }
    })
    .await;
}

/// The turns that reached an engine, in order, repeated ones too.
fn committed(engine: &Failing) -> Vec<String> {
    let seen = engine.seen.seen().into_iter();
    let keys = seen.filter_map(|seen| {
        if let SeenRequest::CommitTurn(turn) = seen.request {
            return Some(turn.advancement_key);
        }
        None
    });
    keys.collect()
}

/// What reached an engine besides.
fn told_otherwise(engine: &Failing) -> Vec<Hook> {
    let mut hooks = engine.hooks();
    hooks.retain(|hook| !matches!(hook, Hook::CommitTurn));
    hooks
}
