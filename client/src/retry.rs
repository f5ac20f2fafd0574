//! Layer: a call whose repetition does no harm is tried again (R7.8).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, RetryLayer};
use tower::util::rng::{HasherRng, Rng as _};

use crate::call::{Answer, Call};
use crate::classify::{Again, again};
use crate::error::CallError;

/// Tries of one call at most. An engine that is still at work under the call's key is asked as long
/// as there is time.
const TRIES: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// For how long an answered call pays for tries, and how many tries a call pays.
const DEPOSITS_LAST: Duration = Duration::from_secs(10);
const TRIES_PER_ANSWER: f32 = 0.2;
/// Tries a second that nothing has to pay for.
const FREE_PER_SECOND: u32 = 1;

/// Tries calls again, for one engine.
pub(crate) fn layer() -> RetryLayer<Retry> {
    RetryLayer::new(Retry::new(|| HasherRng::new().next_f64()))
}

/// Decides about one call. Every call to an engine is a read, repeats itself without harm, or has a
/// key, so that what may have happened already happens once.
#[derive(Clone)]
pub(crate) struct Retry {
    /// What all calls together may repeat: a herd of hosts must not keep an engine down.
    budget: Arc<TpsBudget>,
    /// From 0 to 1.
    random: fn() -> f64,
    /// Tries of this call.
    tries: u32,
    /// Delays of this call.
    waits: u32,
    /// Why this call is tried again.
    cause: Option<Arc<CallError>>,
}

impl std::fmt::Debug for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retry")
            .field("tries", &self.tries)
            .finish_non_exhaustive()
    }
}

impl Retry {
    fn new(random: fn() -> f64) -> Self {
        let budget = TpsBudget::new(DEPOSITS_LAST, FREE_PER_SECOND, TRIES_PER_ANSWER);
        Self {
            budget: Arc::new(budget),
            random,
            tries: 1,
            waits: 0,
            cause: None,
        }
    }

    /// How long to wait before another try, if there is to be one.
    fn wait(&mut self, error: &CallError, left: Duration) -> Option<Duration> {
        let asked = match again(error) {
            Again::Never => return None,
            Again::Poll(asked) => asked,
            Again::After(asked) => {
                if self.tries >= TRIES {
                    return None;
                }
                asked
            }
        };
        let wait = self.backoff().max(asked);
        if wait >= left {
            return None;
        }
        if matches!(again(error), Again::After(_)) {
            if !self.budget.withdraw() {
                return None;
            }
            self.tries += 1;
        }
        Some(wait)
    }

    /// A breaker that opened meanwhile is no reason; what opened it is.
    fn explain(&mut self, error: &mut CallError) {
        let CallError::BreakerOpen { .. } = error else {
            return;
        };
        if let Some(cause) = self.cause.take().and_then(Arc::into_inner) {
            *error = cause;
        }
    }

    fn backoff(&mut self) -> Duration {
        self.waits += 1;
        let longest = SHORTEST * 2_u32.saturating_pow(self.waits.min(8));
        let spread = longest.min(LONGEST).saturating_sub(SHORTEST);
        SHORTEST + spread.mul_f64((self.random)().clamp(0.0, 1.0))
    }
}

impl Policy<Call, Answer, CallError> for Retry {
    type Future = Sleep;

    fn retry(&mut self, call: &mut Call, outcome: &mut Result<Answer, CallError>) -> Option<Sleep> {
        let Err(error) = outcome else {
            self.budget.deposit();
            return None;
        };
        let Some(wait) = self.wait(error, call.share()) else {
            self.explain(error);
            return None;
        };
        self.cause = Some(Arc::new(std::mem::replace(error, CallError::Abandoned)));
        let code = self.cause.as_ref().map(|cause| cause.code());
        tracing::debug!(hook = %call.hook(), code, ?wait, "tried again");
        Some(sleep(wait))
    }

    fn clone_request(&mut self, call: &Call) -> Option<Call> {
        Some(call.clone())
    }
}

#[cfg(test)]
mod tests;
