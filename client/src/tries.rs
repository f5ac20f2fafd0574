//! Which try of a call this is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Tries of a call so far; clones of the call count together, whoever sends it again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tries(Arc<AtomicU32>);

impl Tries {
    /// How many there were before this one.
    pub(crate) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
