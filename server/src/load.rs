//! What runs and what it holds, against what the server accepts (PROTOCOL 11).
//!
//! A count and nothing else: it neither waits nor sends. Everything that is taken is a guard and is
//! given back when that is dropped, however a call ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::SessionId;

use crate::options::ServerOptions;

/// What there is no room for, with the limit that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRoom {
    /// Another hook.
    #[error("{0} calls run already: use another replica, or wait")]
    Hook(u64),
    /// Another hook of this session.
    #[error("{0} calls of this session run already: wait for one of them")]
    SessionHook(u64),
    /// More bytes of requests, since others hold them.
    #[error("running calls hold {0} bytes already: use another replica, or wait")]
    Bytes(u64),
    /// A call this large, ever.
    #[error("a call of more than {0} bytes never fits: raise the server's limit")]
    Call(u64),
}

/// The hooks that run, and the bytes of requests that they hold.
#[derive(Debug)]
pub(crate) struct Load {
    max_hooks: u64,
    max_session_hooks: u64,
    max_bytes: u64,
    hooks: AtomicU64,
    bytes: AtomicU64,
    sessions: Mutex<HashMap<SessionId, u64>>,
    /// Whether something was refused since there was room for twice as much.
    shedding: AtomicBool,
}

impl Load {
    pub(crate) fn new(options: &ServerOptions) -> Arc<Self> {
        Arc::new(Self {
            max_hooks: options.max_hooks.into(),
            max_session_hooks: options.max_session_hooks.into(),
            max_bytes: options.max_bytes_in_flight,
            hooks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sessions: Mutex::default(),
            shedding: AtomicBool::new(false),
        })
    }

    /// Room for one hook, before anything of its request is read.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Slot, NoRoom> {
        // Made first: when there is no room, its drop gives back what this counts.
        let slot = Slot {
            load: Arc::clone(self),
            bytes: AtomicU64::new(0),
        };
        if self.hooks.fetch_add(1, Ordering::Relaxed) < self.max_hooks {
            return Ok(slot);
        }
        Err(self.refuse(NoRoom::Hook(self.max_hooks)))
    }

    /// Room for one hook of a session, once the request has named it.
    pub(crate) fn enter_session(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<SessionSlot, NoRoom> {
        let mut sessions = self.sessions();
        let running = sessions.entry(session.clone()).or_default();
        if *running >= self.max_session_hooks {
            // An entry stays only where something runs.
            if *running == 0 {
                sessions.remove(session);
            }
            return Err(self.refuse(NoRoom::SessionHook(self.max_session_hooks)));
        }
        *running += 1;
        Ok(SessionSlot {
            load: Arc::clone(self),
            session: session.clone(),
        })
    }

    /// One line when it begins, however many calls it meets.
    fn refuse(&self, why: NoRoom) -> NoRoom {
        if !self.shedding.swap(true, Ordering::Relaxed) {
            tracing::warn!(%why, "overloaded: calls are refused");
        }
        why
    }

    fn left(&self, bytes: u64) {
        let hooks = self.hooks.fetch_sub(1, Ordering::Relaxed) - 1;
        let held = self.bytes.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        let roomy = hooks <= self.max_hooks / 2 && held <= self.max_bytes / 2;
        if roomy && self.shedding.load(Ordering::Relaxed) {
            self.shedding.store(false, Ordering::Relaxed);
            tracing::info!("calls are taken again");
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, u64>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for one hook and what its request holds.
#[derive(Debug)]
pub(crate) struct Slot {
    load: Arc<Load>,
    bytes: AtomicU64,
}

impl Slot {
    /// Room for more bytes of the request; counted also when there is none, as they are here.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), NoRoom> {
        let bytes = bytes as u64;
        let own = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = self.load.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let max = self.load.max_bytes;
        if all <= max {
            return Ok(());
        }
        let why = if own > max {
            NoRoom::Call(max)
        } else {
            NoRoom::Bytes(max)
        };
        Err(self.load.refuse(why))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.load.left(*self.bytes.get_mut());
    }
}

/// Room for one hook of a session.
#[derive(Debug)]
pub(crate) struct SessionSlot {
    load: Arc<Load>,
    session: SessionId,
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut sessions = self.load.sessions();
        if let Some(running) = sessions.get_mut(&self.session) {
            *running -= 1;
            if *running == 0 {
                sessions.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn load(hooks: u32, session_hooks: u32, bytes: u64) -> Arc<Load> {
        Load::new(&ServerOptions {
            max_hooks: hooks,
            max_session_hooks: session_hooks,
            max_bytes_in_flight: bytes,
            ..ServerOptions::default()
        })
    }

    fn session(id: &str) -> SessionId {
        SessionId::new(id).unwrap()
    }

    #[test]
    fn a_hook_has_room_again_when_another_one_is_gone() {
        let load = load(2, 9, 9);
        let first = load.enter().unwrap();
        let _second = load.enter().unwrap();
        for _ in 0..3 {
            assert_eq!(load.enter().unwrap_err(), NoRoom::Hook(2));
        }
        drop(first);
        assert!(load.enter().is_ok());
    }

    #[test]
    fn one_session_cannot_take_the_room_of_others_and_leaves_nothing_behind() {
        let load = load(9, 1, 9);
        let first = load.enter_session(&session("a")).unwrap();
        let refused = load.enter_session(&session("a")).unwrap_err();
        assert_eq!(refused, NoRoom::SessionHook(1));
        let other = load.enter_session(&session("b")).unwrap();
        drop(first);
        drop(load.enter_session(&session("a")).unwrap());
        drop(other);
        assert!(load.sessions().is_empty());
    }

    #[test]
    fn a_call_that_alone_is_too_large_is_told_from_one_that_meets_others() {
        let load = load(9, 9, 100);
        let (first, second) = (load.enter().unwrap(), load.enter().unwrap());
        first.hold(60).unwrap();
        second.hold(40).unwrap();
        assert_eq!(second.hold(1), Err(NoRoom::Bytes(100)));
        assert_eq!(second.hold(100), Err(NoRoom::Call(100)));
        drop(second);
        first.hold(40).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_ends_gives_back_all_it_took(takes in prop::collection::vec((0..6_u8, 0..60_usize), 0..40)) {
            let load = load(4, 2, 100);
            let (mut slots, mut sessions) = (Vec::new(), Vec::new());
            for (id, bytes) in takes {
                slots.extend(load.enter());
                sessions.extend(load.enter_session(&session(&id.to_string())));
                if let Some(slot) = slots.last() {
                    let _full = slot.hold(bytes).is_err();
                }
                if slots.len() > 3 {
                    slots.swap_remove(usize::from(id) % 4);
                }
                prop_assert!(load.hooks.load(Ordering::Relaxed) <= 4);
            }
            drop((slots, sessions));
            prop_assert_eq!(load.hooks.load(Ordering::Relaxed), 0);
            prop_assert_eq!(load.bytes.load(Ordering::Relaxed), 0);
            prop_assert!(load.sessions().is_empty());
            prop_assert!(!load.shedding.load(Ordering::Relaxed));
        }
    }
}
