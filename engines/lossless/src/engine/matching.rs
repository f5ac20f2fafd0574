//! Which entry of the log each message of a view shows.
//!
//! By the id that the host names for it, its own id, or its digest; and where a host decorates what
//! it shows and has no ids, by its idempotency key, its time, or its bytes at the next place.

use std::collections::HashMap;

use contextwire_engine::json::Cursor;
use contextwire_engine::{Digest, Message, Transcript};

use super::held::HeldLog;
use crate::entry::Log;
use crate::span::Span;

/// Entries that a host may leave out of the middle of its view at once. A longer gap is where its
/// view begins.
const GAP: u64 = 64;

/// A view, and what it shows.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    view: Transcript,
    places: Vec<Option<u64>>,
    /// Places by digest, of a log without ids.
    by_digest: HashMap<Digest, Vec<u64>>,
    /// How much of the log is in there.
    digested: u64,
}

/// What of the log a host shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// One beyond the last entry that may be shown: what comes later the host holds back, as the
    /// turn that it appends by itself.
    pub(crate) end: u64,
    /// Runs in the middle that it holds back, in order.
    pub(crate) held_back: Vec<Span>,
}

impl Seen {
    /// Matches a view; only what is new since the last one costs time.
    pub(crate) fn look(&mut self, view: &Transcript, log: &HeldLog) {
        let common = self.view.common_prefix(view);
        self.places.truncate(common);
        // The log grows at its end: what it does not have before the last match it will not have.
        let known = self.places.iter().rposition(Option::is_some);
        let start = known.map_or(0, |last| last + 1);
        self.places.truncate(start);
        let mut last = self.places.last().copied().flatten();
        for message in view.range(start..view.len()) {
            let place = self.place(message, last, log);
            last = place.or(last);
            self.places.push(place);
        }
        self.view = view.clone();
    }

    /// Matches all of the view again the next time.
    pub(crate) fn forget(&mut self) {
        self.view = Transcript::new();
        self.places.clear();
    }

    /// The place that each message shows.
    pub(crate) fn places(&self) -> &[Option<u64>] {
        &self.places
    }

    fn place(&mut self, message: &Message, last: Option<u64>, log: &HeldLog) -> Option<u64> {
        let ids = [message.log_entry_id(), Some(message.entry_id())];
        let mut ids = ids.into_iter().flatten().filter(|id| !id.is_empty());
        if let Some(place) = ids.find_map(|id| log.place_of(id)) {
            return Some(place);
        }
        if !message.entry_id().is_empty() || message.log_entry_id().is_some() {
            return None;
        }
        let next = last.map_or(0, |last| last + 1);
        if log.digest(next) == Some(message.digest()) {
            return Some(next);
        }
        self.equal(message.digest(), next, log)
            .or_else(|| is_same(log, next, message).then_some(next))
    }

    /// The first entry with this digest from a place on.
    fn equal(&mut self, digest: Digest, from: u64, log: &HeldLog) -> Option<u64> {
        for place in self.digested..log.end() {
            if let Some(digest) = log.digest(place) {
                self.by_digest.entry(digest).or_default().push(place);
            }
        }
        self.digested = log.end();
        let places = self.by_digest.get(&digest)?;
        places
            .get(places.partition_point(|place| *place < from))
            .copied()
    }

    /// What of the log the view stands for. A view that shows nothing of it stands for all of it.
    pub(crate) fn extent(&self, log: &HeldLog) -> Extent {
        let mut shown: Vec<u64> = self.places.iter().copied().flatten().collect();
        if !shown.is_sorted() {
            shown.sort_unstable();
        }
        shown.dedup();
        let Some(last) = shown.last() else {
            return Extent {
                end: log.end(),
                held_back: Vec::new(),
            };
        };
        let end = last + 1;
        let gaps = shown.iter().zip(shown.iter().skip(1)).rev();
        let near = gaps.take_while(|(before, after)| **after - **before <= GAP);
        let mut held_back: Vec<Span> = near
            .filter(|(before, after)| **after - **before > 1)
            .map(|(before, after)| Span::new(before + 1, *after))
            .collect();
        held_back.reverse();
        Extent { end, held_back }
    }
}

/// Whether an entry is what a host shows in another form.
fn is_same(log: &HeldLog, place: u64, message: &Message) -> bool {
    let Some(entry) = log.entry(place) else {
        return false;
    };
    let stored = entry.message();
    if stored.role() != message.role() {
        return false;
    }
    let keys = (idempotency_key(stored), idempotency_key(message));
    if let (Some(one), Some(other)) = keys {
        return one == other;
    }
    match (stored.timestamp_ms(), message.timestamp_ms()) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => stored.payload() == message.payload(),
    }
}

fn idempotency_key(message: &Message) -> Option<String> {
    let read = || {
        let mut cursor = Cursor::new(message.payload());
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("idempotencyKey") {
                return cursor.text().map(|text| Some(text.decode().into_owned()));
            }
            cursor.skip_value()?;
        }
        Ok(None)
    };
    read().ok().flatten()
}
