//! The messages of a closed turn, read from the host's transcript when they are delivered.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{EntryAnchor, Session, SessionId, TurnAdmission};

use crate::store::{AnyStore, RangeLimits, TranscriptStore, TurnRange, UnreadableTurn};

/// The range, in time.
pub type ReadingTurn<'a> = Pin<Box<dyn Future<Output = TurnRange> + Send + 'a>>;

/// Where accepted turns are read from: the host's transcripts.
pub trait TurnSource: Send + Sync {
    /// Reads the closed range between two entries of a session.
    fn read<'a>(
        &'a self,
        session: &'a Session,
        admission: &'a TurnAdmission,
        terminal: &'a EntryAnchor,
    ) -> ReadingTurn<'a>;
}

/// The transcript stores of sessions as a source of turns. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct StoredTurns {
    stores: Arc<Mutex<HashMap<SessionId, AnyStore>>>,
    limits: RangeLimits,
}

impl StoredTurns {
    /// No session yet, and the limits of the contract.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RangeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Turns of this session are read from this store.
    pub fn add(&self, session: SessionId, store: AnyStore) {
        self.lock().insert(session, store);
    }

    /// Nothing of this session can be read any more, until it is added again.
    pub fn remove(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, AnyStore>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnSource for StoredTurns {
    fn read<'a>(
        &'a self,
        session: &'a Session,
        admission: &'a TurnAdmission,
        terminal: &'a EntryAnchor,
    ) -> ReadingTurn<'a> {
        Box::pin(async move {
            if is_rebound(session, &admission.anchor, terminal) {
                return TurnRange::Never(UnreadableTurn::SessionRebound);
            }
            let store = self.lock().get(&session.id).cloned();
            let Some(store) = store else {
                let why = "the session's transcript is not open".to_owned();
                return TurnRange::Unavailable(why);
            };
            let (first, last) = (admission.anchor.clone(), terminal.clone());
            match store.turn(first, last, self.limits).await {
                Ok(range) => range,
                Err(error) => TurnRange::Unavailable(error.to_string()),
            }
        })
    }
}

/// Whether the anchors belong to another session than the row. Blank names say nothing.
fn is_rebound(session: &Session, first: &EntryAnchor, last: &EntryAnchor) -> bool {
    let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
    differ(&first.session_id, &last.session_id)
        || differ(&first.session_key, &last.session_key)
        || differ(&first.session_id, session.id.as_str())
}
