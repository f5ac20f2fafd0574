//! A ledger in a folder of its own, calls for it, and a look into its file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contextwire_engine::StoredLog;
use contextwire_engine::durable::UnixMillis;
use contextwire_engine::{
    AfterTurn, Bootstrap, Bootstrapped, CommitTurn, ContextEngine, EngineError, ErrorKind,
    HookContext, Ingest, Message, Order, Session, SessionId, Transcript, TranscriptState,
    TurnCommitted,
};
use contextwire_ledger::{LedgerEngine, LedgerOptions, StoreFile, open_file};
use tempfile::TempDir;

/// A folder with a ledger in it, and the hands of its clock.
pub(crate) struct Place {
    folder: TempDir,
    now: Arc<AtomicU64>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            now: Arc::new(AtomicU64::new(1_700_000_000_000)),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite3")
    }

    /// An engine on the file; several of them are replicas.
    pub(crate) fn open(&self) -> LedgerEngine {
        self.open_with(Duration::from_secs(5))
    }

    pub(crate) fn open_with(&self, busy_timeout: Duration) -> LedgerEngine {
        let now = Arc::clone(&self.now);
        let clock = Arc::new(move || UnixMillis(now.load(Ordering::SeqCst)));
        LedgerEngine::open(
            &self.path(),
            LedgerOptions {
                busy_timeout,
                clock,
            },
        )
        .unwrap()
    }

    pub(crate) fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.now.fetch_add(millis, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> UnixMillis {
        UnixMillis(self.now.load(Ordering::SeqCst))
    }

    pub(crate) fn file(&self) -> StoreFile {
        open_file(&self.path()).unwrap()
    }

    /// The log of session `s`, after a look at what must always hold.
    pub(crate) fn log(&self) -> StoredLog {
        sound(&self.file(), "s")
    }

    /// The entry ids of session `s`, in order.
    pub(crate) fn ids(&self) -> Vec<String> {
        let entries = self.log().entries.into_iter();
        entries
            .map(|entry| entry.entry_id.as_str().to_owned())
            .collect()
    }

    /// The texts of session `s`, in order.
    pub(crate) fn texts(&self) -> Vec<String> {
        texts(&self.file(), "s")
    }
}

pub(crate) fn texts(file: &StoreFile, session: &str) -> Vec<String> {
    let session = SessionId::new(session).unwrap();
    let message = |place| file.message(&session, place).unwrap();
    let payloads = (0..)
        .map_while(message)
        .map(|message| message.payload().clone());
    payloads
        .map(|payload| text_of(std::str::from_utf8(&payload).unwrap()))
        .collect()
}

fn text_of(payload: &str) -> String {
    let (_, rest) = payload.split_once(r#""content":""#).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// The chain holds, what is placed is a part of it, and no id stands twice.
pub(crate) fn sound(file: &StoreFile, session: &str) -> StoredLog {
    let log = file.log(&SessionId::new(session).unwrap()).unwrap();
    let Some(log) = log else {
        let (placed, total) = (TranscriptState::EMPTY, TranscriptState::EMPTY);
        return StoredLog {
            entries: Vec::new(),
            placed,
            total,
        };
    };
    let mut state = TranscriptState::EMPTY;
    let mut placed = log.placed == state;
    for entry in &log.entries {
        state = state.then(entry.digest);
        placed |= log.placed == state;
    }
    assert_eq!(
        state, log.total,
        "the chain over the entries is the stored one"
    );
    assert!(placed, "what is placed is the head of the log");
    log
}

pub(crate) fn session(id: &str) -> Session {
    Session::new(SessionId::new(id).unwrap())
}

/// An unordered call of session `s`.
pub(crate) fn call() -> HookContext {
    HookContext::new(session("s"), Duration::from_mins(1))
}

pub(crate) fn of(id: &str) -> HookContext {
    HookContext::new(session(id), Duration::from_mins(1))
}

pub(crate) fn ordered(host_epoch: u64, session_seq: u64) -> HookContext {
    let mut cx = call();
    cx.order = Some(Order {
        host_epoch,
        session_seq: Some(session_seq),
    });
    cx
}

/// A message whose text is its id.
pub(crate) fn entry(id: &str) -> Message {
    text(id).with_entry_id(id)
}

/// A message of a host without ids.
pub(crate) fn text(text: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#))
}

pub(crate) fn list(ids: &[&str]) -> Transcript {
    ids.iter().map(|id| entry(id)).collect()
}

pub(crate) async fn ingest(engine: &LedgerEngine, message: Message) -> bool {
    ingest_as(engine, &call(), message).await.unwrap()
}

pub(crate) async fn ingest_as(
    engine: &LedgerEngine,
    cx: &HookContext,
    message: Message,
) -> Result<bool, EngineError> {
    let request = Ingest {
        message,
        is_heartbeat: false,
    };
    engine.ingest(cx, request).await.map(|done| done.ingested)
}

pub(crate) async fn bootstrap(
    engine: &LedgerEngine,
    cx: &HookContext,
    transcript: Transcript,
) -> Bootstrapped {
    let request = Bootstrap {
        transcript,
        ..Bootstrap::default()
    };
    engine.bootstrap(cx, request).await.unwrap()
}

pub(crate) async fn after_turn(engine: &LedgerEngine, cx: &HookContext, transcript: Transcript) {
    let request = AfterTurn {
        transcript,
        ..AfterTurn::default()
    };
    engine.after_turn(cx, request).await.unwrap();
}

/// A turn under `key` that began at `raw_seq`.
pub(crate) fn turn(key: &str, raw_seq: i64, messages: Vec<Message>) -> CommitTurn {
    let mut turn = CommitTurn {
        advancement_key: key.to_owned(),
        messages,
        ..CommitTurn::default()
    };
    turn.admission.anchor.generation.push('g');
    turn.admission.anchor.raw_seq = raw_seq;
    turn
}

pub(crate) async fn commit(engine: &LedgerEngine, turn: CommitTurn) -> TurnCommitted {
    engine.commit_turn(&call(), turn).await.unwrap()
}

pub(crate) fn kind<T: std::fmt::Debug>(outcome: Result<T, EngineError>) -> ErrorKind {
    outcome.unwrap_err().kind()
}
