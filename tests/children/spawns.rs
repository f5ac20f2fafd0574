//! Spawns from the wish to the end, with engines that store.

use std::path::Path;

use contextwire_client::outbox::{Addressee, Outbox, OutboxOptions};
use contextwire_client::spawn::{
    ChildEnd, EndReason, Ended, Found, Spawn, SpawnRequest, Subagents,
};
use contextwire_client::{ClientOptions, EngineClient};
use contextwire_engine::durable::Stage;
use contextwire_engine::{
    AfterTurn, Assemble, ContextEngine, ContextMode, CurrentTurn, Message, Scope, Session,
    Transcript,
};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_lossless::{LosslessEngine, LosslessOptions};
use tempfile::TempDir;

use crate::harness::{Place, Running, session};

/// A host with an engine that stores, and the files of both.
struct Desk {
    folder: TempDir,
    place: Place,
    running: Option<Running>,
    client: EngineClient,
    subagents: Subagents,
}

impl Desk {
    async fn of<E: ContextEngine>(open: impl FnOnce(&Path) -> E) -> Self {
        let (folder, place) = (tempfile::tempdir().unwrap(), Place::new());
        let running = place
            .serve(open(&folder.path().join("store.sqlite3")))
            .await;
        let client = client(&place);
        let subagents = Subagents::new(&client, &outbox(&folder));
        Self {
            folder,
            place,
            running: Some(running),
            client,
            subagents,
        }
    }

    /// The host's process ends and another one begins, on the same files.
    fn restart(self) -> Self {
        let Self {
            folder,
            place,
            running,
            client: old,
            subagents: ended,
        } = self;
        drop((ended, old));
        let client = client(&place);
        let subagents = Subagents::new(&client, &outbox(&folder));
        Self {
            folder,
            place,
            running,
            client,
            subagents,
        }
    }

    async fn spawn(&self, mode: ContextMode) -> Spawn {
        let wish = SpawnRequest {
            mode,
            ..SpawnRequest::new(keyed("parent"), keyed("child"))
        };
        self.subagents.prepare(wish).await.unwrap()
    }

    /// Brings what waits for the child to the engine; says how many rows went.
    async fn deliver(&self) -> usize {
        let (to, child) = (Addressee::new("stores"), keyed("child"));
        let outbox = self.subagents.outbox();
        let drained = outbox.drain(&to, &child, &self.client, 16).await.unwrap();
        drained.delivered
    }

    fn stages(&self) -> Vec<Stage> {
        let file = contextwire_ledger::open_file(&self.folder.path().join("store.sqlite3"));
        let known = file.unwrap().preparations().unwrap();
        known.into_iter().map(|known| known.stage).collect()
    }
}

fn ledger(path: &Path) -> LedgerEngine {
    LedgerEngine::open(path, LedgerOptions::default()).unwrap()
}

fn lossless(path: &Path) -> LosslessEngine {
    LosslessEngine::open(path, LosslessOptions::default()).unwrap()
}

fn client(place: &Place) -> EngineClient {
    place.client_with(&ClientOptions {
        engine_id: Some("stores".to_owned()),
        ..ClientOptions::default()
    })
}

fn outbox(folder: &TempDir) -> Outbox {
    let path = folder.path().join("outbox.sqlite3");
    Outbox::open(path, OutboxOptions::default()).unwrap()
}

fn keyed(key: &str) -> Session {
    Session {
        key: Some(format!("{key}-key")),
        ..session(key)
    }
}

fn end(spawn: &Spawn) -> ChildEnd {
    ChildEnd {
        child: keyed("child"),
        spawn_id: Some(spawn.spawn_id().to_owned()),
        reason: EndReason::of_cleanup(false),
        scope: Scope::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_prepared_started_and_ended_at_a_ledger() {
    let desk = Desk::of(ledger).await;
    let spawn = desk.spawn(ContextMode::Isolated).await;
    assert!(spawn.is_prepared());
    assert_eq!(desk.stages(), [Stage::Open]);
    spawn.started().await.unwrap();
    assert_eq!(desk.subagents.end(end(&spawn)).await.unwrap(), Ended::Noted);
    assert_eq!(desk.deliver().await, 2);
    assert_eq!(desk.stages(), [Stage::Started]);
    assert!(desk.subagents.outbox().rows().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_waits_while_the_engine_is_away_and_arrives_once_it_is_back() {
    let mut desk = Desk::of(ledger).await;
    let spawn = desk.spawn(ContextMode::Isolated).await;
    desk.running.take().unwrap().kill().await;
    assert!(spawn.roll_back().await);
    assert_eq!(desk.deliver().await, 0);
    assert_eq!(desk.stages(), [Stage::Open]);
    let again = ledger(&desk.folder.path().join("store.sqlite3"));
    desk.running = Some(desk.place.serve(again).await);
    // The next process of the host, whose breaker knows nothing.
    let desk = desk.restart();
    assert_eq!(desk.deliver().await, 1);
    assert_eq!(desk.stages(), [Stage::RolledBack]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r9_3_what_a_host_leaves_in_its_journal_the_next_one_settles_at_the_engine() {
    let desk = Desk::of(ledger).await;
    let lost = desk.spawn(ContextMode::Isolated).await;
    // As after a crash: the process ends without a word.
    lost.queued();
    drop(lost);
    let desk = desk.restart();
    assert_eq!(desk.stages(), [Stage::Open]);
    let recovered = desk.subagents.recover(|_| Found::Unknown).await.unwrap();
    assert_eq!(recovered.rolled_back, 1);
    assert_eq!(desk.deliver().await, 1);
    assert_eq!(desk.stages(), [Stage::RolledBack]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r9_3_a_queued_child_is_started_by_the_next_process() {
    let desk = Desk::of(ledger).await;
    let waits = desk.spawn(ContextMode::Isolated).await;
    waits.queued();
    drop(waits);
    let desk = desk.restart();
    let mut recovered = desk.subagents.recover(|_| Found::Queued).await.unwrap();
    let spawn = recovered.queued.pop().unwrap();
    spawn.started().await.unwrap();
    assert_eq!(desk.deliver().await, 1);
    assert_eq!(desk.stages(), [Stage::Started]);
}

fn said(role: &str, text: &str, id: &str) -> Message {
    let payload = format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    Message::from_payload(payload).with_entry_id(id)
}

/// What the child's model sees of its first prompt.
async fn seen_by_the_child(desk: &Desk) -> Vec<String> {
    let transcript: Transcript = [said("user", "task", "t1")].into_iter().collect();
    let request = Assemble {
        transcript,
        current_turn: CurrentTurn::Included,
        ..Assemble::default()
    };
    let served = desk
        .client
        .assemble(&keyed("child"), request)
        .await
        .unwrap();
    assert!(served.reason.is_none(), "{:?}", served.reason);
    let messages = served.result.messages();
    let text = |message: &Message| String::from_utf8(message.payload().to_vec()).unwrap();
    messages.map(text).collect()
}

/// A parent with two messages that the engine has.
async fn parent(desk: &Desk) {
    let log = [said("user", "alpha", "p1"), said("assistant", "beta", "p2")];
    let turn = AfterTurn {
        transcript: log.into_iter().collect(),
        ..AfterTurn::default()
    };
    let served = desk
        .client
        .after_turn(&keyed("parent"), turn)
        .await
        .unwrap();
    assert!(served.reason.is_none(), "{:?}", served.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_sees_its_parent_and_a_rolled_back_one_does_not() {
    for (starts, expected) in [(true, 3), (false, 1)] {
        let desk = Desk::of(lossless).await;
        parent(&desk).await;
        let spawn = desk.spawn(ContextMode::Fork).await;
        assert!(spawn.is_prepared());
        if starts {
            spawn.started().await.unwrap();
        } else {
            assert!(spawn.roll_back().await);
        }
        assert_eq!(desk.deliver().await, 1);
        let seen = seen_by_the_child(&desk).await;
        assert_eq!(seen.len(), expected, "{seen:?}");
        assert!(seen.last().unwrap().contains("task"));
        assert_eq!(seen[0].contains("alpha"), starts);
    }
}
