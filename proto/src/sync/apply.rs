//! From segments to a list again, part by part.

use contextwire_engine::{Segment, SegmentError, Transcript, TranscriptState};

/// Why a part cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A range is not one of the base, or not ascending (R3.5).
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The list after the part is not the announced one (R3.7).
    #[error(
        "the list after the part has {actual} messages or other ones, {announced} were announced"
    )]
    Head {
        /// How many messages the sender announced.
        announced: u64,
        /// How many there are.
        actual: u64,
    },
}

/// A list in the making: the base, and what its parts brought so far.
///
/// After an error it is spoilt and only good to be dropped.
#[derive(Clone, Debug)]
pub struct Applier {
    base: Transcript,
    built: Transcript,
    /// First index of the base that a range may still name.
    next: usize,
    /// Position of the next segment over all parts.
    position: usize,
}

impl Applier {
    /// Starts over a base; the empty list for a send from zero.
    pub fn new(base: Transcript) -> Self {
        Self {
            base,
            built: Transcript::new(),
            next: 0,
            position: 0,
        }
    }

    /// Applies one part and compares the state after it.
    ///
    /// # Errors
    /// [`ApplyError`]. A part costs no more memory than its own frame: no message of the base can
    /// be taken twice.
    pub fn part(
        &mut self,
        segments: impl IntoIterator<Item = Segment>,
        head: &TranscriptState,
    ) -> Result<(), ApplyError> {
        self.push(segments)?;
        let actual = self.built.state();
        if actual != *head {
            return Err(ApplyError::Head {
                announced: head.count,
                actual: actual.count,
            });
        }
        Ok(())
    }

    /// The list so far: a good list after every part, also when the rest never comes (R3.4).
    pub fn list(&self) -> &Transcript {
        &self.built
    }

    /// The list.
    pub fn into_list(self) -> Transcript {
        self.built
    }

    fn push(&mut self, segments: impl IntoIterator<Item = Segment>) -> Result<(), SegmentError> {
        for segment in segments {
            match segment {
                Segment::Keep(range) => self.keep(range)?,
                Segment::Insert(message) => self.built.push(message),
            }
            self.position += 1;
        }
        Ok(())
    }

    fn keep(&mut self, range: std::ops::Range<usize>) -> Result<(), SegmentError> {
        let (segment, base) = (self.position, self.base.len());
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
        if range.start < self.next {
            return Err(SegmentError::Repeated {
                segment,
                index: range.start,
            });
        }
        self.next = range.end;
        if range.start == 0 && self.built.is_empty() {
            // The usual case, an append, shares every chunk with the base.
            self.built = self.base.prefix(range.end);
        } else {
            self.built.extend(self.base.range(range).cloned());
        }
        Ok(())
    }
}

/// Applies a whole update at once, without an announced state.
///
/// # Errors
/// The first [`SegmentError`]: a range that is empty, outside the base, or not ascending (R3.5).
/// For results, whose ranges come in any order, see `Assembled::check`.
pub fn apply(
    base: &Transcript,
    segments: impl IntoIterator<Item = Segment>,
) -> Result<Transcript, SegmentError> {
    let mut applier = Applier::new(base.clone());
    applier.push(segments)?;
    Ok(applier.built)
}
