//! Mirrors: what the server remembers of its hosts' lists, so that only changes travel (R3.9).
//!
//! A cache and nothing else: whatever is missing here the host sends again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use contextwire_engine::{Session, SessionId, Transcript, TranscriptState};
use contextwire_proto::limits;
use contextwire_proto::sync::{self, List};
use lru::LruCache;

/// Which list of which session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MirrorKey {
    pub(crate) session: SessionId,
    pub(crate) list: List,
}

/// All mirrors of a server, bounded in bytes.
#[derive(Debug)]
pub(crate) struct Mirrors {
    max_bytes: u64,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    lists: LruCache<MirrorKey, Mirror>,
    bytes: u64,
}

/// The states of one list, newest first; none continues an older one here.
#[derive(Debug, Default)]
struct Mirror {
    states: VecDeque<Transcript>,
}

impl Mirror {
    /// Payload bytes. States of one list share their bodies, so the largest counts for all.
    fn bytes(&self) -> u64 {
        self.states
            .iter()
            .map(Transcript::payload_bytes)
            .max()
            .unwrap_or_default()
    }

    fn keep(&mut self, list: Transcript) {
        self.states.retain(|held| !list.starts_with(&held.state()));
        self.states.push_front(list);
        self.states.truncate(limits::MIRROR_STATES);
    }

    fn find(&self, state: &TranscriptState) -> Option<Transcript> {
        let count = usize::try_from(state.count).ok()?;
        self.states
            .iter()
            .find(|held| held.starts_with(state))
            .map(|held| held.prefix(count))
    }

    fn have(&self) -> Vec<TranscriptState> {
        sync::have(self.states.front(), self.states.iter().skip(1))
    }
}

impl Mirrors {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            held: Mutex::new(Held {
                lists: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    /// The held list in exactly this state.
    pub(crate) fn find(&self, key: &MirrorKey, state: &TranscriptState) -> Option<Transcript> {
        if *state == TranscriptState::EMPTY {
            return Some(Transcript::new());
        }
        self.lock()
            .lists
            .get(key)
            .and_then(|mirror| mirror.find(state))
    }

    /// Remembers a state as the newest one.
    pub(crate) fn keep(&self, key: &MirrorKey, list: Transcript) {
        if list.is_empty() {
            return;
        }
        let mut held = self.lock();
        let held = &mut *held;
        let mirror = held.lists.get_or_insert_mut(key.clone(), Mirror::default);
        let before = mirror.bytes();
        mirror.keep(list);
        held.bytes = held.bytes - before + mirror.bytes();
        while held.bytes > self.max_bytes {
            let Some((_, evicted)) = held.lists.pop_lru() else {
                break;
            };
            held.bytes -= evicted.bytes();
        }
    }

    /// Forgets every list of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut held = self.lock();
        let keys = held.lists.iter().map(|(key, _)| key);
        let keys: Vec<MirrorKey> = keys
            .filter(|key| key.session == *session)
            .cloned()
            .collect();
        for key in keys {
            if let Some(forgotten) = held.lists.pop(&key) {
                held.bytes -= forgotten.bytes();
            }
        }
    }

    /// A session goes on from the lists of the one that it succeeded.
    pub(crate) fn follow(&self, session: &Session) {
        let Some(previous) = &session.previous_id else {
            return;
        };
        let mut held = self.lock();
        for list in [List::Log, List::View] {
            let of = |session: &SessionId| MirrorKey {
                session: session.clone(),
                list,
            };
            if !held.lists.contains(&of(&session.id))
                && let Some(mirror) = held.lists.pop(&of(previous))
            {
                held.lists.put(of(&session.id), mirror);
            }
        }
    }

    /// The states to offer a host whose base is not here.
    pub(crate) fn have(&self, key: &MirrorKey) -> Vec<TranscriptState> {
        self.lock()
            .lists
            .get(key)
            .map(Mirror::have)
            .unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;

    fn key(session: &str) -> MirrorKey {
        MirrorKey {
            session: SessionId::new(session).unwrap(),
            list: List::View,
        }
    }

    fn list(texts: &[&str]) -> Transcript {
        texts
            .iter()
            .map(|text| Message::from_payload(format!(r#"{{"content":"{text}"}}"#)))
            .collect()
    }

    #[test]
    fn what_is_forgotten_of_one_session_stays_of_others() {
        let mirrors = Mirrors::new(1 << 20);
        let whole = list(&["a", "b"]);
        mirrors.keep(&key("s"), whole.clone());
        mirrors.keep(&key("other"), whole.clone());
        mirrors.forget(&key("s").session);
        assert_eq!(mirrors.find(&key("s"), &whole.state()), None);
        assert_eq!(
            mirrors.find(&key("other"), &whole.state()),
            Some(whole.clone())
        );
        assert_eq!(mirrors.lock().bytes, whole.payload_bytes());
    }

    #[test]
    fn any_prefix_of_a_held_list_is_found() {
        let mirrors = Mirrors::new(1 << 20);
        let whole = list(&["a", "b", "c"]);
        mirrors.keep(&key("s"), whole.clone());
        let short = whole.prefix(2);
        assert_eq!(mirrors.find(&key("s"), &short.state()), Some(short.clone()));
        assert_eq!(mirrors.find(&key("other"), &short.state()), None);
        assert_eq!(
            mirrors.find(&key("other"), &TranscriptState::EMPTY),
            Some(Transcript::new())
        );
    }

    #[test]
    fn a_longer_state_replaces_the_one_it_continues_and_branches_stay() {
        let mirrors = Mirrors::new(1 << 20);
        for texts in [&["a"][..], &["a", "b"], &["x"], &["a", "c"]] {
            mirrors.keep(&key("s"), list(texts));
        }
        let have = mirrors.have(&key("s"));
        let heads: Vec<_> = [&["a", "c"][..], &["a"], &["x"], &["a", "b"]]
            .iter()
            .map(|texts| list(texts).state())
            .collect();
        assert_eq!(have, heads);
    }

    #[test]
    fn a_successor_has_its_predecessors_lists() {
        let mirrors = Mirrors::new(1 << 20);
        mirrors.keep(&key("old"), list(&["a"]));
        let new = SessionId::new("new").unwrap();
        let session = Session {
            previous_id: Some(key("old").session),
            ..Session::new(new)
        };
        mirrors.follow(&session);
        let state = list(&["a"]).state();
        assert!(mirrors.find(&key("new"), &state).is_some());
        assert!(mirrors.find(&key("old"), &state).is_none());
        let bytes = mirrors.lock().bytes;
        mirrors.follow(&session);
        assert_eq!(bytes, list(&["a"]).payload_bytes());
        assert!(mirrors.find(&key("new"), &state).is_some());
    }

    #[test]
    fn the_least_recently_used_list_goes_first() {
        let size = list(&["a"]).payload_bytes();
        let mirrors = Mirrors::new(2 * size);
        mirrors.keep(&key("1"), list(&["a"]));
        mirrors.keep(&key("2"), list(&["b"]));
        assert!(mirrors.find(&key("1"), &list(&["a"]).state()).is_some());
        mirrors.keep(&key("3"), list(&["c"]));
        assert!(mirrors.find(&key("2"), &list(&["b"]).state()).is_none());
        assert!(mirrors.find(&key("1"), &list(&["a"]).state()).is_some());
    }
}
