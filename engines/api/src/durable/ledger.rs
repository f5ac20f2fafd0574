//! What an engine's own store must offer, inside one transaction of its own.

use std::time::Duration;

use super::fingerprint::Fingerprint;
use super::order::Pair;
use super::preparation::Preparation;
use crate::error::EngineError;
use crate::hook::Hook;
use crate::ids::{HookId, SessionId};

/// A moment of the engine's wall clock, in milliseconds since the Unix epoch.
///
/// Nothing in this module reads a clock: the author passes the moment in, and a test its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// The moment after a duration; the last one that there is where it would be later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// The time from `earlier` to this moment; zero where it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Names one mutating intent (R7.10); the tenant is the ledger's own business.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName {
    /// The session.
    pub session: SessionId,
    /// The hook.
    pub hook: Hook,
    /// The hook's id, or the advancement key of a turn.
    pub key: String,
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The content that the key stands for.
    pub fingerprint: Fingerprint,
    /// How far it is.
    pub state: KeyState,
}

/// How far the work under a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Somebody works on it.
    Running {
        /// Who: the text of a [`super::Lease`].
        holder: String,
        /// Until when this counts without a sign of life.
        until: UnixMillis,
    },
    /// Its effect happened; this is the recorded answer.
    Done(Vec<u8>),
}

/// The records that make calls safe to repeat, of one tenant, inside one transaction.
///
/// The author implements it for a transaction of the engine's own store and commits when the
/// function it was passed to answers `Ok`, and rolls back when it answers `Err`: then the records
/// and the effect are there together or not at all. Two transactions on one session must not
/// overlap (an exclusive transaction, or serialisable isolation with a retry).
///
/// Errors are the store's own: [`crate::ErrorKind::Transient`] where it is locked, full or away.
pub trait Ledger {
    /// The record of a key.
    ///
    /// # Errors
    /// The store's.
    fn key(&self, name: &KeyName) -> Result<Option<KeyRecord>, EngineError>;

    /// Writes the record of a key, over an older one.
    ///
    /// # Errors
    /// The store's.
    fn put_key(&mut self, name: &KeyName, record: &KeyRecord) -> Result<(), EngineError>;

    /// Forgets a key.
    ///
    /// # Errors
    /// The store's.
    fn remove_key(&mut self, name: &KeyName) -> Result<(), EngineError>;

    /// The highest pair that had an effect in the session.
    ///
    /// # Errors
    /// The store's.
    fn highest_pair(&self, session: &SessionId) -> Result<Option<Pair>, EngineError>;

    /// Writes the highest pair of the session, over a lower one.
    ///
    /// # Errors
    /// The store's.
    fn put_highest_pair(&mut self, session: &SessionId, pair: Pair) -> Result<(), EngineError>;

    /// Whether the hook has a tombstone.
    ///
    /// # Errors
    /// The store's.
    fn is_closed(&self, hook: HookId) -> Result<bool, EngineError>;

    /// Gives the hook a tombstone; a second one changes nothing. Kept as long as keys are.
    ///
    /// # Errors
    /// The store's.
    fn close(&mut self, hook: HookId) -> Result<(), EngineError>;

    /// The preparation of a spawn.
    ///
    /// # Errors
    /// The store's.
    fn preparation(&self, spawn_id: &str) -> Result<Option<Preparation>, EngineError>;

    /// Writes the preparation, over an older one with its spawn id.
    ///
    /// # Errors
    /// The store's.
    fn put_preparation(&mut self, preparation: &Preparation) -> Result<(), EngineError>;

    /// Forgets the preparation.
    ///
    /// # Errors
    /// The store's.
    fn remove_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError>;

    /// The newest open preparation for this child: by `prepared_at`, then the one written last.
    ///
    /// # Errors
    /// The store's.
    fn open_preparation(&self, child_session_key: &str)
    -> Result<Option<Preparation>, EngineError>;

    /// Every open preparation and every tombstone whose time is over, `expires_at <= now`.
    ///
    /// # Errors
    /// The store's.
    fn due_preparations(&self, now: UnixMillis) -> Result<Vec<Preparation>, EngineError>;

    /// Undoes what the engine itself did for the spawn; called when it is rolled back. An engine
    /// that prepares nothing beyond its answer keeps the default.
    ///
    /// # Errors
    /// The store's.
    #[expect(unused_variables, reason = "the default has nothing to undo")]
    fn undo_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        Ok(())
    }
}
