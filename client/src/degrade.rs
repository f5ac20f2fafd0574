//! Layer: a turn that its engine failed is served to its end by whoever took over (R7.4).

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{FallbackClass, Hook, SessionId, Site};
use lru::LruCache;

use crate::call::{Call, TurnName};
use crate::classify::{CountsAs, counts_as};
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, at_once, layer};
use crate::options::Policy;
use crate::request::EngineRequest;

/// Sessions whose turn is remembered; one that is forgotten asks its engine again.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The turns of a client's sessions; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    turns: Arc<Mutex<Known>>,
    policy: Policy,
}

#[derive(Debug)]
struct Known {
    sessions: LruCache<SessionId, Turn>,
    /// Turns begun so far.
    begun: u64,
}

/// The turn that a session is in.
#[derive(Clone, Debug)]
struct Turn {
    number: u64,
    /// As its host names it; without a name, an Assemble before a prompt begins the next one.
    name: Option<TurnName>,
    /// Why somebody else serves the rest of it.
    degraded: Option<String>,
}

impl Turns {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            turns: Arc::new(Mutex::new(Known {
                sessions: LruCache::new(SESSIONS),
                begun: 0,
            })),
            policy,
        }
    }

    /// The turn of a call, which may be the first of it.
    fn of(&self, call: &Call) -> Turn {
        let mut known = self.lock();
        let current = known.sessions.get(&call.session.id);
        // A call without a name is of the turn that the session is in.
        let is_same = |turn: &&Turn| call.turn.is_none() || turn.name == call.turn;
        let goes_on = current.filter(is_same).filter(|_| !begins(call));
        if let Some(turn) = goes_on {
            return turn.clone();
        }
        known.begun += 1;
        let turn = Turn {
            number: known.begun,
            name: call.turn.clone(),
            degraded: None,
        };
        known.sessions.put(call.session.id.clone(), turn.clone());
        turn
    }

    /// A turn begins without its engine.
    pub(crate) fn begin_degraded(&self, session: &SessionId, name: TurnName, reason: String) {
        let mut known = self.lock();
        known.begun += 1;
        let turn = Turn {
            number: known.begun,
            name: Some(name),
            degraded: Some(reason),
        };
        known.sessions.put(session.clone(), turn);
    }

    /// The rest of the turn is somebody else's; the first reason stays.
    fn degrade(&self, session: &SessionId, number: u64, reason: &str) {
        let mut known = self.lock();
        let turn = known.sessions.get_mut(session);
        if let Some(turn) = turn.filter(|turn| turn.number == number) {
            turn.degraded.get_or_insert_with(|| reason.to_owned());
        }
    }

    /// Why a session's turn is served by somebody else, where it is.
    pub(crate) fn degraded(&self) -> Vec<(SessionId, String)> {
        let known = self.lock();
        let sessions = known.sessions.iter();
        sessions
            .filter_map(|(id, turn)| Some((id.clone(), turn.degraded.clone()?)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the failure costs its turn the engine.
    fn ends_with(&self, hook: Hook, error: &CallError) -> bool {
        let barred = counts_as(error) == CountsAs::Quarantine && self.policy == Policy::Guarded;
        // Those are the affair of a list that outlives the turn, and of callers.
        let elsewhere = matches!(
            error,
            CallError::Quarantined { .. } | CallError::Unmet(_) | CallError::Abandoned
        );
        if barred || elsewhere {
            return false;
        }
        hook == Hook::Assemble || is_of_the_way(error)
    }
}

/// Whether nobody knows what the engine would have said.
fn is_of_the_way(error: &CallError) -> bool {
    matches!(
        error,
        CallError::Unreachable { .. }
            | CallError::DeadlineExceeded { .. }
            | CallError::Silent { .. }
    )
}

/// Whether an unnamed turn begins with this call.
fn begins(call: &Call) -> bool {
    let before_a_prompt = if let EngineRequest::Assemble(request) = &call.request {
        request.site == Site::BeforePrompt
    } else {
        call.hook() == Hook::Bootstrap
    };
    call.turn.is_none() && before_a_prompt
}

/// Whether the call is a turn's: what runs beside the conversation is not, nor what is delivered
/// until it is acknowledged, nor a child's beginning.
fn is_of_a_turn(call: &Call) -> bool {
    let class = call.hook().profile().fallback;
    let beside = matches!(
        class,
        FallbackClass::Outbox | FallbackClass::FailSpawn | FallbackClass::Warn
    );
    !beside && !call.request.is_background()
}

layer!(Turns);

impl Wrap for Turns {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        if !is_of_a_turn(&call) {
            return Box::pin(below.call(call));
        }
        let turn = self.of(&call);
        if let Some(reason) = turn.degraded {
            return at_once(Err(CallError::TurnDegraded { reason }));
        }
        let (turns, session, hook) = (self.clone(), call.session.id.clone(), call.hook());
        let answer = below.call(call);
        Box::pin(async move {
            let outcome = answer.await;
            if let Err(error) = &outcome
                && turns.ends_with(hook, error)
            {
                turns.degrade(&session, turn.number, error.code());
            }
            outcome
        })
    }
}

#[cfg(test)]
mod tests;
