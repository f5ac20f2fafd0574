//! Layer: a hook that the host goes on without has no effect any more (R7.2).

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{Hook, HookId, Session, SessionId};
use contextwire_proto::limits;
use lru::LruCache;
use tokio::time::timeout_at;

use crate::call::{Call, ServedBy};
use crate::error::{CallError, FailureClass};
use crate::host_call::HostCallBook;
use crate::layer::{Below, Pending, Wrap, layer};

/// Sessions whose abandoned hooks are remembered.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Abandons a hook whose outcome nobody knows before its substitute acts, and tells the engine with
/// every later call of the session until one of them ended well.
#[derive(Clone, Debug)]
pub(crate) struct FenceLayer {
    host_calls: Arc<HostCallBook>,
    abandoned: Arc<Abandoned>,
}

impl FenceLayer {
    pub(crate) fn new(host_calls: Arc<HostCallBook>) -> Self {
        Self {
            host_calls,
            abandoned: Arc::new(Abandoned(Mutex::new(LruCache::new(SESSIONS)))),
        }
    }
}

layer!(FenceLayer);

impl Wrap for FenceLayer {
    fn call<S: Below>(&self, below: &mut S, mut call: Call) -> Pending {
        let FenceLayer {
            host_calls,
            abandoned,
        } = self.clone();
        abandoned.follow(&call.session);
        call.abandoned_hooks = abandoned.of(&call.session.id);
        let carried = call.abandoned_hooks.clone();
        let (session, hook, hook_id) = (call.session.id.clone(), call.hook(), call.hook_id);
        let deadline = call.deadline;
        let answer = below.call(call);
        Box::pin(async move {
            let outcome = answer.await;
            match &outcome {
                Ok(served) if matches!(served.by, ServedBy::Engine(_)) => {
                    abandoned.acknowledged(&session, &carried);
                    for late in &served.said.late {
                        tracing::warn!(hook_id = %late.hook_id, method = late.method,
                            "a hook that the host went on without had its effect");
                    }
                }
                Err(error) if may_have_acted(hook, error) => {
                    abandoned.add(session, hook_id);
                    // A store that hangs must not take the fallback's time as well.
                    let _inside = timeout_at(deadline, host_calls.abandon(hook_id))
                        .await
                        .is_err();
                }
                Ok(_) | Err(_) => {}
            }
            outcome
        })
    }
}

/// Whether a substitute acts for this hook while the engine may still do so.
fn may_have_acted(hook: Hook, error: &CallError) -> bool {
    let was_sent = !matches!(
        error,
        CallError::Quarantined { .. } | CallError::BreakerOpen { .. } | CallError::Busy { .. }
    );
    matches!(hook, Hook::Compact | Hook::Maintain | Hook::AfterTurn)
        && was_sent
        && error.class() != FailureClass::Caller
}

/// Hooks that engines have not been told of yet, newest last.
#[derive(Debug)]
struct Abandoned(Mutex<LruCache<SessionId, Vec<HookId>>>);

impl Abandoned {
    fn of(&self, session: &SessionId) -> Vec<HookId> {
        self.lock().get(session).cloned().unwrap_or_default()
    }

    /// A session goes on with the abandoned hooks of the one that it succeeded.
    fn follow(&self, session: &Session) {
        let Some(previous) = &session.previous_id else {
            return;
        };
        let hooks = self.lock().pop(previous).unwrap_or_default();
        for hook_id in hooks {
            self.add(session.id.clone(), hook_id);
        }
    }

    fn add(&self, session: SessionId, hook_id: HookId) {
        let mut sessions = self.lock();
        let hooks = sessions.get_or_insert_mut(session, Vec::new);
        if hooks.len() == limits::ABANDONED_HOOKS {
            hooks.remove(0);
        }
        hooks.push(hook_id);
    }

    fn acknowledged(&self, session: &SessionId, carried: &[HookId]) {
        if carried.is_empty() {
            return;
        }
        let mut sessions = self.lock();
        if let Some(hooks) = sessions.get_mut(session) {
            hooks.retain(|hook| !carried.contains(hook));
            if hooks.is_empty() {
                sessions.pop(session);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<SessionId, Vec<HookId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{Assemble, Compact, Ingest, Message, Reply};
    use tower::{Layer, Service, ServiceExt};

    use super::*;
    use crate::call::{Answer, Served, Traffic};
    use crate::request::{EngineReply, EngineRequest};

    type Seen = Arc<Mutex<Vec<Call>>>;

    /// An engine that answers what is a read, and nothing else.
    fn only_reads(
        seen: &Seen,
    ) -> impl Service<Call, Response = Answer, Error = CallError, Future: Send + 'static> + Clone + use<>
    {
        let seen = Arc::clone(seen);
        tower::service_fn(move |call: Call| {
            let hook = call.hook();
            seen.lock().unwrap().push(call);
            std::future::ready(if hook == Hook::Assemble {
                Ok(Served {
                    result: EngineReply::TurnNoted(()),
                    by: ServedBy::Engine("e".to_owned()),
                    reason: None,
                    said: Reply::default(),
                    traffic: Traffic::default(),
                })
            } else {
                let share = Duration::from_secs(1);
                Err(CallError::DeadlineExceeded { share })
            })
        })
    }

    fn call(request: impl Into<EngineRequest>) -> Call {
        let session = Session::new(SessionId::new("s").unwrap());
        Call::new(session, request.into(), Duration::from_secs(5))
    }

    #[tokio::test]
    async fn r7_2_an_abandoned_hook_is_told_until_a_call_that_carried_it_ended_well() {
        let (seen, host_calls) = (Seen::default(), Arc::new(HostCallBook::new()));
        let fence = FenceLayer::new(Arc::clone(&host_calls));
        let send = |request: EngineRequest| {
            let service = fence.layer(only_reads(&seen));
            async move { service.oneshot(call(request)).await.is_ok() }
        };
        let ingest = Ingest {
            message: Message::from_payload("{}"),
            is_heartbeat: false,
        };
        assert!(!send(Compact::default().into()).await);
        assert!(!send(ingest.into()).await);
        assert!(send(Assemble::default().into()).await);
        assert!(send(Assemble::default().into()).await);
        let seen = seen.lock().unwrap();
        let abandoned = [seen[0].hook_id];
        let told: Vec<&[HookId]> = seen.iter().map(|call| &*call.abandoned_hooks).collect();
        assert_eq!(told, [&[][..], &abandoned, &abandoned, &[]]);
    }

    #[test]
    fn r7_2_only_hooks_with_a_substitute_that_may_have_acted_are_fenced() {
        let lost = CallError::Abandoned;
        let late = CallError::DeadlineExceeded {
            share: Duration::ZERO,
        };
        assert!(may_have_acted(Hook::Maintain, &late));
        assert!(!may_have_acted(Hook::Maintain, &lost));
        assert!(!may_have_acted(Hook::Ingest, &late));
    }

    #[test]
    fn r7_2_a_successor_tells_of_what_its_predecessor_abandoned() {
        let abandoned = Abandoned(Mutex::new(LruCache::new(SESSIONS)));
        let (old, hook) = (SessionId::new("old").unwrap(), HookId::mint());
        abandoned.add(old.clone(), hook);
        let session = Session {
            previous_id: Some(old.clone()),
            ..Session::new(SessionId::new("new").unwrap())
        };
        abandoned.follow(&session);
        assert_eq!(abandoned.of(&session.id), [hook]);
        assert_eq!(abandoned.of(&old), []);
        abandoned.acknowledged(&session.id, &[hook]);
        abandoned.follow(&session);
        assert_eq!(abandoned.of(&session.id), [], "it is told once");
    }

    #[test]
    fn no_call_carries_more_than_the_contract_allows() {
        let abandoned = Abandoned(Mutex::new(LruCache::new(SESSIONS)));
        let session = SessionId::new("s").unwrap();
        let hooks: Vec<HookId> = (0..40).map(|_| HookId::mint()).collect();
        for hook in &hooks {
            abandoned.add(session.clone(), *hook);
        }
        assert_eq!(abandoned.of(&session), hooks[8..]);
    }
}
