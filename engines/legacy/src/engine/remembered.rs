//! What the engine remembers of a session's compactions, in memory and bounded.
//!
//! A log has no summaries in it. Without this memory each compaction would summarise a session from
//! its first message, and a repeated call would pay for its summary twice; with it lost, as after a
//! restart or on another replica, that is all that happens.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{Compacted, HookId, Session, SessionId, Transcript, TranscriptState};
use lru::LruCache;

use crate::compaction::CompactedLog;
use crate::conversation::Earlier;

/// Sessions that are remembered; a summary has at most 16 000 characters.
const SESSIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

/// The last compaction of each session, least recently used out first.
#[derive(Debug)]
pub(super) struct Remembered {
    last: Mutex<LruCache<SessionId, Last>>,
    running: Mutex<HashSet<SessionId>>,
}

#[derive(Clone, Debug)]
struct Last {
    hook_id: HookId,
    answer: Compacted,
    /// The messages that the summary stands for.
    state: TranscriptState,
    earlier: Earlier,
}

impl Default for Remembered {
    fn default() -> Self {
        Self {
            last: Mutex::new(LruCache::new(SESSIONS)),
            running: Mutex::default(),
        }
    }
}

/// The right to compact a session; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    remembered: Arc<Remembered>,
    session: SessionId,
}

impl Remembered {
    /// The right to compact this session; none while another call has it (E-HKS-19).
    pub(super) fn begin(self: &Arc<Self>, session: &SessionId) -> Option<Turn> {
        locked(&self.running).insert(session.clone()).then(|| Turn {
            remembered: Arc::clone(self),
            session: session.clone(),
        })
    }

    /// The answer of this very call, where it was given before (BR-156).
    pub(super) fn answered(&self, session: &SessionId, hook_id: HookId) -> Option<Compacted> {
        let mut last = locked(&self.last);
        let last = last.get(session).filter(|last| last.hook_id == hook_id)?;
        Some(last.answer.clone())
    }

    /// The summary of the beginning of this log, where the log still begins so and tells nothing
    /// newer itself.
    pub(super) fn earlier(&self, session: &Session, log: &Transcript) -> Option<Earlier> {
        let found = {
            let mut last = locked(&self.last);
            [Some(&session.id), session.previous_id.as_ref()]
                .into_iter()
                .flatten()
                .find_map(|id| last.get(id).cloned())
        };
        let last = found.filter(|last| log.starts_with(&last.state))?;
        let tells_itself = log
            .iter()
            .any(|message| message.role() == "compactionSummary");
        (!tells_itself).then_some(last.earlier)
    }
}

impl Turn {
    /// Keeps what came of it.
    pub(super) fn remember(
        &self,
        hook_id: HookId,
        log: &Transcript,
        done: &CompactedLog,
        answer: &Compacted,
    ) {
        let Some(state) = log.state_at(done.first_kept) else {
            return;
        };
        let earlier = Earlier {
            summary: done.summary.clone(),
            covered: done.first_kept,
            details: Some(done.details.clone()),
        };
        let last = Last {
            hook_id,
            answer: answer.clone(),
            state,
            earlier,
        };
        locked(&self.remembered.last).put(self.session.clone(), last);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        locked(&self.remembered.running).remove(&self.session);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
