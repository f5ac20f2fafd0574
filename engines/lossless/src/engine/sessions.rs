//! Sessions in memory: a cache, bounded in bytes, lost without harm.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::SessionId;
use lru::LruCache;

use super::held::Held;

/// What all sessions together may take, in bytes.
const MAX_BYTES: usize = 96 * 1024 * 1024;
/// What one may take in bodies until it lets them go.
const MAX_SESSION_BYTES: usize = 48 * 1024 * 1024;

/// One session, used by one call at a time.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Held>>;

/// The sessions that are held.
pub(crate) struct Sessions(Mutex<LruCache<SessionId, (Slot, usize)>>);

impl Default for Sessions {
    fn default() -> Self {
        Self(Mutex::new(LruCache::unbounded()))
    }
}

impl Sessions {
    /// The session's slot, empty at first.
    pub(crate) fn slot(&self, name: &SessionId) -> Slot {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (slot, _) = sessions.get_or_insert(name.clone(), || (Slot::default(), 0));
        Arc::clone(slot)
    }

    /// Lets a session go.
    pub(crate) fn forget(&self, name: &SessionId) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.pop(name);
    }

    /// Says what a session takes now; others may have to go.
    pub(crate) fn weigh(&self, name: &SessionId, held: &mut Held) {
        if held.bytes() > MAX_SESSION_BYTES {
            held.log.empty();
        }
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = sessions.get_mut(name) {
            *bytes = held.bytes();
        }
        let mut total: usize = sessions.iter().map(|(_, (_, bytes))| bytes).sum();
        while total > MAX_BYTES && sessions.len() > 1 {
            let Some((_, (_, bytes))) = sessions.pop_lru() else {
                return;
            };
            total -= bytes;
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}
