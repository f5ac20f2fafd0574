//! Layer: what became of a call that nobody answered is asked once, before the session changes
//! again (R7.8).

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contextwire_engine::{Effect, Hook, Session, SessionId};
use lru::LruCache;
use tokio::time::Instant;

use crate::call::Call;
use crate::classify::never_arrived;
use crate::error::CallError;
use crate::layer::{Below, Outcome, Pending, Wrap, layer, take_ready};
use crate::request::EngineRequest;

/// Sessions of which a call is kept. One that is forgotten is not asked for; the next list that the
/// engine is shown tells it the same. The messages of a kept call are the host's own objects.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// Part of a later call's share that the question may take.
const PART_OF_SHARE: u32 = 2;

/// Calls whose outcome nobody knows; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Settle(Arc<Mutex<LruCache<SessionId, Call>>>);

impl Settle {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(SESSIONS))))
    }

    /// The kept call of a session, else that of the one that it succeeded.
    fn take(&self, session: &Session) -> Option<Call> {
        let mut kept = self.lock();
        let own = kept.pop(&session.id);
        own.or_else(|| kept.pop(session.previous_id.as_ref()?))
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<SessionId, Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

layer!(Settle);

impl Wrap for Settle {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        if !changes_the_session(&call) {
            return Box::pin(below.call(call));
        }
        let unknown = self.take(&call.session);
        let unknown = unknown.filter(|it| !is_the_same(it, &call));
        let note = Note::of(self, &call);
        let mut below = take_ready(below);
        Box::pin(async move {
            if let Some(unknown) = unknown {
                ask_once(&mut below, unknown, call.share() / PART_OF_SHARE).await?;
            }
            let outcome = below.call(call).await;
            if let Some(note) = note {
                note.ended(&outcome);
            }
            outcome
        })
    }
}

/// Whether an unknown outcome has to be known first: a foreground call with an effect.
fn changes_the_session(call: &Call) -> bool {
    call.hook().profile().effect != Effect::Read
        && !call.is_unordered
        && !call.request.is_background()
}

/// Whether the same call may be sent again later. Hooks with a substitute are fenced instead (R7.2),
/// a spawn that failed is resolved, and what is idempotent is repeated by whoever wants it.
fn is_asked_again(hook: Hook) -> bool {
    matches!(
        hook,
        Hook::Ingest | Hook::IngestBatch | Hook::CommitTurn | Hook::EndSubagent
    )
}

/// Whether the caller itself sends the kept call again.
fn is_the_same(kept: &Call, call: &Call) -> bool {
    match (&kept.request, &call.request) {
        (EngineRequest::CommitTurn(kept), EngineRequest::CommitTurn(now)) => {
            kept.advancement_key == now.advancement_key
        }
        (_, _) => kept.hook_id == call.hook_id,
    }
}

/// Sends a kept call once more, under its key and place in the order. Whatever comes of it, it is
/// not kept any longer.
async fn ask_once<S: Below>(
    below: &mut S,
    mut unknown: Call,
    within: Duration,
) -> Result<(), CallError> {
    let hook = unknown.hook();
    unknown.share_ends = Instant::now() + within;
    unknown.deadline = unknown.share_ends;
    let outcome = tokio::time::timeout(within, below.call(unknown)).await;
    let code = match &outcome {
        Ok(Ok(_)) => "OK",
        Ok(Err(error)) => error.code(),
        Err(_) => "DEADLINE_EXCEEDED",
    };
    tracing::debug!(%hook, code, "an outcome that nobody knew was asked for");
    std::future::poll_fn(|cx| below.poll_ready(cx)).await
}

/// Keeps a call unless its outcome is known when this is dropped.
struct Note {
    settle: Settle,
    call: Option<Call>,
}

impl Note {
    fn of(settle: &Settle, call: &Call) -> Option<Self> {
        is_asked_again(call.hook()).then(|| Self {
            settle: settle.clone(),
            call: Some(call.clone()),
        })
    }

    fn ended(mut self, outcome: &Outcome) {
        if outcome.as_ref().err().is_none_or(is_known) {
            self.call = None;
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.settle.lock().put(call.session.id.clone(), call);
        }
    }
}

/// Whether the error says what became of the call.
fn is_known(error: &CallError) -> bool {
    let nobody_answered = matches!(
        error,
        CallError::Unreachable { .. } | CallError::Silent { .. } | CallError::Abandoned
    );
    if nobody_answered {
        return never_arrived(error);
    }
    !error.is_deadline()
}

#[cfg(test)]
mod tests;
