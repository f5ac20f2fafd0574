//! What is looked for after an erasure: digests, and pieces of what was written.

use std::collections::HashSet;

use contextwire_engine::{Digest, Message};

/// Bytes of a piece: a digest has as many.
pub(super) const PIECE: usize = 32;
/// Pieces of one text, spread over it.
const SPREAD: usize = 3;

/// Pieces of what is erased, each of 32 bytes.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    all: HashSet<[u8; PIECE]>,
}

impl Pieces {
    /// Adds what a message is and says.
    pub fn add_message(&mut self, message: &Message) {
        self.add_digest(message.digest());
        self.add_text(message.payload());
    }

    /// Adds a hash.
    pub fn add_digest(&mut self, digest: Digest) {
        self.all.insert(digest.0);
    }

    /// Adds pieces of a text, none of one that is shorter than a piece.
    pub fn add_text(&mut self, text: &[u8]) {
        let Some(room) = text.len().checked_sub(PIECE) else {
            return;
        };
        // Not its beginning, which messages have in common.
        for part in 1..=SPREAD {
            let at = room * part / SPREAD;
            if let Some(piece) = text.get(at..).and_then(<[u8]>::first_chunk) {
                self.all.insert(*piece);
            }
        }
    }

    /// Adds those of another one.
    pub fn extend(&mut self, other: Self) {
        self.all.extend(other.all);
    }

    /// Whether this hash is one of them.
    pub fn has(&self, digest: Digest) -> bool {
        self.all.contains(&digest.0)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A search for them.
    pub(super) fn search(&self) -> Search<'_> {
        let mut starts = vec![0; STARTS / 64];
        for piece in &self.all {
            if let Some(start) = piece.first_chunk() {
                let (word, bit) = slot(*start);
                if let Some(word) = starts.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        Search {
            pieces: self,
            starts,
            found: HashSet::new(),
        }
    }
}

/// Bits of the filter over the first eight bytes of the pieces. An automaton over all pieces would
/// take a hundred times as much memory.
const STARTS: usize = 1 << 22;

/// Where the filter has the bit of these bytes.
fn slot(start: [u8; 8]) -> (usize, u64) {
    let hash = u64::from_le_bytes(start).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42;
    let index = usize::try_from(hash).unwrap_or_default();
    (index / 64, 1 << (index % 64))
}

/// A search through bytes, and what it has found so far.
pub(super) struct Search<'p> {
    pieces: &'p Pieces,
    starts: Vec<u64>,
    pub(super) found: HashSet<[u8; PIECE]>,
}

impl Search<'_> {
    /// Looks at every position of these bytes.
    pub(super) fn look(&mut self, bytes: &[u8]) {
        for window in bytes.array_windows::<PIECE>() {
            let Some(start) = window.first_chunk() else {
                continue;
            };
            let (word, bit) = slot(*start);
            let may_be = self.starts.get(word).is_some_and(|word| word & bit != 0);
            if may_be && self.pieces.all.contains(window) {
                self.found.insert(*window);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_found_wherever_it_stands_and_nothing_else() {
        let mut pieces = Pieces::default();
        let text: Vec<u8> = (0..=255).collect();
        pieces.add_text(&text);
        assert_eq!(pieces.len(), SPREAD);
        let mut search = pieces.search();
        search.look(&text[..text.len() - 1]);
        assert_eq!(search.found.len(), SPREAD - 1, "the last byte is missing");
        search.look(&text);
        assert_eq!(search.found.len(), SPREAD);
        let mut search = pieces.search();
        search.look(&[0; 4096]);
        assert!(search.found.is_empty());
    }

    #[test]
    fn a_short_text_has_no_pieces_and_a_digest_is_one() {
        let mut pieces = Pieces::default();
        pieces.add_text(b"short");
        assert!(pieces.is_empty());
        pieces.add_digest(Digest([7; 32]));
        let mut search = pieces.search();
        search.look(&[7; 33]);
        assert_eq!(search.found.len(), 1);
    }
}
