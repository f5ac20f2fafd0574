//! The id that a store's own file gives an entry.

use std::fmt;
use std::sync::Arc;

use contextwire_engine::{EntryId, InvalidId};

/// Id of one stored entry. An entry that is appended again gets a new one; engines never see it,
/// they know entries by their lineage ids ([`EntryId`], R2.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NativeId(Arc<str>);

impl NativeId {
    /// Longest accepted id in bytes.
    pub const MAX_BYTES: usize = 1024;

    /// # Errors
    /// [`InvalidId`] when the text is blank or too long.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, InvalidId> {
        let text = text.into();
        let len = if text.trim().is_empty() {
            0
        } else {
            text.len()
        };
        match len {
            1..=Self::MAX_BYTES => Ok(Self(text)),
            len => Err(InvalidId {
                what: "native entry id",
                len,
            }),
        }
    }

    /// A new id, ordered after all that this process minted before.
    pub fn mint() -> Self {
        Self(uuid::Uuid::now_v7().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lineage that begins with this entry.
    pub(super) fn lineage(&self) -> EntryId {
        EntryId::from(Arc::clone(&self.0))
    }
}

impl fmt::Display for NativeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
