//! The token ceiling of an assembled context.

use std::num::NonZeroU64;

/// A ceiling in tokens, never zero: absent means that the host named none (E-FLD-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenBudget(NonZeroU64);

impl TokenBudget {
    /// `None` for zero, which is "unknown", never "nothing fits".
    pub fn new(tokens: u64) -> Option<Self> {
        NonZeroU64::new(tokens).map(Self)
    }

    /// The ceiling in tokens.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}
