//! What a client knows of its engine and thinks of it, and what a host knows of all of them. Asks
//! nobody, and holds no content.

mod gather;

use std::collections::BTreeMap;

use contextwire_engine::EngineInfo;
use serde::{Deserialize, Serialize};

use crate::client::EngineClient;
use crate::quarantine::QuarantineRecord;

/// A host and its engines at one moment. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    /// When.
    pub at_ms: u64,
    /// The host's id.
    pub host: String,
    /// Its process, by a number that changes with every start.
    pub pid: u32,
    /// The engine that the slot names; `legacy` is the built-in one.
    pub selected: String,
    /// The engine that serves: the selected one, or `legacy` in its place.
    pub active: String,
    /// Why the selected one does not.
    pub inactive_because: Option<String>,
    /// Every registered engine.
    pub engines: Vec<EngineStatus>,
    /// What waits to be delivered, where the host has an outbox.
    #[serde(default)]
    pub outbox: Option<OutboxStatus>,
}

/// What a host's outbox holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxStatus {
    /// The file.
    pub file: String,
    /// Rows that wait for the selected engine.
    pub pending: u64,
    /// The lanes that they are in: sessions, as a rule.
    pub pending_lanes: u64,
    /// When the oldest of them was written.
    pub oldest_pending_ms: Option<u64>,
    /// Rows that wait for another engine to be selected.
    pub deselected: u64,
    /// Rows that were set aside: somebody has to look at them.
    pub set_aside: u64,
    /// Turns that can never be read, kept as a record.
    pub blocked: u64,
    /// Turns that have begun.
    pub admitted: u64,
    /// Spawns that are not settled.
    pub open_spawns: u64,
    /// The newest failure of a delivery.
    pub last_error: Option<String>,
    /// Why the file could not be read; the counts say nothing then.
    pub unreadable: Option<String>,
}

/// One engine as its host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatus {
    /// The id that slots name.
    pub id: String,
    /// Who registered it.
    pub owner: Option<String>,
    /// Where it is.
    pub target: String,
    /// Whether the slot names it.
    pub selected: bool,
    /// Whether calls go to it.
    pub active: bool,
    /// What it said of itself last; absent while it was never reached.
    pub described: Option<DescribedStatus>,
    /// Whether calls go out, as far as the way to it is concerned; of several endpoints, the best.
    pub breaker: BreakerStatus,
    /// Why it is barred; the first failure of each kind.
    pub quarantine: Vec<QuarantineStatus>,
    /// What strict builds made the host leave out.
    pub learned: Vec<LearnedStatus>,
    /// What it holds of the lists of sessions, last used first.
    pub lists: Vec<ListStatus>,
    /// Lists in all; [`EngineStatus::lists`] has the first hundred.
    pub lists_in_all: u64,
    /// Sessions whose turn is served by somebody else, and why.
    pub degraded_turns: BTreeMap<String, String>,
    /// Calls so far and now.
    pub calls: CallsStatus,
    /// The newest failures, oldest first.
    pub last_errors: Vec<ErrorStatus>,
    /// Its endpoints, each for itself; one where it has one address.
    #[serde(default)]
    pub endpoints: Vec<EndpointStatus>,
}

/// One endpoint of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    /// Where it is.
    pub target: String,
    /// Of several: `serving`, `not-serving` (it drains, or is not ready), `unreachable`, or `unknown`
    /// before anybody asked. Calls go to others while it is not well.
    pub health: String,
    /// Whether calls go out to it, as far as the way there is concerned.
    pub breaker: BreakerStatus,
    /// Its release and protocol, as it said last: `version, major.minor`.
    pub described: Option<String>,
    /// Tries that are on their way to it now.
    pub running: u64,
    /// Tries that it answered.
    pub answered: u64,
    /// Tries that went on to another endpoint.
    pub passed_on: u64,
    /// The process of an engine that this host runs.
    pub process: Option<ProcessStatus>,
}

/// An engine that its host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// `starting`, `ready`, `down` (between an end and the next start) or `crash-loop` (it ends soon
    /// after every start, and is tried once a minute).
    pub state: String,
    /// Its process group, while it is ready.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u64,
    /// Why it ended last.
    pub ended_because: Option<String>,
    /// What it wrote last to its standard error before that, as its author meant it.
    pub last_lines: Vec<String>,
}

/// What an engine said of itself, and what comes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedStatus {
    /// The id that it gives itself.
    pub id: String,
    /// Its release.
    pub version: String,
    /// The build of it.
    pub build: String,
    /// Whether it owns compaction.
    pub owns_compaction: bool,
    /// Whether that still holds; if not, it is asked before the next call.
    pub is_current: bool,
    /// The protocol that it announced, `major.minor`.
    pub protocol: String,
    /// The minor that both sides speak.
    pub negotiated_minor: u32,
    /// The version of the runtime settings that it is sent; absent: none in common, none sent.
    pub settings_version: Option<u32>,
    /// What it is not sent, by hook: fields that it is too old for, did not declare or rejected.
    pub left_out: BTreeMap<String, Vec<String>>,
}

/// The circuit of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerStatus {
    /// `closed` (calls go), `open` (they do not) or `half-open` (one is trying).
    pub state: String,
    /// Failures since the last success, while it is closed.
    pub failures: u32,
    /// When a call may try again, while it is open.
    pub retry_in_ms: Option<u64>,
}

/// Why an engine is barred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineStatus {
    /// What failed first.
    pub operation: String,
    /// In the engine's own words.
    pub reason: String,
    /// When.
    pub failed_at_ms: u64,
    /// The only session that it is barred for; absent: for all.
    pub session: Option<String>,
}

/// What one build of an engine rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedStatus {
    /// The id that it gives itself.
    pub id: String,
    /// Its release.
    pub version: String,
    /// The build of it.
    pub build: String,
    /// Fields that it does not know, and is not sent any more.
    pub stripped: Vec<String>,
    /// Names that it refused to ignore.
    pub not_understood: Vec<String>,
}

/// A list of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListStatus {
    /// The session.
    pub session: String,
    /// `log` or `view`.
    pub list: String,
    /// What the engine acknowledged last: the next call sends what differs from it.
    pub base: Option<StateStatus>,
    /// What was sent last.
    pub head: Option<StateStatus>,
}

/// The state of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateStatus {
    /// Messages.
    pub count: u64,
    /// The beginning of the chain over them, in hex.
    pub chain: String,
}

/// Calls of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsStatus {
    /// Answered by the engine.
    pub by_engine: u64,
    /// Answered in its place.
    pub in_process: u64,
    /// Answered by nobody.
    pub failed: u64,
    /// On their way now.
    pub running: u64,
    /// The bytes that those bring.
    pub running_bytes: u64,
    /// Waiting for their turn.
    pub waiting: u64,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorStatus {
    /// The hook.
    pub hook: String,
    /// The reason, as [`CallError::code`](crate::CallError::code) gives it.
    pub code: String,
    /// For people.
    pub text: String,
    /// When.
    pub at_ms: u64,
}

impl EngineClient {
    /// What the host goes by: the engine's own description, the last one if it cannot be asked now.
    /// While it is barred, the built-in engine's, so that nobody leaves compaction to it. `None`
    /// while the engine was never reached; then it is treated as owning compaction (R7.12).
    pub fn active_info(&self) -> Option<EngineInfo> {
        let own = self.known.last().map(|engine| engine.info.clone());
        self.known.bar().active_info(own)
    }

    /// Whether the host leaves compaction to the engine: by its last word, and also while nobody knows
    /// (R7.12).
    pub fn owns_compaction(&self) -> bool {
        self.active_info().is_none_or(|info| info.owns_compaction)
    }

    /// Why the engine is barred, where it is for every session.
    pub fn quarantine(&self) -> Option<QuarantineRecord> {
        self.known.bar().record()
    }
}
