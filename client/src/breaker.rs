//! Layer: an endpoint that does not answer is not asked again and again (R7.4).

mod state;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use crate::call::{Answer, Call, ServedBy};
use crate::classify::{CountsAs, counts_as};
use crate::describe::Acquaintance;
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, at_once, layer};
use crate::observer::Observer;
use crate::sync::Debt;

use state::{Change, Outcome, Ticket};
pub(crate) use state::{Circuit, Position};

/// Judges each attempt; after too many failures it answers at once, without a call.
///
/// The first call after a pause describes the engine anew before it sends its hook, since what
/// comes back may be another build; only the hook's success ends the pause.
///
/// One layer is one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct BreakerLayer {
    circuit: Arc<Mutex<Circuit>>,
    known: Arc<Acquaintance>,
    observer: Arc<Observer>,
}

impl BreakerLayer {
    pub(crate) fn of(endpoint: &Endpoint, observer: &Arc<Observer>) -> Self {
        Self {
            circuit: Arc::clone(&endpoint.circuit),
            known: Arc::clone(&endpoint.known),
            observer: Arc::clone(observer),
        }
    }
}

#[cfg(test)]
impl BreakerLayer {
    /// A circuit of its own.
    pub(crate) fn new(known: Arc<Acquaintance>) -> Self {
        Self {
            circuit: Arc::new(Mutex::new(Circuit::new())),
            known,
            observer: Arc::new(Observer::new("e".to_owned(), None, Arc::default())),
        }
    }
}

layer!(BreakerLayer);

impl Wrap for BreakerLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let permit = match Permit::ask(self, &call) {
            Ok(permit) => permit,
            Err(error) => return at_once(Err(error)),
        };
        if permit.ticket.is_probe {
            self.known.forget();
        }
        let answer = below.call(call);
        Box::pin(async move {
            let outcome = answer.await;
            permit.settle(&outcome);
            outcome
        })
    }
}

/// The right to one call; however the call ends, it is settled.
#[derive(Debug)]
struct Permit {
    circuit: Arc<Mutex<Circuit>>,
    observer: Arc<Observer>,
    ticket: Ticket,
    share_ends: Instant,
    debt: Debt,
    /// Known once the call has ended by itself.
    outcome: Option<Outcome>,
}

impl Permit {
    fn ask(layer: &BreakerLayer, call: &Call) -> Result<Self, CallError> {
        let circuit = &layer.circuit;
        let admitted = lock(circuit).admit(Instant::now());
        let ticket = admitted.map_err(|retry_in| CallError::BreakerOpen { retry_in })?;
        Ok(Self {
            circuit: Arc::clone(circuit),
            observer: Arc::clone(&layer.observer),
            ticket,
            share_ends: call.share_ends,
            debt: call.traffic.debt().clone(),
            outcome: None,
        })
    }

    fn settle(mut self, outcome: &Result<Answer, CallError>) {
        self.outcome = Some(self.judge(outcome));
    }

    fn judge(&self, outcome: &Result<Answer, CallError>) -> Outcome {
        let error = match outcome {
            Ok(served) if served.by == ServedBy::InProcess => return Outcome::Unjudged,
            Ok(_) => return Outcome::Success,
            Err(error) => error,
        };
        match counts_as(error) {
            CountsAs::Breaker if error.is_deadline() => self.overrun(),
            CountsAs::Breaker => Outcome::Failure,
            CountsAs::SlowBreaker => Outcome::Breach,
            CountsAs::Nothing | CountsAs::Quarantine => Outcome::Unjudged,
        }
    }

    /// The engine's time was up; that is its failure unless it waited for the host (R3.4).
    fn overrun(&self) -> Outcome {
        if self.debt.is_owed() {
            Outcome::Unjudged
        } else {
            Outcome::Failure
        }
    }

    /// A call that was dropped when its time was up has overrun; dropped before, its caller left
    /// (R6.3).
    fn dropped(&self, now: Instant) -> Outcome {
        if now < self.share_ends {
            Outcome::Unjudged
        } else {
            self.overrun()
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let now = Instant::now();
        let outcome = self.outcome.unwrap_or_else(|| self.dropped(now));
        match lock(&self.circuit).settle(&self.ticket, outcome, now) {
            Some(Change::Opened(cooldown)) => {
                tracing::warn!(?cooldown, "the engine is not asked for a while");
                self.observer.breaker_turned("open");
            }
            Some(Change::Closed) => {
                tracing::info!("the engine is asked again");
                self.observer.breaker_turned("closed");
            }
            None => {}
        }
    }
}

/// Where the circuit stands now.
pub(crate) fn position(circuit: &Mutex<Circuit>) -> Position {
    lock(circuit).position(Instant::now())
}

fn lock(circuit: &Mutex<Circuit>) -> std::sync::MutexGuard<'_, Circuit> {
    circuit.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
