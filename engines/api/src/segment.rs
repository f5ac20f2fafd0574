//! Lists expressed as ranges of another list plus new messages.

use std::ops::Range;

use crate::message::Message;
use crate::transcript::Transcript;

/// One piece of a list relative to a base list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Messages of the base, by index; never empty.
    Keep(Range<usize>),
    /// A message that the base does not hold at this place.
    Insert(Message),
}

/// Why segments do not describe a list over their base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A kept range holds nothing.
    #[error("segment {segment} keeps an empty range")]
    Empty {
        /// Position of the segment.
        segment: usize,
    },
    /// A kept range reaches beyond the base.
    #[error("segment {segment} keeps up to {end} of a base of {base}")]
    OutOfRange {
        /// Position of the segment.
        segment: usize,
        /// End of the kept range.
        end: usize,
        /// Length of the base.
        base: usize,
    },
    /// A base index is kept a second time, or in an update out of order (R3.5).
    #[error("segment {segment} keeps index {index} again or out of order")]
    Repeated {
        /// Position of the segment.
        segment: usize,
        /// The base index.
        index: usize,
    },
}

/// An assembled context: ranges over the request's transcript plus inserted messages (R3.10).
///
/// A pass-through is one range, a summary one insert. Kept messages are never copied, so the host
/// gets its own objects back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    segments: Vec<Segment>,
}

impl Assembled {
    /// A context of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// One kept range; nothing when the range is empty.
    pub fn keep(range: Range<usize>) -> Self {
        let mut assembled = Self::new();
        assembled.push_keep(range);
        assembled
    }

    /// Appends a kept range, joined to the one before it where they touch.
    pub fn push_keep(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.segments.last_mut() {
            Some(Segment::Keep(last)) if last.end == range.start => last.end = range.end,
            Some(Segment::Keep(_) | Segment::Insert(_)) | None => {
                self.segments.push(Segment::Keep(range));
            }
        }
    }

    /// Appends a message that the transcript does not hold.
    pub fn push_insert(&mut self, message: Message) {
        self.segments.push(Segment::Insert(message));
    }

    /// The pieces in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        let count = |segment: &Segment| match segment {
            Segment::Keep(range) => range.len(),
            Segment::Insert(_) => 1,
        };
        self.segments.iter().map(count).sum()
    }

    /// Whether the context holds no message.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Checks every range against the list it refers to: in range, not empty, no index twice (R3.5).
    /// Ranges may come in any order.
    ///
    /// # Errors
    /// The first [`SegmentError`].
    pub fn check(&self, base: usize) -> Result<(), SegmentError> {
        let mut kept: Vec<(Range<usize>, usize)> = Vec::new();
        for (segment, piece) in self.segments.iter().enumerate() {
            let Segment::Keep(range) = piece else {
                continue;
            };
            if range.is_empty() {
                return Err(SegmentError::Empty { segment });
            }
            if range.end > base {
                return Err(SegmentError::OutOfRange {
                    segment,
                    end: range.end,
                    base,
                });
            }
            kept.push((range.clone(), segment));
        }
        kept.sort_by_key(|(range, _)| range.start);
        for ((before, _), (after, segment)) in kept.iter().zip(kept.iter().skip(1)) {
            if after.start < before.end {
                return Err(SegmentError::Repeated {
                    segment: *segment,
                    index: after.start,
                });
            }
        }
        Ok(())
    }

    /// The messages in order; ranges beyond the transcript give nothing.
    pub fn messages<'a>(&'a self, transcript: &'a Transcript) -> impl Iterator<Item = &'a Message> {
        self.segments.iter().flat_map(move |segment| {
            let (range, insert) = match segment {
                Segment::Keep(range) => (range.clone(), None),
                Segment::Insert(message) => (0..0, Some(message)),
            };
            transcript.range(range).chain(insert)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(n: usize) -> Message {
        Message::from_payload(format!(r#"{{"role":"user","content":"{n}"}}"#))
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut assembled = Assembled::keep(0..2);
        assembled.push_keep(2..5);
        assembled.push_keep(5..5);
        assembled.push_keep(7..8);
        assert_eq!(
            assembled.segments(),
            [Segment::Keep(0..5), Segment::Keep(7..8)]
        );
        assert_eq!(assembled.len(), 6);
    }

    #[test]
    fn kept_messages_are_the_transcripts_own_objects() {
        let list: Transcript = (0..4).map(message).collect();
        let mut assembled = Assembled::keep(2..3);
        assembled.push_insert(message(9));
        assembled.push_keep(0..1);
        let out: Vec<_> = assembled.messages(&list).collect();
        assert!(list.get(2).is_some_and(|own| out[0].is_same_object(own)));
        assert_eq!(out.len(), 3);
        assert_eq!(assembled.check(list.len()), Ok(()));
    }

    #[test]
    fn a_range_outside_the_base_or_kept_twice_is_refused() {
        let mut assembled = Assembled::keep(2..4);
        assert_eq!(
            assembled.check(3),
            Err(SegmentError::OutOfRange {
                segment: 0,
                end: 4,
                base: 3
            })
        );
        assembled.push_keep(0..3);
        assert_eq!(
            assembled.check(9),
            Err(SegmentError::Repeated {
                segment: 0,
                index: 2
            })
        );
    }
}
