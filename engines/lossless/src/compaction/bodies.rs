//! The bodies of what is summarised: read for one summary at a time, and only so many at once.
//!
//! A compaction plans over outlines, so that how much of a session is in memory never decides what
//! becomes of it.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::draft::Draft;
use super::sink::{SinkError, Stored};
use super::work::{Of, Work};
use crate::entry::Entry;
use crate::span::Span;

/// Where the whole entries of a session are, of which a compaction has outlines.
pub trait Bodies: Send + Sync {
    /// The entries of a span that the log has now, in order.
    fn read(&self, span: Span) -> Stored<'_, Vec<(u64, Arc<Entry>)>>;
}

/// Room for the bodies of one compaction, in bytes.
#[derive(Debug)]
pub(crate) struct Room {
    free: Semaphore,
    size: u32,
}

impl Room {
    /// Room for so many bytes; what is larger takes all of it.
    pub(crate) fn of(size: u32) -> Self {
        let permits = usize::try_from(size).unwrap_or(usize::MAX);
        Self {
            free: Semaphore::new(permits.min(Semaphore::MAX_PERMITS)),
            size,
        }
    }
}

/// Work with what it is of, which gives its room back when it is dropped.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) work: &'a Work,
    /// The whole entries, where it is of entries.
    pub(crate) entries: Vec<(u64, Arc<Entry>)>,
    _room: Option<SemaphorePermit<'a>>,
}

impl<'a> Piece<'a> {
    /// Waits for room and reads; [`SinkError::Stale`] where the entries are other ones now.
    pub(crate) async fn read(
        bodies: &dyn Bodies,
        room: &'a Room,
        draft: &Draft<'_>,
        work: &'a Work,
    ) -> Result<Self, SinkError> {
        let Of::Entries = work.of else {
            return Ok(Self {
                work,
                entries: Vec::new(),
                _room: None,
            });
        };
        let log = draft.snapshot.log;
        let outlines = work.span.places().filter_map(|place| log.entry(place));
        let outlines: Vec<Arc<Entry>> = outlines.collect();
        let bytes: u64 = outlines.iter().map(|outline| outline.bytes()).sum();
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX).min(room.size);
        // Nobody closes it, so that an error is none of the room.
        let held = room.free.acquire_many(permits).await.ok();
        let entries = bodies.read(work.span).await?;
        let digest = |entry: &Arc<Entry>| entry.message().digest();
        let is_same = entries
            .iter()
            .map(|(_, entry)| digest(entry))
            .eq(outlines.iter().map(digest));
        if !is_same {
            return Err(SinkError::Stale);
        }
        Ok(Self {
            work,
            entries,
            _room: held,
        })
    }
}
