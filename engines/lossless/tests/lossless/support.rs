//! Engines and stores in folders of their own, calls for them, and what they answer as text.

use std::path::PathBuf;
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, AssembleReply, Bootstrap, Bootstrapped, CommitTurn,
    ContextEngine, HookContext, Message, Session, SessionId, TokenBudget, Transcript,
    TurnCommitted,
};
use contextwire_lossless::node::{NodeParts, Provenance, Sources, SummaryNode};
use contextwire_lossless::rows::Rows;
use contextwire_lossless::{LosslessEngine, Span};
use contextwire_store::{SqliteStore, Store};
use tempfile::TempDir;

/// A folder with a store in it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("lossless.sqlite3")
    }

    pub(crate) fn open(&self) -> LosslessEngine {
        LosslessEngine::open(&self.path(), <_>::default()).unwrap()
    }

    pub(crate) fn store(&self) -> SqliteStore {
        let schema = contextwire_lossless::rows::SCHEMA;
        SqliteStore::open(&self.path(), &schema, Duration::from_secs(5)).unwrap()
    }
}

pub(crate) fn name(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

pub(crate) fn of(id: &str) -> HookContext {
    HookContext::new(Session::new(name(id)), Duration::from_mins(1))
}

pub(crate) fn call() -> HookContext {
    of("s")
}

/// A message of the log whose text is its id.
pub(crate) fn entry(id: &str) -> Message {
    said("user", id).with_entry_id(id)
}

pub(crate) fn said(role: &str, text: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"{role}","content":"{text}"}}"#))
}

/// A log of user messages and answers with these ids.
pub(crate) fn list(ids: &[&str]) -> Transcript {
    ids.iter().map(|id| entry(id)).collect()
}

/// `count` entries, users and answers in turn, of about `tokens` tokens each.
pub(crate) fn long(count: usize, tokens: usize) -> Vec<Message> {
    (0..count)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            let text = format!("entry {n} says{}", " word".repeat(tokens));
            said(role, &text).with_entry_id(format!("e{n}"))
        })
        .collect()
}

pub(crate) async fn bootstrap<S: Store<Rows: Rows>>(
    engine: &LosslessEngine<S>,
    cx: &HookContext,
    transcript: Transcript,
) -> Bootstrapped {
    let request = Bootstrap {
        transcript,
        ..Bootstrap::default()
    };
    engine.bootstrap(cx, request).await.unwrap()
}

pub(crate) async fn after_turn<S: Store<Rows: Rows>>(
    engine: &LosslessEngine<S>,
    cx: &HookContext,
    transcript: Transcript,
) {
    let request = AfterTurn {
        transcript,
        ..AfterTurn::default()
    };
    engine.after_turn(cx, request).await.unwrap();
}

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

pub(crate) async fn commit<S: Store<Rows: Rows>>(
    engine: &LosslessEngine<S>,
    turn: CommitTurn,
) -> TurnCommitted {
    engine.commit_turn(&call(), turn).await.unwrap()
}

pub(crate) fn question(view: &Transcript, budget: Option<u64>) -> Assemble {
    Assemble {
        transcript: view.clone(),
        token_budget: budget.and_then(TokenBudget::new),
        ..Assemble::default()
    }
}

pub(crate) async fn assemble<S: Store<Rows: Rows>>(
    engine: &LosslessEngine<S>,
    cx: &HookContext,
    view: &Transcript,
    budget: Option<u64>,
) -> AssembleReply {
    match engine.assemble(cx, question(view, budget)).await.unwrap() {
        AssembleOutcome::Messages(reply) => reply,
        AssembleOutcome::Unchanged(_) => panic!("no projection was known"),
    }
}

/// The payloads of a context, in order.
pub(crate) fn payloads(reply: &AssembleReply, view: &Transcript) -> Vec<String> {
    let messages = reply.messages.messages(view);
    messages
        .map(|message| String::from_utf8(message.payload().to_vec()).unwrap())
        .collect()
}

/// The text between the quotes after `"content":`, for messages of these tests.
pub(crate) fn texts(reply: &AssembleReply, view: &Transcript) -> Vec<String> {
    let text = |payload: String| {
        let (_, rest) = payload.split_once(r#""content":""#).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    payloads(reply, view).into_iter().map(text).collect()
}

/// A leaf over a span of a log, with a text of a stub.
pub(crate) fn leaf(log: &[Message], start: u64, end: u64, text: &str) -> SummaryNode {
    let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
    let sources = log[range].iter().map(Message::digest).collect();
    SummaryNode::new(NodeParts {
        depth: 0,
        span: Span::new(start, end),
        sources: Sources::Entries(sources),
        text: text.to_owned(),
        source_tokens: 100 * (end - start),
        times: Some((1, 2)),
        provenance: Provenance::Model {
            summarizer: "stub".to_owned(),
            model: None,
            prompt_version: 1,
            instructions: None,
        },
    })
}
