//! One hook invocation as one value, and its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use contextwire_engine::{Hook, HookId, Host, Order, Reply, Scope, Session, Transcript};
use contextwire_proto::limits;
use tokio::time::Instant;

use crate::error::CallError;
use crate::request::{EngineReply, EngineRequest};
use crate::sync::Debt;
use crate::trace_parent::TraceParent;
use crate::tries::Tries;

/// The name of a logical turn.
pub(crate) type TurnName = Arc<str>;

/// A hook invocation on its way through the stack.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is asked.
    pub request: EngineRequest,
    /// Of which session.
    pub session: Session,
    /// Identity of the invocation, equal in all its attempts.
    pub hook_id: HookId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// How long the caller waits, from when it called.
    pub budget: Duration,
    /// When the caller must have an answer.
    pub deadline: Instant,
    /// When the engine must have answered; before `deadline` by the host's reserve (R7.1).
    pub share_ends: Instant,
    /// The host's stored log, for an engine whose own is behind (R3.3). It costs a state in the
    /// request; the messages travel only when the engine asks, and only in streaming hooks.
    pub log: Option<Transcript>,
    /// Who serves what the engine asks meanwhile; nobody by default (R1.4).
    pub host: Host,
    /// Where the host's agent works; opaque to the engine.
    pub scope: Scope,
    /// Which operation the call belongs to, for an engine's records only.
    pub operation: Option<String>,
    /// The logical turn that it belongs to, where the host names its turns (R7.4).
    pub turn: Option<Arc<str>>,
    /// The span that it belongs to, where the host traces (R1.10).
    pub trace: Option<TraceParent>,
    /// Place in the host's order (R7.9). The stack fills it in where it is absent.
    pub order: Option<Order>,
    /// Hooks whose effect must not happen any more (R7.2). The stack fills them in.
    pub abandoned_hooks: Vec<HookId>,
    /// Bytes that this call moved.
    pub traffic: Traffic,
    pub(crate) tries: Tries,
    /// It has no place in the host's order: the renewal of a preparation (R7.9).
    pub(crate) is_unordered: bool,
}

impl Call {
    /// A first attempt that must be answered within `budget`.
    pub fn new(session: Session, request: EngineRequest, budget: Duration) -> Self {
        let now = Instant::now();
        Self {
            request,
            session,
            hook_id: HookId::mint(),
            attempt: 1,
            budget,
            deadline: now + budget,
            share_ends: now + limits::share(budget),
            log: None,
            host: Host::default(),
            scope: Scope::default(),
            operation: None,
            turn: None,
            trace: None,
            order: None,
            abandoned_hooks: Vec::new(),
            traffic: Traffic::default(),
            tries: Tries::default(),
            is_unordered: false,
        }
    }

    /// The same call telling the engine of the host's log.
    #[must_use]
    pub fn with_log(self, log: Option<Transcript>) -> Self {
        Self { log, ..self }
    }

    /// The same call as it is sent now: every try has a number of its own.
    pub(crate) fn next_try(&self) -> Self {
        let attempt = self.attempt.saturating_add(self.tries.next());
        Self {
            attempt,
            ..self.clone()
        }
    }

    /// The hook.
    pub fn hook(&self) -> Hook {
        self.request.hook()
    }

    /// What is left of the engine's share.
    pub fn share(&self) -> Duration {
        self.share_ends.saturating_duration_since(Instant::now())
    }
}

/// Counts the bytes of a call's gRPC messages, each with its five bytes of framing; HTTP/2 and
/// metadata come on top. Clones count together, so a failed call is accounted for as well.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    debt: Debt,
}

const FRAMING_BYTES: u64 = 5;

impl Traffic {
    pub(crate) fn count_sent(&self, message_bytes: usize) {
        self.0
            .sent
            .fetch_add(message_bytes as u64 + FRAMING_BYTES, Ordering::Relaxed);
    }

    pub(crate) fn count_received(&self, message_bytes: usize) {
        self.0
            .received
            .fetch_add(message_bytes as u64 + FRAMING_BYTES, Ordering::Relaxed);
    }

    /// Whether parts of a list are still to go.
    pub(crate) fn debt(&self) -> &Debt {
        &self.0.debt
    }

    /// Bytes handed to the transport.
    pub fn bytes_sent(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    /// Bytes received.
    pub fn bytes_received(&self) -> u64 {
        self.0.received.load(Ordering::Relaxed)
    }
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// The engine of that id.
    Engine(String),
    /// The host's own engine, in this process.
    InProcess,
}

impl std::fmt::Display for ServedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Engine(id) => f.write_str(id),
            Self::InProcess => f.write_str("in-process"),
        }
    }
}

/// A result with its origin (R7.6).
#[derive(Clone, Debug)]
pub struct Served<T> {
    /// The result.
    pub result: T,
    /// Who gave it.
    pub by: ServedBy,
    /// Why the engine did not, where somebody else served.
    pub reason: Option<Arc<CallError>>,
    /// What the engine said beside its answer: hooks that came too late, the log that it stores.
    pub said: Reply,
    /// Bytes that the call moved.
    pub traffic: Traffic,
}

impl<T> Served<T> {
    /// The same origin with another result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Served<U> {
        let Self {
            result,
            by,
            reason,
            said,
            traffic,
        } = self;
        Served {
            result: change(result),
            by,
            reason,
            said,
            traffic,
        }
    }
}

/// What the stack's services answer.
pub type Answer = Served<EngineReply>;
