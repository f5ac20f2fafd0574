//! When calls go to an endpoint and when not (R7.4): a state machine that is told the time and
//! neither waits nor sends.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open the circuit.
const IN_A_ROW: u32 = 2;
/// Failures that open it within [`WINDOW`], whatever lies between them.
const IN_WINDOW: usize = 3;
const WINDOW: Duration = Duration::from_mins(1);
/// Breaches of the contract that open it within [`SLOW_WINDOW`].
const SLOW_IN_WINDOW: usize = 5;
const SLOW_WINDOW: Duration = Duration::from_mins(10);
const FIRST_COOLDOWN: Duration = Duration::from_secs(1);
const LONGEST_COOLDOWN: Duration = Duration::from_mins(1);

/// How a call that went to the endpoint ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The engine answered the hook.
    Success,
    /// The way to the engine failed.
    Failure,
    /// The engine broke the contract.
    Breach,
    /// It says nothing about the endpoint.
    Unjudged,
}

/// The right to one call, settled once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Its outcome counts in this period only: a call of before must not close what it never tried.
    epoch: u64,
    /// The one call that decides whether the circuit closes.
    pub(crate) is_probe: bool,
}

/// What a settled call changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Calls stop for this long.
    Opened(Duration),
    /// Calls go again.
    Closed,
}

/// The circuit of one endpoint.
#[derive(Debug)]
pub(crate) struct Circuit {
    state: State,
    epoch: u64,
    in_a_row: u32,
    failures: Recent,
    breaches: Recent,
}

/// Where a circuit stands, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Calls go.
    Closed {
        /// Failures since the last success.
        failures: u32,
    },
    /// Calls do not go.
    Open {
        /// For so long; zero where the next call may try.
        retry_in: Duration,
    },
    /// One call is trying.
    HalfOpen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open {
        until: Instant,
        cooldown: Duration,
    },
    HalfOpen {
        probe_is_out: bool,
        cooldown: Duration,
    },
}

impl Circuit {
    /// A closed circuit.
    pub(crate) fn new() -> Self {
        Self {
            state: State::Closed,
            epoch: 0,
            in_a_row: 0,
            failures: Recent::new(IN_WINDOW, WINDOW),
            breaches: Recent::new(SLOW_IN_WINDOW, SLOW_WINDOW),
        }
    }

    /// Asks for the right to call.
    ///
    /// # Errors
    /// How long to wait; zero while another call is the probe.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Ticket, Duration> {
        match self.state {
            State::Closed => Ok(self.ticket(false)),
            State::Open { until, .. } if now < until => Err(until - now),
            State::Open { cooldown, .. } => {
                self.turn(State::HalfOpen {
                    probe_is_out: true,
                    cooldown,
                });
                Ok(self.ticket(true))
            }
            State::HalfOpen {
                probe_is_out: true, ..
            } => Err(Duration::ZERO),
            State::HalfOpen {
                probe_is_out: false,
                cooldown,
            } => {
                self.state = State::HalfOpen {
                    probe_is_out: true,
                    cooldown,
                };
                Ok(self.ticket(true))
            }
        }
    }

    /// Takes in how an admitted call ended.
    pub(crate) fn settle(
        &mut self,
        ticket: &Ticket,
        outcome: Outcome,
        now: Instant,
    ) -> Option<Change> {
        if ticket.epoch != self.epoch {
            return None;
        }
        match self.state {
            State::Closed => self.count(outcome, now),
            State::HalfOpen { cooldown, .. } => self.decide(outcome, cooldown, now),
            // Nothing is admitted under the number of an open period.
            State::Open { .. } => None,
        }
    }

    /// Where it stands.
    pub(crate) fn position(&self, now: Instant) -> Position {
        match self.state {
            State::Closed => Position::Closed {
                failures: self.in_a_row,
            },
            State::Open { until, .. } => Position::Open {
                retry_in: until.saturating_duration_since(now),
            },
            State::HalfOpen { .. } => Position::HalfOpen,
        }
    }

    fn count(&mut self, outcome: Outcome, now: Instant) -> Option<Change> {
        let opens = match outcome {
            Outcome::Success => {
                self.in_a_row = 0;
                false
            }
            Outcome::Failure => {
                self.in_a_row += 1;
                self.failures.add(now) || self.in_a_row >= IN_A_ROW
            }
            Outcome::Breach => self.breaches.add(now),
            Outcome::Unjudged => false,
        };
        opens.then(|| self.open(FIRST_COOLDOWN, now))
    }

    /// The probe is back.
    fn decide(&mut self, outcome: Outcome, cooldown: Duration, now: Instant) -> Option<Change> {
        match outcome {
            Outcome::Success => {
                self.in_a_row = 0;
                self.failures.forget();
                self.breaches.forget();
                self.turn(State::Closed);
                Some(Change::Closed)
            }
            Outcome::Failure | Outcome::Breach => {
                Some(self.open((cooldown * 2).min(LONGEST_COOLDOWN), now))
            }
            Outcome::Unjudged => {
                self.state = State::HalfOpen {
                    probe_is_out: false,
                    cooldown,
                };
                None
            }
        }
    }

    fn open(&mut self, cooldown: Duration, now: Instant) -> Change {
        self.turn(State::Open {
            until: now + cooldown,
            cooldown,
        });
        Change::Opened(cooldown)
    }

    /// Every turn begins a period: what was admitted before it does not count any more.
    fn turn(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }

    fn ticket(&self, is_probe: bool) -> Ticket {
        Ticket {
            epoch: self.epoch,
            is_probe,
        }
    }
}

/// The last events of a kind.
#[derive(Debug)]
struct Recent {
    times: VecDeque<Instant>,
    many: usize,
    window: Duration,
}

impl Recent {
    fn new(many: usize, window: Duration) -> Self {
        Self {
            times: VecDeque::with_capacity(many),
            many,
            window,
        }
    }

    /// Whether, with this one, there were many within the window.
    fn add(&mut self, now: Instant) -> bool {
        if self.times.len() == self.many {
            self.times.pop_front();
        }
        self.times.push_back(now);
        let first = self.times.front().copied().unwrap_or(now);
        self.times.len() == self.many && now.saturating_duration_since(first) <= self.window
    }

    fn forget(&mut self) {
        self.times.clear();
    }
}

#[cfg(test)]
mod tests;
