//! Calls back to the host: served once, and remembered until their hook is settled (R1.6).

use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contextwire_engine::{Hook, HookId, Host, HostCall, HostCallError, HostReply};
use contextwire_proto::call_id::fingerprint;
use contextwire_proto::frame::{HostCallRequest, HostCallResult};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use lru::LruCache;
use tokio::time::{Instant, timeout};
use tracing::{Instrument, debug_span};

use crate::observer::Observer;

/// Hooks whose host calls are remembered. One that is forgotten too early costs a repeated call in
/// a later attempt.
const HOOKS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

pub(crate) type Outcome = Result<HostReply, HostCallError>;

/// The host calls of every hook of a client.
#[derive(Debug)]
pub(crate) struct HostCallBook {
    hooks: Mutex<LruCache<HookId, Arc<HookCalls>>>,
}

/// The host calls of one hook, over all its attempts.
#[derive(Debug, Default)]
struct HookCalls {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    /// The host went on without the hook: nothing is served any more (R7.2).
    abandoned: bool,
    known: HashMap<String, Known>,
}

/// A call that was served before, or is being served.
#[derive(Clone, Debug)]
struct Known {
    /// What it asked for.
    fingerprint: [u8; 32],
    outcome: Serving,
}

/// An outcome, or what will be one.
#[derive(Clone, Debug)]
enum Serving {
    /// Goes on when nobody waits: it changes the host's transcript, which is not left half-way.
    Rewrite(Pending),
    /// Ends when nobody waits: a model is not paid for nothing.
    WhileAwaited(WeakShared<BoxFuture<'static, Outcome>>),
    Done(Box<Outcome>),
}

type Pending = Shared<BoxFuture<'static, Outcome>>;

/// What one attempt of a hook may ask of its host.
#[derive(Clone, Debug)]
pub(crate) struct AttemptCalls {
    pub(crate) book: Arc<HostCallBook>,
    pub(crate) hook: Hook,
    pub(crate) observer: Arc<Observer>,
    pub(crate) hook_id: HookId,
    pub(crate) host: Host,
    /// When the engine is not waited for any more.
    pub(crate) ends: Instant,
}

impl HostCallBook {
    pub(crate) fn new() -> Self {
        Self {
            hooks: Mutex::new(LruCache::new(HOOKS)),
        }
    }

    /// The hook's key is settled: no attempt follows.
    pub(crate) fn settled(&self, hook_id: HookId) {
        self.lock().pop(&hook_id);
    }

    /// Refuses further calls of a hook that the host goes on without, and waits for a rewrite that
    /// is inside the host's store already (R7.2).
    pub(crate) async fn abandon(&self, hook_id: HookId) {
        let hook = self.hook(hook_id);
        let rewrites: Vec<Pending> = {
            let mut calls = hook.lock();
            calls.abandoned = true;
            let known = calls.known.values();
            known.filter_map(Known::rewrite).collect()
        };
        for rewrite in rewrites {
            // Told to nobody: the hook is given up.
            let _outcome = rewrite.await;
        }
    }

    fn hook(&self, hook_id: HookId) -> Arc<HookCalls> {
        Arc::clone(self.lock().get_or_insert(hook_id, Arc::default))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<HookId, Arc<HookCalls>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn rewrite(&self) -> Option<Pending> {
        if let Serving::Rewrite(pending) = &self.outcome {
            Some(pending.clone())
        } else {
            None
        }
    }

    /// What there is to wait for; `None` where the call has to be served anew.
    fn pending(&self) -> Option<Pending> {
        match &self.outcome {
            Serving::Rewrite(pending) => Some(pending.clone()),
            Serving::WhileAwaited(pending) => pending.upgrade(),
            Serving::Done(outcome) => {
                let outcome = Outcome::clone(outcome);
                Some(std::future::ready(outcome).boxed().shared())
            }
        }
    }
}

impl AttemptCalls {
    /// Serves a call of the engine. A failure is its outcome; a panic of the host is one as well.
    pub(crate) async fn serve(self, request: HostCallRequest) -> HostCallResult {
        let HostCallRequest {
            call_id,
            timeout: wanted,
            call,
        } = request;
        let started = Instant::now();
        let left = self.ends.saturating_duration_since(started);
        let kind = kind(call.as_ref());
        let span = debug_span!("contextwire.client.host_call", kind, hook_id = %self.hook_id);
        let served = async {
            let outcome = self.outcome(&call_id, call, wanted.min(left)).await;
            let code = outcome.as_ref().err().map_or("OK", |error| &error.reason);
            let elapsed = started.elapsed();
            tracing::debug!(code, ?elapsed, "served");
            self.observer.host_call_ended(kind, code, elapsed);
            outcome
        };
        let outcome = served.instrument(span).await;
        HostCallResult { call_id, outcome }
    }

    async fn outcome(&self, call_id: &str, call: Option<HostCall>, within: Duration) -> Outcome {
        if !self.host.is_available() {
            return Err(HostCallError::unavailable());
        }
        let Some(call) = call else {
            let message = "this host does not know this kind of call";
            return Err(HostCallError::new("UNSUPPORTED", message));
        };
        if !is_served(self.hook, &call) {
            let message = format!("{} serves no call of this kind", self.hook);
            return Err(HostCallError::new("UNSUPPORTED", message));
        }
        if matches!(call, HostCall::ReadTranscript(_)) {
            // Nothing changes by it, and a page is large.
            return in_time(within, contained(self.host.clone(), call)).await;
        }
        let hook = self.book.hook(self.hook_id);
        let pending = hook.serve(call_id, self.host.clone(), call)?;
        let outcome = in_time(within, pending.clone()).await;
        // While the work goes on, a second attempt waits for it as well.
        if pending.peek().is_some() {
            hook.settle(call_id, &outcome);
        }
        outcome
    }
}

/// What a call asks for, in one word.
fn kind(call: Option<&HostCall>) -> &'static str {
    match call {
        Some(HostCall::Rewrite(_)) => "rewrite",
        Some(HostCall::Complete(_)) => "complete",
        Some(HostCall::ReadTranscript(_)) => "read",
        Some(HostCall::DelegateCompaction(_)) => "compact",
        None => "unknown",
    }
}

impl HookCalls {
    /// Serves a call once, whatever the attempt.
    fn serve(&self, call_id: &str, host: Host, call: HostCall) -> Result<Pending, HostCallError> {
        let mut calls = self.lock();
        if calls.abandoned {
            let message = "the host went on without this hook";
            return Err(HostCallError::new("HOOK_CLOSED", message));
        }
        let fingerprint = fingerprint(&call);
        if let Some(known) = calls.known.get(call_id) {
            if known.fingerprint != fingerprint {
                let message = "a host call of this id asked for something else before";
                return Err(HostCallError::new("IDEMPOTENCY_CONFLICT", message));
            }
            if let Some(pending) = known.pending() {
                return Ok(pending);
            }
        }
        let is_rewrite = matches!(call, HostCall::Rewrite(_));
        let served = contained(host, call);
        let (pending, outcome) = if is_rewrite {
            let task = tokio::spawn(served);
            let task = async move { task.await.unwrap_or_else(|_| Err(broken())) };
            let pending = task.boxed().shared();
            (pending.clone(), Some(Serving::Rewrite(pending)))
        } else {
            let pending = served.boxed().shared();
            let weak = pending.downgrade();
            (pending, weak.map(Serving::WhileAwaited))
        };
        if let Some(outcome) = outcome {
            let known = Known {
                fingerprint,
                outcome,
            };
            calls.known.insert(call_id.to_owned(), known);
        }
        Ok(pending)
    }

    /// The call has its outcome. What may succeed later is asked again in a second attempt.
    fn settle(&self, call_id: &str, outcome: &Outcome) {
        let mut calls = self.lock();
        if outcome.as_ref().is_err_and(|error| error.retryable) {
            calls.known.remove(call_id);
        } else if let Some(known) = calls.known.get_mut(call_id) {
            known.outcome = Serving::Done(Box::new(outcome.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the hook may ask for this at all: no read and no import changes the transcript, and only a
/// compaction can be handed back (HOST-SEMANTICS 2 and 10).
fn is_served(hook: Hook, call: &HostCall) -> bool {
    match call {
        HostCall::Rewrite(_) => !matches!(hook, Hook::Assemble | Hook::Bootstrap),
        HostCall::DelegateCompaction(_) => hook == Hook::Compact,
        HostCall::Complete(_) | HostCall::ReadTranscript(_) => true,
    }
}

async fn in_time(within: Duration, outcome: impl Future<Output = Outcome>) -> Outcome {
    timeout(within, outcome).await.unwrap_or_else(|_| {
        let message = format!("the host did not answer within {within:?}");
        Err(HostCallError {
            retryable: true,
            ..HostCallError::new("TIMEOUT", message)
        })
    })
}

/// A host's own panic ends its call only.
async fn contained(host: Host, call: HostCall) -> Outcome {
    let served = std::panic::AssertUnwindSafe(async { host.serve(call).await });
    served
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(broken()))
}

fn broken() -> HostCallError {
    HostCallError::new("FAILED", "the host failed while it served the call")
}

#[cfg(test)]
mod tests;
