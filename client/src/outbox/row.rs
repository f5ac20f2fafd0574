//! A call that has to reach its engine, as a row.

use contextwire_engine::{
    CommitTurn, EndSubagent, Hook, HookId, ResolveSubagentSpawn, Scope, Session,
};
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::request::EngineRequest;

/// The engine that a row is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressee {
    /// The id that slots name.
    pub engine: String,
    /// The plugin that owns it.
    pub owner: Option<String>,
}

impl Addressee {
    /// An engine that no plugin owns.
    pub fn new(engine: impl Into<String>) -> Self {
        Self {
            engine: engine.into(),
            owner: None,
        }
    }
}

/// A row to be written.
#[derive(Clone, Debug)]
pub struct NewRow {
    /// Whom it is for.
    pub to: Addressee,
    /// The session of the call: the parent's for a resolved spawn, the child's for an end.
    pub session: Session,
    /// Where the host's agent works.
    pub scope: Scope,
    /// The call.
    pub call: OutboxCall,
}

/// What may wait in an outbox.
#[derive(Clone, Debug, PartialEq)]
pub enum OutboxCall {
    /// A closed turn with its messages.
    CommitTurn(Box<CommitTurn>),
    /// What became of a spawn. It waits in line with the calls of the child.
    ResolveSubagentSpawn {
        /// The child's stable key.
        child_session_key: String,
        /// The call.
        request: ResolveSubagentSpawn,
    },
    /// A child ended.
    EndSubagent(EndSubagent),
}

/// How far a row is (HOST-SEMANTICS 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowState {
    /// The user message is stored and on its way to the model; the outcome is unknown.
    Admitted,
    /// The host has accepted the turn's result; its messages are still to be read.
    Accepted,
    /// It can be delivered.
    Ready,
    /// The messages can never be read: kept as a record, never delivered, holds nothing back.
    Blocked,
    /// This release does not know it: never delivered, and its session waits for it.
    Unrecognised,
}

impl RowState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Accepted => "accepted",
            Self::Ready => "ready",
            Self::Blocked => "blocked",
            Self::Unrecognised => "unrecognised",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        let known = [Self::Admitted, Self::Accepted, Self::Ready, Self::Blocked];
        let found = known.into_iter().find(|state| state.name() == name);
        found.unwrap_or(Self::Unrecognised)
    }
}

impl std::fmt::Display for RowState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A row as it is in the file. Times are Unix milliseconds; nothing of it is content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its number: the order of delivery within a lane.
    pub id: i64,
    /// The hook, as the protocol names it.
    pub hook: String,
    /// The call's own key: the turn, the spawn or the end.
    pub key: String,
    /// The engine that it is for.
    pub engine: String,
    /// The plugin that owns the engine.
    pub owner: Option<String>,
    /// The session's volatile id.
    pub session: String,
    /// Rows of one lane go one after the other: `key KEY` of the session, or `id ID` without one.
    pub lane: String,
    /// How far it is.
    pub state: RowState,
    /// Bytes of what is to be sent.
    pub bytes: u64,
    /// When it was written first.
    pub created_ms: u64,
    /// Failed tries since its last change.
    pub attempts: u64,
    /// The last of them.
    pub last_attempt_ms: Option<u64>,
    /// Why it failed.
    pub last_error: Option<String>,
    /// When the next one is due; 0: at once.
    pub due_ms: u64,
    /// When it was set aside: no later try can end otherwise, or it waited for too long.
    pub set_aside_ms: Option<u64>,
}

impl Row {
    /// Whether it waits to be delivered: neither set aside nor kept as a record, nor of a turn that is
    /// not over.
    pub fn is_pending(&self) -> bool {
        let waits = matches!(
            self.state,
            RowState::Accepted | RowState::Ready | RowState::Unrecognised
        );
        waits && self.set_aside_ms.is_none()
    }
}

/// A row with the call in it.
#[derive(Clone, Debug)]
pub struct StoredCall {
    /// The same in all tries, whichever process makes them.
    pub hook_id: HookId,
    /// Of which session.
    pub session: Session,
    /// Where the host's agent works.
    pub scope: Scope,
    /// What is asked.
    pub request: EngineRequest,
}

impl StoredCall {
    /// The call as it is sent now.
    pub fn to_call(&self) -> Call {
        let deadline = self.request.deadline();
        Call {
            hook_id: self.hook_id,
            scope: self.scope.clone(),
            ..Call::new(self.session.clone(), self.request.clone(), deadline)
        }
    }
}

/// Where calls of a session wait for each other.
pub(super) fn lane_of(session: &Session) -> String {
    match &session.key {
        Some(key) if !key.is_empty() => lane_of_key(key),
        Some(_) | None => format!("id {}", session.id),
    }
}

pub(super) fn lane_of_key(key: &str) -> String {
    format!("key {key}")
}

impl NewRow {
    pub(super) fn hook(&self) -> Hook {
        match self.call {
            OutboxCall::CommitTurn(_) => Hook::CommitTurn,
            OutboxCall::ResolveSubagentSpawn { .. } => Hook::ResolveSubagentSpawn,
            OutboxCall::EndSubagent(_) => Hook::EndSubagent,
        }
    }

    pub(super) fn lane(&self) -> String {
        match &self.call {
            OutboxCall::CommitTurn(_) => lane_of(&self.session),
            OutboxCall::ResolveSubagentSpawn {
                child_session_key, ..
            } => lane_of_key(child_session_key),
            OutboxCall::EndSubagent(end) => lane_of_key(&end.child_session_key),
        }
    }
}
