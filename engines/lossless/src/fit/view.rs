//! What the host would send by itself, matched to the log.

use std::ops::Range;

use contextwire_engine::{Message, Transcript};

use super::line::Key;

/// A host's view of a session. What it shows of the log is returned as a part of it, never as bytes;
/// what the log does not hold yet, as the turn at work, is shown behind it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    transcript: &'a Transcript,
    /// Places with the messages that show them, by place.
    shown: Vec<(u64, usize)>,
    /// Instructions at the head that the log does not hold.
    lead: Range<usize>,
    /// Messages that are not in the log, each with where it stands in it.
    loose: Vec<(Key, usize)>,
}

impl<'a> View<'a> {
    /// A view with the place in the log that each of its messages shows; missing ones show none. Of
    /// two messages that show one place the first counts, the other is not in the log.
    pub fn new(
        transcript: &'a Transcript,
        places: impl IntoIterator<Item = Option<u64>>,
        log_end: u64,
    ) -> Self {
        let places = places.into_iter().chain(std::iter::repeat(None));
        let mut shown: Vec<(u64, usize)> = Vec::new();
        let mut unmatched = Vec::new();
        for (place, index) in places.zip(0..transcript.len()) {
            match place.filter(|place| *place < log_end) {
                Some(place) => shown.push((place, index)),
                None => unmatched.push(index),
            }
        }
        shown.sort_unstable();
        shown.dedup_by(|later, first| {
            let is_again = later.0 == first.0;
            if is_again {
                unmatched.push(later.1);
            }
            is_again
        });
        unmatched.sort_unstable();
        let lead = lead(transcript, &unmatched);
        unmatched.drain(..lead.len());
        let mut view = Self {
            transcript,
            shown,
            lead,
            loose: Vec::new(),
        };
        view.loose = view.placed(&unmatched, log_end);
        view
    }

    /// Where each unmatched message stands: before the next message of the view that is in the log,
    /// at the end where there is none.
    fn placed(&self, unmatched: &[usize], log_end: u64) -> Vec<(Key, usize)> {
        let mut by_index: Vec<(usize, u64)> = self
            .shown
            .iter()
            .map(|(place, index)| (*index, *place))
            .collect();
        by_index.sort_unstable();
        let mut loose: Vec<(Key, usize)> = unmatched
            .iter()
            .map(|index| {
                let next = by_index.partition_point(|(shown, _)| shown < index);
                let place = by_index.get(next).map_or(log_end, |(_, place)| *place);
                (Key::before(place, *index), *index)
            })
            .collect();
        loose.sort_unstable();
        loose
    }

    /// The message that shows a place.
    pub(crate) fn index_of(&self, place: u64) -> Option<usize> {
        let at = self.shown.binary_search_by_key(&place, |(place, _)| *place);
        self.shown.get(at.ok()?).map(|(_, index)| *index)
    }

    pub(crate) fn message(&self, index: usize) -> Option<&'a Message> {
        self.transcript.get(index)
    }

    pub(crate) fn lead(&self) -> Range<usize> {
        self.lead.clone()
    }

    pub(crate) fn loose(&self) -> &[(Key, usize)] {
        &self.loose
    }
}

fn lead(transcript: &Transcript, unmatched: &[usize]) -> Range<usize> {
    let is_instruction = |index: usize| {
        transcript
            .get(index)
            .is_some_and(|message| matches!(message.role(), "system" | "developer"))
    };
    let heads = unmatched.iter().enumerate();
    let count = heads
        .take_while(|(at, index)| at == *index && is_instruction(**index))
        .count();
    0..count
}
