//! What an operator has changed: entries that stay, and what is to go for good.

use crate::ids::{EntryId, SessionId};

/// Which entry is pinned, or no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinEntry {
    /// The session.
    pub session: SessionId,
    /// The entry's lineage id.
    pub entry_id: EntryId,
    /// Whether it is pinned from now on.
    pub pinned: bool,
}

/// What to erase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EraseSession {
    /// The session.
    pub session: SessionId,
    /// Only these entries; none of them named is the whole session.
    pub entry_ids: Vec<EntryId>,
}

/// What an erasure did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// Whether anything of it was stored.
    pub found: bool,
    /// What was removed or written anew, in the order in which it was done.
    pub erased: Vec<ErasedRows>,
    /// What was looked for afterwards, and where.
    pub proof: ErasureProof,
}

/// One kind of what an erasure changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedRows {
    /// What, for instance `bodies`.
    pub what: String,
    /// How many are gone.
    pub removed: u64,
    /// How many were written anew without what was erased.
    pub rederived: u64,
}

/// A search for what was erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureProof {
    /// Pieces that were looked for: digests, and pieces of bodies and summaries.
    pub pieces: u64,
    /// Bytes of files that were searched.
    pub searched_bytes: u64,
    /// Pieces that other sessions or entries store rightly, and so say nothing.
    pub shared: u64,
    /// Where something is left, and what to do.
    pub remains: Vec<String>,
}

impl ErasureProof {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.remains.is_empty()
    }
}
