//! How an outbox behaves, and whom it tells.

use std::fmt;
use std::sync::Arc;

use contextwire_engine::{Session, TurnCommitted};

use super::row::Row;
use super::source::TurnSource;
use crate::wall_clock;

/// How an outbox behaves.
#[derive(Clone, Debug, Default)]
pub struct OutboxOptions {
    /// Bytes of the file beyond which rows are refused ([`OutboxError::Full`](super::OutboxError::Full));
    /// deliveries, which make room, may still take a little more. Absent: as large as the disk.
    pub max_bytes: Option<u64>,
    /// Where turns that were accepted without their messages are read from.
    pub source: Option<Source>,
    /// Who is told of what becomes of rows.
    pub observer: Option<OutboxObserver>,
    /// What time it is. Default: the system's clock.
    pub clock: WallClock,
}

/// A source of turns, as options hold it.
#[derive(Clone)]
pub struct Source(pub(super) Arc<dyn TurnSource>);

impl<S: TurnSource + 'static> From<S> for Source {
    fn from(source: S) -> Self {
        Self(Arc::new(source))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

/// Milliseconds since the Unix epoch, by whichever clock.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl WallClock {
    /// A clock of one's own.
    pub fn new(now_ms: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    pub(super) fn now_ms(&self) -> u64 {
        (self.0)()
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(wall_clock::now_ms)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WallClock").finish_non_exhaustive()
    }
}

/// What became of a row. The file has it already, whatever comes of telling it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OutboxEvent {
    /// The engine has a turn. A [`Host`](crate::Host) offers the maintenance that is due by itself.
    TurnStored {
        /// The row as it was.
        row: Row,
        /// The session.
        session: Box<Session>,
        /// Now, or under an earlier try.
        committed: TurnCommitted,
    },
    /// The engine was told what became of a child.
    Told {
        /// The row as it was.
        row: Row,
    },
    /// A row was set aside: somebody has to look at it (`contextwire outbox`).
    SetAside {
        /// The row.
        row: Row,
        /// Why.
        reason: String,
    },
}

/// Takes what becomes of rows. It must not wait; a panic of it is caught and changes nothing.
#[derive(Clone)]
pub struct OutboxObserver(Arc<dyn Fn(OutboxEvent) + Send + Sync>);

impl OutboxObserver {
    /// Calls this function.
    pub fn new(tell: impl Fn(OutboxEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(super) fn tell(&self, event: OutboxEvent) {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.0)(event)));
        if told.is_err() {
            tracing::warn!("the observer of the outbox failed");
        }
    }
}

impl fmt::Debug for OutboxObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxObserver").finish_non_exhaustive()
    }
}
