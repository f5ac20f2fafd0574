//! What accompanies every hook: session, budget, cancellation, progress.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::digest::TranscriptState;
use crate::error::EngineError;
use crate::host_call::Host;
use crate::host_log::HostLog;
use crate::ids::{HookId, Session};
use crate::order::{Order, Reply};

/// Nobody asked to stop, and the effect did not happen.
const OPEN: u8 = 0;
/// Somebody asked to stop before the effect.
const STOPPED: u8 = 1;
/// The effect happens, whoever asks to stop now.
const COMMITTED: u8 = 2;

/// Whether somebody asked the engine to stop, and whether that still prevents its effect (R1.5).
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    token: CancellationToken,
    stage: Arc<AtomicU8>,
}

impl Cancellation {
    /// One that nobody has triggered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop; never undone.
    pub fn cancel(&self) {
        let _was_open = self.pass(STOPPED).is_ok();
        self.token.cancel();
    }

    /// Whether it was triggered.
    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Ends when it is triggered.
    pub async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    /// Says that the effect happens now. An engine calls it last before its store commits, and gives
    /// up on an error: so a host is never told that what did happen did not.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Cancelled`] when somebody asked to stop before.
    pub fn commit(&self) -> Result<(), EngineError> {
        if self.is_cancelled() || self.pass(COMMITTED) == Err(STOPPED) {
            return Err(EngineError::cancelled());
        }
        Ok(())
    }

    /// Whether the effect happens or happened, as far as the engine said.
    pub fn is_committed(&self) -> bool {
        self.stage.load(Ordering::SeqCst) == COMMITTED
    }

    fn pass(&self, stage: u8) -> Result<u8, u8> {
        let order = Ordering::SeqCst;
        self.stage.compare_exchange(OPEN, stage, order, order)
    }

    /// One that is triggered with this one, for work that is not the call's effect.
    fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            stage: Arc::default(),
        }
    }
}

/// A sign of life on long work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// What the engine is doing, one word.
    pub phase: String,
    /// How much is done, 0 to 1.
    pub fraction: Option<f64>,
    /// For people.
    pub text: Option<String>,
}

/// Where progress goes. Reporting never waits; what nobody reads is dropped.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// Where the host's agent works; opaque texts, never opened by an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The agent's own folder.
    pub agent_dir: Option<String>,
    /// The workspace.
    pub workspace_dir: Option<String>,
}

/// Facts of one operation that a host passes on by a whitelist (HOST-SEMANTICS 1.5).
///
/// Never configuration, keys or tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuntimeContext {
    /// The agent's working folder.
    pub cwd: Option<String>,
    /// Whether compaction may run later.
    pub allow_deferred_compaction_execution: Option<bool>,
    /// Ceiling in tokens.
    pub token_budget: Option<u64>,
    /// The agent harness.
    pub agent_harness_id: Option<String>,
    /// What the host last counted.
    pub current_token_count: Option<u64>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The model.
    pub model_id: Option<String>,
    /// Its window in tokens.
    pub model_context_window: Option<u64>,
    /// Facts of the provider's prompt cache: the host's JSON, opaque.
    pub prompt_cache: Option<Bytes>,
    /// How the host stores transcripts.
    pub transcript_storage: Option<String>,
    /// What started the operation.
    pub trigger: Option<String>,
    /// `manual` or `preflight_required`.
    pub force_reason: Option<String>,
    /// `tokens` or `transcript_bytes`.
    pub preflight_trigger: Option<String>,
    /// Which attempt this is, from 1.
    pub attempt: Option<u32>,
    /// How many there will be.
    pub max_attempts: Option<u32>,
    /// Further keys that the operator allowed: JSON values, opaque.
    pub extra: BTreeMap<String, Bytes>,
}

/// What accompanies every hook.
#[derive(Clone)]
#[non_exhaustive]
pub struct HookContext {
    /// Identity of the logical invocation.
    pub hook_id: HookId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// Which session.
    pub session: Session,
    /// Where the host's agent works.
    pub scope: Scope,
    /// Which operation the call belongs to; for records only.
    pub operation: Option<String>,
    /// The host's stored log, where it said so (R3.3).
    pub log_head: Option<TranscriptState>,
    /// Place in the host's order; absent for a host that keeps none (R7.9).
    pub order: Option<Order>,
    /// Hooks whose effect must not happen any more (R7.2).
    pub abandoned_hooks: Vec<HookId>,
    /// Who serves calls back.
    pub host: Host,
    /// The host's stored log, for an engine whose own is behind `log_head` (R3.3).
    pub log: HostLog,
    /// When the host stops waiting.
    pub deadline: Instant,
    /// Whether somebody asked to stop.
    pub cancellation: Cancellation,
    progress: Option<ProgressSink>,
    reply: Arc<Mutex<Reply>>,
}

impl HookContext {
    /// A context with a deadline `budget` from now.
    pub fn new(session: Session, budget: Duration) -> Self {
        Self::of_hook(HookId::mint(), session, budget)
    }

    /// The same for an invocation that has its id.
    pub fn of_hook(hook_id: HookId, session: Session, budget: Duration) -> Self {
        Self {
            hook_id,
            attempt: 1,
            session,
            scope: Scope::default(),
            operation: None,
            log_head: None,
            order: None,
            abandoned_hooks: Vec::new(),
            host: Host::default(),
            log: HostLog::default(),
            reply: Arc::default(),
            deadline: Instant::now() + budget,
            cancellation: Cancellation::new(),
            progress: None,
        }
    }

    /// The same context reporting progress to `sink`.
    #[must_use]
    pub fn with_progress(self, sink: ProgressSink) -> Self {
        Self {
            progress: Some(sink),
            ..self
        }
    }

    /// Time left until the host stops waiting.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether to stop: asked to, or out of time.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled() || self.remaining().is_zero()
    }

    /// For loops: `cx.check()?` stops the work when nobody waits for it any more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Cancelled`] when told to stop or out of time.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.is_cancelled() {
            Err(EngineError::cancelled())
        } else {
            Ok(())
        }
    }

    /// The same call for work that is not its effect, such as a claim or the host's log: committing
    /// it leaves the effect open.
    #[must_use]
    pub fn aside(&self) -> Self {
        Self {
            cancellation: self.cancellation.child(),
            ..self.clone()
        }
    }

    /// Says something beside the answer: late hooks, the stored log.
    pub fn note(&self, note: impl FnOnce(&mut Reply)) {
        note(&mut self.reply.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What the engine said beside its answer; for whoever sends the answer on.
    pub fn take_reply(&self) -> Reply {
        std::mem::take(&mut self.reply.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the host that work goes on.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}

impl std::fmt::Debug for HookContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookContext")
            .field("hook_id", &self.hook_id)
            .field("attempt", &self.attempt)
            .field("session", &self.session.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionId;

    #[tokio::test(start_paused = true)]
    async fn work_stops_when_told_to_and_when_the_deadline_passes() {
        let session = Session::new(SessionId::new("s").unwrap());
        let cx = HookContext::new(session, Duration::from_secs(5));
        assert!(cx.check().is_ok());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(cx.check().is_err());

        let cx = HookContext::new(cx.session, Duration::from_secs(5));
        cx.cancellation.cancel();
        assert!(cx.check().is_err());
    }

    #[test]
    fn r1_5_what_is_stopped_is_not_committed_and_what_is_committed_is_not_stopped() {
        let stopped = Cancellation::new();
        stopped.cancel();
        assert!(stopped.commit().is_err() && !stopped.is_committed());
        let committed = Cancellation::new();
        committed.commit().unwrap();
        committed.cancel();
        assert!(committed.is_committed());
        assert!(committed.commit().is_err(), "a second effect would be new");
        let parent = Cancellation::new();
        parent.child().commit().unwrap();
        assert!(!parent.is_committed());
        parent.cancel();
        assert!(parent.child().commit().is_err());
    }
}
