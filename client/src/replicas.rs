//! Service: a choice between the endpoints of one engine, made anew for every try.
//!
//! A session stays with its endpoint while that one is well, since that one has its lists. What goes
//! to another one costs a question for the list and nothing else: the engine's store is one, and a
//! call repeats itself without harm there, as in every try (R7.8).

mod choose;
mod health;

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use contextwire_engine::{Effect, Hook};
use contextwire_proto::Reason;
use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use tower::{Service, ServiceExt};

use crate::affinity;
use crate::breaker::{self, Position};
use crate::call::{Answer, Call, ServedBy};
use crate::classify::is_of_its_endpoint;
use crate::endpoint::{Endpoint, Health, Running};
use crate::error::CallError;
use crate::layer::{Outcome, Pending};
use crate::options::{ClientOptions, Policy};
use crate::stack::Stack;

use choose::{Candidate, Standing};

/// Below this no other endpoint is tried: it could not answer in time.
const LEAST: Duration = Duration::from_millis(50);

/// Sends each call to the endpoint that it belongs to, and on to the next one where that does not
/// answer. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Replicas(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    endpoints: Vec<(Arc<Endpoint>, Stack)>,
    affinity_key: Arc<str>,
    /// Whether a call goes on to another endpoint; who asks by hand wants to see what one says.
    goes_on: bool,
    /// Whose endpoints these are: the engine that was the first to answer.
    engine_id: OnceLock<String>,
    watched: OnceLock<AbortOnDropHandle<()>>,
}

impl Replicas {
    /// Over each endpoint's own part of the stack.
    pub(crate) fn new(
        endpoints: impl IntoIterator<Item = (Arc<Endpoint>, Stack)>,
        options: &ClientOptions,
    ) -> Self {
        Self(Arc::new(Inner {
            endpoints: endpoints.into_iter().collect(),
            affinity_key: affinity::key(options.affinity_key.as_deref()),
            goes_on: options.policy != Policy::Direct,
            engine_id: OnceLock::new(),
            watched: OnceLock::new(),
        }))
    }
}

impl Service<Call> for Replicas {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Pending {
        let inner = Arc::clone(&self.0);
        inner.watch();
        Box::pin(async move {
            if call.hook() == Hook::Dispose {
                return inner.everywhere(call).await;
            }
            inner.somewhere(call).await
        })
    }
}

impl Inner {
    /// Asks the endpoints how they are from the first call on.
    fn watch(&self) {
        if Handle::try_current().is_err() {
            return;
        }
        self.watched.get_or_init(|| {
            let endpoints = self.endpoints.iter().map(|(it, _)| Arc::clone(it));
            let watch = health::watch(endpoints.collect());
            AbortOnDropHandle::new(tokio::spawn(watch))
        });
    }

    /// To one endpoint after the other, until one answers.
    async fn somewhere(&self, call: Call) -> Outcome {
        let mut left = self.order(&call);
        let mut outcome = Err(CallError::Unsupported("there is no endpoint".to_owned()));
        while !left.is_empty() {
            let (endpoint, stack) = left.remove(0);
            let is_last = left.is_empty() || !self.goes_on;
            let others_well = left.iter().any(|(it, _)| standing(it) == Standing::Well);
            let share = share(&call, others_well && self.goes_on);
            let now = try_at(endpoint, stack.clone(), share).await;
            let goes_on = !is_last && goes_on(&now, &call);
            note(endpoint, &now, goes_on);
            self.meet(endpoint, &now);
            outcome = better(outcome, now);
            if !goes_on {
                break;
            }
            let (target, hook) = (endpoint.known.target(), call.hook());
            tracing::debug!(%target, %hook, "the call goes on at another endpoint");
        }
        outcome
    }

    /// The endpoints in the order in which a call tries them.
    fn order(&self, call: &Call) -> Vec<(&Arc<Endpoint>, &Stack)> {
        let affinity = affinity::affinity(&self.affinity_key, &call.session);
        let ours = self.endpoints.iter().filter(|(it, _)| !self.is_foreign(it));
        let ours: Vec<&(Arc<Endpoint>, Stack)> = ours.collect();
        let candidates = ours.iter().map(|(it, _)| Candidate {
            weight: choose::weight(&it.known.target().to_string(), &affinity),
            standing: standing(it),
            running: it.running(),
        });
        let order = choose::order(&candidates.collect::<Vec<_>>()).into_iter();
        let endpoints = order.filter_map(|at| ours.get(at));
        endpoints
            .map(|(endpoint, stack)| (endpoint, stack))
            .collect()
    }

    /// The first engine that answers is the one whose endpoints these are.
    fn meet(&self, endpoint: &Endpoint, outcome: &Outcome) {
        let answered = |it: &Answer| it.by != ServedBy::InProcess;
        if outcome.as_ref().is_ok_and(answered)
            && let Some(known) = endpoint.known.last()
        {
            self.engine_id.get_or_init(|| known.info.id.clone());
        }
    }

    /// Whether another engine answers there, with another store: nothing goes to it.
    fn is_foreign(&self, endpoint: &Endpoint) -> bool {
        let Some((ours, known)) = self.engine_id.get().zip(endpoint.known.last()) else {
            return false;
        };
        let is_foreign = known.info.id != *ours;
        if endpoint.is_known_as_foreign(is_foreign) {
            let (target, id) = (endpoint.known.target(), &known.info.id);
            tracing::error!(
                %target,
                engine = id.as_str(),
                expected = ours.as_str(),
                "another engine answers at this endpoint: no call goes there; name endpoints of one engine"
            );
        }
        is_foreign
    }

    /// To every endpoint that this host has spoken to: each closes what was opened there.
    async fn everywhere(&self, call: Call) -> Outcome {
        let spoken_to = |it: &&(Arc<Endpoint>, Stack)| it.0.known.last().is_some();
        let endpoints = self.endpoints.iter().filter(spoken_to);
        let told = endpoints.map(|(endpoint, stack)| try_at(endpoint, stack.clone(), call.clone()));
        let mut told = join_all(told).await;
        let failed = told.iter().position(Result::is_err);
        match failed.or(told.len().checked_sub(1)) {
            Some(at) => told.swap_remove(at),
            None => self.somewhere(call).await,
        }
    }
}

/// How an endpoint stands now.
fn standing(endpoint: &Endpoint) -> Standing {
    let health = endpoint.health();
    match breaker::position(&endpoint.circuit) {
        Position::Open { retry_in } if !retry_in.is_zero() => Standing::Open,
        Position::HalfOpen => Standing::Open,
        // The call that decides whether the circuit closes goes to an endpoint that is well.
        Position::Open { .. } | Position::Closed { .. } => match health {
            Health::Serving | Health::Unknown => Standing::Well,
            Health::NotServing | Health::Unreachable => Standing::Unwell,
        },
    }
}

/// The call as one endpoint gets it. A call that says nothing before its end could spend all of its
/// time at an endpoint that hangs: while another one is well, half of it has to do.
fn share(call: &Call, others_well: bool) -> Call {
    let mut call = call.clone();
    if others_well && !call.hook().profile().streaming {
        let now = Instant::now();
        call.share_ends = now + call.share() / 2;
    }
    call
}

async fn try_at(endpoint: &Arc<Endpoint>, stack: Stack, call: Call) -> Outcome {
    let _counted = Running::at(endpoint);
    let share = call.share();
    let answer = timeout_at(call.share_ends, stack.oneshot(call)).await;
    answer.unwrap_or(Err(CallError::DeadlineExceeded { share }))
}

/// Whether another endpoint may know better.
fn goes_on(outcome: &Outcome, call: &Call) -> bool {
    let error = match outcome {
        Ok(served) => return is_absent(served),
        Err(error) => error,
    };
    if call.share() < LEAST {
        return false;
    }
    if let CallError::Silent { .. } = error {
        // A long hook that is silent may be at work, and would begin anew elsewhere.
        return call.hook().profile().effect == Effect::Read;
    }
    is_of_its_endpoint(error)
}

/// A neutral answer in the place of an endpoint that does not have the method.
fn is_absent(served: &Answer) -> bool {
    served.by == ServedBy::InProcess
        && matches!(served.reason.as_deref(), Some(CallError::Absent { .. }))
}

/// What the try says about the endpoint, beside what its circuit makes of it.
fn note(endpoint: &Endpoint, outcome: &Outcome, goes_on: bool) {
    if goes_on {
        endpoint.has_passed_on();
    } else if outcome
        .as_ref()
        .is_ok_and(|it| it.by != ServedBy::InProcess)
    {
        endpoint.has_answered();
    }
    let health = match outcome {
        Err(CallError::Refused { reason, .. }) if *reason == Reason::Draining => Health::NotServing,
        Err(CallError::Unreachable { .. } | CallError::Silent { .. }) => Health::Unreachable,
        Err(error) if error.is_deadline() && goes_on => Health::Unreachable,
        Ok(_) | Err(_) => return,
    };
    // Only until it is asked: what failed may have been the call.
    endpoint.set_health(health);
    endpoint.look.notify_one();
}

/// The outcome that says more: an answer, and of failures the one of a call that went out.
fn better(before: Outcome, now: Outcome) -> Outcome {
    let never_went_out = matches!(
        now,
        Err(CallError::BreakerOpen { .. } | CallError::Absent { .. })
    );
    let said_something = !matches!(before, Err(CallError::Unsupported(_)));
    let answered = before.is_ok() && now.is_err();
    if answered || (never_went_out && said_something) {
        before
    } else {
        now
    }
}

#[cfg(test)]
mod tests;
