//! Calls back to the host: served once, and remembered until their hook is settled (R1.6).

use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contextwire_engine::{HookId, Host, HostCall, HostCallError, HostReply};
use contextwire_proto::frame::{HostCallRequest, HostCallResult};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use lru::LruCache;
use tokio::time::{Instant, timeout};

/// Hooks whose host calls are remembered. One that is forgotten too early costs a repeated call in
/// a later attempt.
const HOOKS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

pub(crate) type Outcome = Result<HostReply, HostCallError>;

/// The host calls of every hook of a client.
#[derive(Debug)]
pub(crate) struct HostCallBook {
    hooks: Mutex<LruCache<HookId, Arc<Hook>>>,
}

/// The host calls of one hook, over all its attempts.
#[derive(Debug, Default)]
struct Hook {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    /// The host went on without the hook: nothing is served any more (R7.2).
    abandoned: bool,
    known: HashMap<String, Known>,
}

/// An outcome, or what will be one.
#[derive(Clone, Debug)]
struct Known {
    outcome: Shared<BoxFuture<'static, Outcome>>,
    /// Whether it changes the host's transcript, which must not be left half-way.
    is_rewrite: bool,
}

/// What one attempt of a hook may ask of its host.
#[derive(Clone, Debug)]
pub(crate) struct AttemptCalls {
    pub(crate) book: Arc<HostCallBook>,
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
        let rewrites: Vec<_> = {
            let mut calls = hook.lock();
            calls.abandoned = true;
            let known = calls.known.values();
            known
                .filter(|known| known.is_rewrite)
                .map(|known| known.outcome.clone())
                .collect()
        };
        for rewrite in rewrites {
            // Told to nobody: the hook is given up.
            let _outcome = rewrite.await;
        }
    }

    fn hook(&self, hook_id: HookId) -> Arc<Hook> {
        Arc::clone(self.lock().get_or_insert(hook_id, Arc::default))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<HookId, Arc<Hook>>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, call_id: &str) {
        self.lock().known.remove(call_id);
    }

    fn remember(&self, call_id: String, outcome: Outcome) {
        let known = Known {
            outcome: std::future::ready(outcome).boxed().shared(),
            is_rewrite: false,
        };
        self.lock().known.insert(call_id, known);
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
        let left = self.ends.saturating_duration_since(Instant::now());
        let within = wanted.min(left);
        let outcome = match call {
            Some(call) => self.outcome(&call_id, call, within).await,
            None => Err(HostCallError::new(
                "UNSUPPORTED",
                "this host does not know this kind of call",
            )),
        };
        HostCallResult { call_id, outcome }
    }

    async fn outcome(&self, call_id: &str, call: HostCall, within: Duration) -> Outcome {
        if !self.host.is_available() {
            return Err(HostCallError::unavailable());
        }
        let hook = self.book.hook(self.hook_id);
        let host = self.host.clone();
        let known = {
            let calls = hook.lock();
            if calls.abandoned {
                return Err(abandoned());
            }
            calls.known.get(call_id).cloned()
        };
        if let Some(known) = known {
            return in_time(within, known.outcome).await;
        }
        match call {
            HostCall::Rewrite(_) => hook.rewrite(call_id, host, call, within).await,
            // Nothing changes by it, and a page is large.
            HostCall::ReadTranscript(_) => in_time(within, contained(host, call)).await,
            HostCall::Complete(_) | HostCall::DelegateCompaction(_) => {
                let outcome = in_time(within, contained(host, call)).await;
                if lasts(&outcome) {
                    hook.remember(call_id.to_owned(), outcome.clone());
                }
                outcome
            }
        }
    }
}

impl Hook {
    /// A rewrite is never left half-way: it goes on when the engine does not wait for it any more,
    /// and a second attempt gets its outcome.
    async fn rewrite(
        &self,
        call_id: &str,
        host: Host,
        call: HostCall,
        within: Duration,
    ) -> Outcome {
        let outcome = {
            let mut calls = self.lock();
            // Between the look above and now.
            if calls.abandoned {
                return Err(abandoned());
            }
            let task = tokio::spawn(contained(host, call));
            let outcome = async move { task.await.unwrap_or_else(|_| Err(broken())) };
            let known = Known {
                outcome: outcome.boxed().shared(),
                is_rewrite: true,
            };
            let outcome = known.outcome.clone();
            calls.known.insert(call_id.to_owned(), known);
            outcome
        };
        let outcome = in_time(within, outcome).await;
        if !lasts(&outcome) && !is_timeout(&outcome) {
            self.forget(call_id);
        }
        outcome
    }
}

/// Whether a second attempt gets the same outcome. What may succeed later is asked again.
fn lasts(outcome: &Outcome) -> bool {
    outcome
        .as_ref()
        .map_or_else(|error| !error.retryable, |_| true)
}

const TIMEOUT: &str = "TIMEOUT";

fn is_timeout(outcome: &Outcome) -> bool {
    matches!(outcome, Err(error) if error.reason == TIMEOUT)
}

async fn in_time(within: Duration, outcome: impl Future<Output = Outcome>) -> Outcome {
    timeout(within, outcome).await.unwrap_or_else(|_| {
        let message = format!("the host did not answer within {within:?}");
        Err(HostCallError {
            retryable: true,
            ..HostCallError::new(TIMEOUT, message)
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

fn abandoned() -> HostCallError {
    HostCallError::new("HOOK_CLOSED", "the host went on without this hook")
}

#[cfg(test)]
mod tests;
