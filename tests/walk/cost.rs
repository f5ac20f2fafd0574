//! What a list may cost on the wire, from what changed in it.

use contextwire_engine::{Message, Transcript};

/// Largest message of these servers in bytes; the first frame of a call has 16 KiB less.
pub(super) const LIMIT: usize = 24 << 10;

/// A call besides its lists.
pub(super) const CALL: u64 = 700;
/// A message besides its payload.
const MESSAGE: u64 = 96;
/// A message that is too large for any frame.
const STUB: u64 = 300;
/// A kept range.
const RANGE: u64 = 24;
/// A frame besides its segments.
const FRAME: u64 = 240;
/// What goes into the first frame of a call for certain.
const FIRST: u64 = 7 << 10;
/// Two frames in a row hold a whole frame's worth, since the second begins with what did not fit.
const HALF: u64 = 11 << 10;

/// What one list lacks of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Messages that have to travel.
    pub(super) messages: u64,
    /// Bytes at most.
    pub(super) most: u64,
    /// Bytes at least.
    pub(super) least: u64,
}

/// What it takes to make `new` of `base`: messages that stay in their order never travel.
pub(super) fn between(base: &Transcript, new: &Transcript) -> Cost {
    let stay = staying(base, new);
    let mut ranges = 1;
    let mut cost = Cost::default();
    let mut kept_before = true;
    for (message, kept) in new.iter().zip(&stay) {
        if !kept {
            cost.messages += 1;
            let payload = payload(message);
            cost.most += payload.unwrap_or(STUB) + MESSAGE;
            cost.least += payload.unwrap_or_default();
        }
        ranges += u64::from(*kept && !kept_before);
        kept_before = *kept;
    }
    // A cut splits a range and inserts nothing.
    let cuts = (base.len() + usize::try_from(cost.messages).unwrap()).saturating_sub(new.len());
    cost.most += (ranges + cuts as u64) * RANGE;
    let frames = if cost.most < FIRST {
        1
    } else {
        3 + cost.most / HALF
    };
    cost.most += frames * FRAME;
    cost
}

/// The whole list.
pub(super) fn whole(list: &Transcript) -> Cost {
    between(&Transcript::new(), list)
}

/// Absent where a stub travels.
fn payload(message: &Message) -> Option<u64> {
    let bytes = message.payload().len();
    (bytes < LIMIT - 1024).then_some(bytes as u64)
}

/// Which messages of `new` are in the longest list that both hold in this order.
fn staying(base: &Transcript, new: &Transcript) -> Vec<bool> {
    let digests = |list: &Transcript| list.iter().map(Message::digest).collect::<Vec<_>>();
    let (old, new) = (digests(base), digests(new));
    // Longest common subsequence of the ends from (a, b).
    let mut longest = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            longest[a][b] = if old[a] == new[b] {
                longest[a + 1][b + 1] + 1
            } else {
                longest[a + 1][b].max(longest[a][b + 1])
            };
        }
    }
    let mut stay = vec![false; new.len()];
    let (mut a, mut b) = (0, 0);
    while a < old.len() && b < new.len() {
        if old[a] == new[b] {
            stay[b] = true;
            (a, b) = (a + 1, b + 1);
        } else if longest[a + 1][b] >= longest[a][b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    stay
}
