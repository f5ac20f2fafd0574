//! The transcript as a value: an immutable chunked list with its digest chain.

use std::ops::Range;
use std::sync::Arc;

use crate::digest::TranscriptState;
use crate::message::Message;

/// Messages a sealed chunk holds.
const CHUNK: usize = 256;

/// An ordered list of messages.
///
/// A clone costs two reference counts, a push a bounded copy of the unsealed tail, whatever the
/// length. Every prefix's [`TranscriptState`] is at hand, so two lists are compared by their
/// chains instead of their messages.
#[derive(Clone, Default)]
pub struct Transcript {
    sealed: Arc<Vec<Arc<Chunk>>>,
    tail: Arc<Chunk>,
    payload_bytes: u64,
}

#[derive(Clone, Default)]
struct Chunk {
    messages: Vec<Message>,
    /// The state after each message, from the start of the whole list.
    states: Vec<TranscriptState>,
}

impl Transcript {
    /// The empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.sealed.len() * CHUNK + self.tail.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum of the payload sizes in bytes.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Count and chain of the whole list.
    pub fn state(&self) -> TranscriptState {
        self.last_state()
    }

    /// Count and chain of the first `len` messages; `None` beyond the end.
    pub fn state_at(&self, len: usize) -> Option<TranscriptState> {
        let Some(last) = len.checked_sub(1) else {
            return Some(TranscriptState::EMPTY);
        };
        let (chunk, offset) = self.locate(last)?;
        chunk.states.get(offset).copied()
    }

    /// Whether this list starts with the one that `state` describes.
    pub fn starts_with(&self, state: &TranscriptState) -> bool {
        usize::try_from(state.count)
            .ok()
            .and_then(|len| self.state_at(len))
            .as_ref()
            == Some(state)
    }

    /// The message at `index`, oldest first.
    pub fn get(&self, index: usize) -> Option<&Message> {
        let (chunk, offset) = self.locate(index)?;
        chunk.messages.get(offset)
    }

    /// The newest message.
    pub fn last(&self) -> Option<&Message> {
        self.len().checked_sub(1).and_then(|index| self.get(index))
    }

    /// All messages, oldest first; the iterator runs from both ends.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.range(0..self.len())
    }

    /// The messages of a range, clamped to the list.
    pub fn range(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        let end = range.end.min(self.len());
        Indexed {
            list: self,
            range: range.start.min(end)..end,
        }
    }

    /// Appends a message.
    pub fn push(&mut self, message: Message) {
        let state = self.last_state().then(message.digest());
        self.payload_bytes += message.payload().len() as u64;
        let tail = Arc::make_mut(&mut self.tail);
        tail.messages.push(message);
        tail.states.push(state);
        if tail.messages.len() == CHUNK {
            Arc::make_mut(&mut self.sealed).push(Arc::new(std::mem::take(tail)));
        }
    }

    /// The first `len` messages, sharing every whole chunk; the whole list when `len` is beyond it.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        if len >= self.len() {
            return self.clone();
        }
        let (chunks, rest) = (len / CHUNK, len % CHUNK);
        let cut = self.sealed.get(chunks).unwrap_or(&self.tail);
        let dropped: u64 = self
            .range(len..self.len())
            .map(|m| m.payload().len() as u64)
            .sum();
        Self {
            sealed: if chunks == self.sealed.len() {
                Arc::clone(&self.sealed)
            } else {
                Arc::new(self.sealed.iter().take(chunks).map(Arc::clone).collect())
            },
            tail: Arc::new(Chunk {
                messages: cut.messages.iter().take(rest).cloned().collect(),
                states: cut.states.iter().take(rest).copied().collect(),
            }),
            payload_bytes: self.payload_bytes - dropped,
        }
    }

    /// How many messages both lists share from the start: a binary search over the chains.
    pub fn common_prefix(&self, other: &Self) -> usize {
        let (mut low, mut high) = (0, self.len().min(other.len()));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.state_at(middle) == other.state_at(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    fn last_state(&self) -> TranscriptState {
        let newest = if self.tail.states.is_empty() {
            self.sealed.last()
        } else {
            Some(&self.tail)
        };
        newest
            .and_then(|chunk| chunk.states.last())
            .copied()
            .unwrap_or_default()
    }

    fn locate(&self, index: usize) -> Option<(&Chunk, usize)> {
        let chunk = match self.sealed.get(index / CHUNK) {
            Some(chunk) => chunk,
            None if index / CHUNK == self.sealed.len() => &self.tail,
            None => return None,
        };
        Some((chunk, index % CHUNK))
    }
}

impl PartialEq for Transcript {
    /// Equal chains are equal lists; nothing is compared message by message.
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl Eq for Transcript {}

impl Extend<Message> for Transcript {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut list = Self::new();
        list.extend(messages);
        list
    }
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript")
            .field("state", &self.state())
            .field("payload_bytes", &self.payload_bytes)
            .finish_non_exhaustive()
    }
}

struct Indexed<'a> {
    list: &'a Transcript,
    range: Range<usize>,
}

impl<'a> Iterator for Indexed<'a> {
    type Item = &'a Message;

    fn next(&mut self) -> Option<Self::Item> {
        self.range.next().and_then(|index| self.list.get(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }
}

impl DoubleEndedIterator for Indexed<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.range
            .next_back()
            .and_then(|index| self.list.get(index))
    }
}

impl ExactSizeIterator for Indexed<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(n: usize) -> Message {
        Message::from_payload(format!(r#"{{"role":"user","content":"{n}"}}"#))
    }

    fn list(range: Range<usize>) -> Transcript {
        range.map(message).collect()
    }

    #[test]
    fn a_clone_is_not_changed_by_a_later_push() {
        let mut grown = list(0..600);
        let before = grown.clone();
        grown.push(message(600));
        assert_eq!((before.len(), grown.len()), (600, 601));
        assert_eq!(before, list(0..600));
        assert!(grown.starts_with(&before.state()));
    }

    #[test]
    fn a_push_after_a_clone_shares_every_sealed_chunk() {
        let old = list(0..1000);
        let mut new = old.clone();
        new.push(message(1000));
        assert!(Arc::ptr_eq(&old.sealed, &new.sealed));
    }

    #[test]
    fn a_push_across_a_chunk_border_keeps_the_chain() {
        let whole = list(0..3 * CHUNK + 1);
        let fold = whole
            .iter()
            .fold(TranscriptState::EMPTY, |state, m| state.then(m.digest()));
        assert_eq!(whole.state(), fold);
        assert_eq!(whole.state_at(whole.len() + 1), None);
        assert_eq!(whole.iter().rev().count(), whole.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_prefix_equals_the_list_built_from_its_messages(len in 0usize..900, cut in 0usize..1000) {
            let whole = list(0..len);
            let prefix = whole.prefix(cut);
            let built = list(0..cut.min(len));
            prop_assert_eq!(&prefix, &built);
            prop_assert_eq!(prefix.payload_bytes(), built.payload_bytes());
            prop_assert!(prefix.iter().eq(built.iter()));
        }

        #[test]
        fn the_common_prefix_ends_at_the_first_difference(len in 1usize..700, at in 0usize..700) {
            let at = at % len;
            let old = list(0..len);
            let new = (0..len).map(|n| message(if n == at { 10_000 } else { n })).collect();
            prop_assert_eq!(old.common_prefix(&new), at);
            prop_assert_eq!(old.common_prefix(&list(0..len + 3)), len);
        }
    }
}
