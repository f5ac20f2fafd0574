//! Layer: the order of a host's calls, so that a delayed packet always loses and a live host always
//! gets on (R7.9).

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{Effect, FallbackClass, Hook, Order, SessionId};
use lru::LruCache;

use crate::call::Call;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, layer, take_ready};
use crate::wall_clock::now_ms;

/// Sessions whose number is remembered. One that is forgotten starts anew, is told where its
/// session stands, and gets on.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(16_384).unwrap();

/// Epochs of one process are strictly increasing, as those of one host over its restarts are.
static LAST_EPOCH: AtomicU64 = AtomicU64::new(0);

/// Where a host is in its own order.
#[derive(Debug)]
pub(crate) struct HostOrder {
    place: Mutex<Place>,
}

#[derive(Debug)]
struct Place {
    epoch: u64,
    sessions: LruCache<SessionId, u64>,
}

impl HostOrder {
    /// The order of a host that starts now; `last_epoch` is the highest that it ever used, where it
    /// knows.
    pub(crate) fn starting_after(last_epoch: Option<u64>) -> Self {
        let least = now_ms().max(last_epoch.map_or(0, |last| last.saturating_add(1)));
        let next = |last: u64| Some(least.max(last.saturating_add(1)));
        let last = LAST_EPOCH.fetch_update(Atomic::Relaxed, Atomic::Relaxed, next);
        let last = last.unwrap_or_else(|last| last);
        Self {
            place: Mutex::new(Place {
                epoch: least.max(last.saturating_add(1)),
                sessions: LruCache::new(SESSIONS),
            }),
        }
    }

    /// The epoch that this host uses; a durable host stores the highest.
    pub(crate) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// The pair of this call, which raises it where the call is in order.
    fn next(&self, call: &Call) -> Order {
        let mut place = self.lock();
        let host_epoch = place.epoch;
        let session = call.session.id.clone();
        let seq = place.sessions.get_or_insert_mut(session, || 0);
        let session_seq = match rank(call) {
            Rank::Raises => {
                *seq = seq.saturating_add(1);
                Some(*seq)
            }
            Rank::Carries => Some(*seq),
            Rank::Unordered => None,
        };
        Order {
            host_epoch,
            session_seq,
        }
    }

    /// The pair of a call whose session is at `recorded` already.
    fn above(&self, recorded: Order, call: &Call) -> Order {
        {
            let mut place = self.lock();
            if recorded.host_epoch > place.epoch {
                place.epoch = recorded.host_epoch.saturating_add(1);
            } else if recorded.host_epoch == place.epoch {
                let session = call.session.id.clone();
                let seq = place.sessions.get_or_insert_mut(session, || 0);
                *seq = (*seq).max(recorded.session_seq.unwrap_or_default());
            }
        }
        self.next(call)
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call's place in the order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// The next number of its session.
    Raises,
    /// A read: the number that the session is at.
    Carries,
    /// Runs beside the conversation, or is delivered until it is acknowledged.
    Unordered,
}

fn rank(call: &Call) -> Rank {
    let profile = call.hook().profile();
    let delivered = profile.fallback == FallbackClass::Outbox || call.hook() == Hook::Dispose;
    if delivered || call.is_unordered || call.request.is_background() {
        Rank::Unordered
    } else if profile.effect == Effect::Read {
        Rank::Carries
    } else {
        Rank::Raises
    }
}

/// Gives each call its pair; one that lost to another host of the session is sent once more above
/// that host's pair, under the same key.
#[derive(Clone, Debug)]
pub(crate) struct OrderLayer(pub(crate) Arc<HostOrder>);

layer!(OrderLayer);

impl Wrap for OrderLayer {
    fn call<S: Below>(&self, below: &mut S, mut call: Call) -> Pending {
        let mut below = take_ready(below);
        let order = Arc::clone(&self.0);
        let given = call.order.is_some();
        call.order = call.order.or_else(|| Some(order.next(&call)));
        let again = (!given && rank(&call) == Rank::Raises).then(|| call.clone());
        Box::pin(async move {
            let outcome = below.call(call).await;
            let (Err(CallError::Overtaken { recorded }), Some(mut call)) = (&outcome, again) else {
                return outcome;
            };
            call.order = Some(order.above(*recorded, &call));
            call.attempt = call.attempt.saturating_add(1);
            std::future::poll_fn(|cx| below.poll_ready(cx)).await?;
            below.call(call).await
        })
    }
}

#[cfg(test)]
mod tests;
