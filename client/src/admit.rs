//! Layer: no more calls and bytes at once than an engine is meant to take; the rest is refused in
//! time instead of waiting for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contextwire_engine::{SessionId, Site, Transcript};
use contextwire_proto::sync::{List, encoded_len};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::call::Call;
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, at_once, layer, take_ready};
use crate::options::CallLimits;
use crate::request::EngineRequest;
use crate::sync::Book;

/// A unit of the bytes that are counted: a semaphore holds 32 bits of permits.
const UNIT_BYTES: u64 = 1024;
/// How long a call waits for its turn at most; what is left of its share is for the engine.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// What runs against what may run; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Admit(Arc<Room>);

#[derive(Debug)]
struct Room {
    limits: CallLimits,
    /// Says what the engine bears; absent where nobody goes by it.
    known: Option<Arc<Acquaintance>>,
    calls: Arc<Semaphore>,
    /// Permits of `calls`, taken or free: the smaller limit of both sides.
    granted: Mutex<usize>,
    bytes: Arc<Semaphore>,
    byte_units: u32,
    waiting: AtomicUsize,
    /// Says what of a list is new to the engine.
    endpoints: Vec<Arc<Book>>,
}

/// What runs now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) calls: usize,
    pub(crate) bytes: u64,
    pub(crate) waiting: usize,
}

impl Admit {
    pub(crate) fn new(
        limits: CallLimits,
        endpoints: Vec<Arc<Book>>,
        known: Option<Arc<Acquaintance>>,
    ) -> Self {
        let byte_units = units(limits.bytes);
        Self(Arc::new(Room {
            limits,
            known,
            granted: Mutex::new(limits.calls),
            calls: Arc::new(Semaphore::new(limits.calls)),
            bytes: Arc::new(Semaphore::new(byte_units as usize)),
            byte_units,
            waiting: AtomicUsize::new(0),
            endpoints,
        }))
    }

    pub(crate) fn load(&self) -> Load {
        let room = &self.0;
        let free = room.bytes.available_permits() as u64;
        let granted = *room.granted();
        Load {
            calls: granted.saturating_sub(room.calls.available_permits()),
            bytes: u64::from(room.byte_units).saturating_sub(free) * UNIT_BYTES,
            waiting: room.waiting.load(Ordering::Relaxed),
        }
    }
}

layer!(Admit);

impl Wrap for Admit {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let room = Arc::clone(&self.0);
        room.heed_the_engine();
        // A call that is larger than all that may be under way goes alone.
        let weight = units(room.weight(&call)).min(room.byte_units);
        if let Some(permit) = room.at_once(weight) {
            let answer = below.call(call);
            return Box::pin(async move {
                let outcome = answer.await;
                drop(permit);
                outcome
            });
        }
        let Some(place) = Place::take(&room) else {
            return at_once(Err(room.full()));
        };
        let mut below = take_ready(below);
        Box::pin(async move {
            let longest = LONGEST_WAIT.min(call.share() / 2);
            let admitted = timeout(longest, room.turn(weight)).await;
            drop(place);
            let Ok(_permit) = admitted else {
                return Err(room.full());
            };
            below.call(call).await
        })
    }
}

/// The right to be under way; given back on drop, however the call ends.
type Permit = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Room {
    /// Both sides advertise limits, the smaller holds (PROTOCOL 8).
    fn heed_the_engine(&self) {
        let Some(engine) = self.known.as_ref().and_then(|known| known.last()) else {
            return;
        };
        let theirs = [
            engine.limits.max_concurrent_hooks,
            engine.limits.max_streams,
        ];
        let theirs = theirs
            .into_iter()
            .flatten()
            .filter(|calls| *calls > 0)
            .min();
        let theirs = theirs.and_then(|calls| usize::try_from(calls).ok());
        // Each endpoint bears so much.
        let theirs = theirs.map(|calls| calls.saturating_mul(self.endpoints.len().max(1)));
        let wanted = theirs.unwrap_or(usize::MAX).min(self.limits.calls);
        let mut granted = self.granted();
        if wanted > *granted {
            self.calls.add_permits(wanted - *granted);
            *granted = wanted;
        } else if wanted < *granted {
            // Those that are taken are forgotten by a later call.
            *granted -= self.calls.forget_permits(*granted - wanted);
        }
    }

    fn granted(&self) -> MutexGuard<'_, usize> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_once(&self, weight: u32) -> Option<Permit> {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let call = Arc::clone(&self.calls).try_acquire_owned().ok()?;
        let bytes = Arc::clone(&self.bytes)
            .try_acquire_many_owned(weight)
            .ok()?;
        Some((call, bytes))
    }

    async fn turn(&self, weight: u32) -> Option<Permit> {
        let call = Arc::clone(&self.calls).acquire_owned().await.ok()?;
        let bytes = Arc::clone(&self.bytes);
        let bytes = bytes.acquire_many_owned(weight).await.ok()?;
        Some((call, bytes))
    }

    fn full(&self) -> CallError {
        CallError::Busy {
            calls: *self.granted(),
            bytes: self.limits.bytes,
        }
    }

    /// The bytes that a call brings: of a list, what the engine is not known to have.
    fn weight(&self, call: &Call) -> u64 {
        let session = &call.session.id;
        match &call.request {
            EngineRequest::Assemble(it) => {
                self.new_bytes(session, (List::View, it.site), &it.transcript)
            }
            EngineRequest::Bootstrap(it) => self.new_log_bytes(session, &it.transcript),
            EngineRequest::AfterTurn(it) => self.new_log_bytes(session, &it.transcript),
            EngineRequest::Ingest(it) => encoded_len(&it.message) as u64,
            EngineRequest::IngestBatch(it) => sum(it.messages.iter().map(encoded_len)),
            EngineRequest::CommitTurn(it) => sum(it.messages.iter().map(encoded_len)),
            EngineRequest::Compact(_)
            | EngineRequest::Maintain(_)
            | EngineRequest::PrepareSubagentSpawn(_)
            | EngineRequest::ResolveSubagentSpawn(_)
            | EngineRequest::EndSubagent(_)
            | EngineRequest::Dispose(_) => 0,
        }
    }

    fn new_log_bytes(&self, session: &SessionId, log: &Transcript) -> u64 {
        self.new_bytes(session, (List::Log, Site::default()), log)
    }

    fn new_bytes(&self, session: &SessionId, of: (List, Site), list: &Transcript) -> u64 {
        // A session is with one of them; which one knows it best is not known before it is chosen.
        let known = self.endpoints.iter().map(|it| it.known_bytes(session, of));
        let known = known.max().unwrap_or_default();
        list.payload_bytes().saturating_sub(known)
    }
}

fn sum(lens: impl Iterator<Item = usize>) -> u64 {
    lens.map(|len| len as u64).sum()
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX >> 4)
}

/// A place in the line; left on drop.
struct Place(Arc<Room>);

impl Place {
    fn take(room: &Arc<Room>) -> Option<Self> {
        let place = Self(Arc::clone(room));
        let before = room.waiting.fetch_add(1, Ordering::Relaxed);
        (before < room.limits.waiting).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
