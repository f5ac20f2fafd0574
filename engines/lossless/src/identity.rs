//! Digests over parts, so that equal things have equal ids on every machine.

use contextwire_engine::Digest;
use sha2::{Digest as _, Sha256};

/// A hash over parts, each with its length before it: no two lists of parts run together.
#[derive(Clone)]
pub(crate) struct Identity(Sha256);

impl Identity {
    /// Starts with what the hash is of, so that no digest of one kind is one of another.
    pub(crate) fn of(kind: &str) -> Self {
        Self(Sha256::new()).text(kind)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        // A length is never beyond 64 bits; the fallback cannot be reached.
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.0.update(len.to_be_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_be_bytes());
        self
    }

    pub(crate) fn digest(mut self, digest: Digest) -> Self {
        self.0.update(digest.0);
        self
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
