//! Whether a call still owes the engine parts of a list.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a call owes; clones are one. A deadline that passes while the host has not sent everything
/// says nothing about the engine (R3.4).
#[derive(Clone, Debug, Default)]
pub(crate) struct Debt(Arc<AtomicBool>);

impl Debt {
    /// Parts are still to go, or none is.
    pub(crate) fn set(&self, owes: bool) {
        self.0.store(owes, Ordering::Relaxed);
    }

    /// Whether parts are still to go.
    pub(crate) fn is_owed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
