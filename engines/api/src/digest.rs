//! Digests of messages and the chain over a list (PROTOCOL 3).

use sha2::{Digest as _, Sha256};

/// SHA-256 of the bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Identity of one message: over its lineage id, its role and the hash of its payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// `SHA-256(len ‖ entry_id ‖ len ‖ role ‖ SHA-256(payload))`, lengths as u32 big endian.
pub fn message(entry_id: &str, role: &str, payload_sha256: &[u8; 32]) -> Digest {
    let mut hasher = Sha256::new();
    for text in [entry_id, role] {
        // A length beyond u32 cannot pass the message size limit; it saturates rather than wraps.
        hasher.update(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(payload_sha256);
    Digest(hasher.finalize().into())
}

/// How many messages a list holds and the chain over their digests.
///
/// Equal states mean equal lists: the chain covers every message in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TranscriptState {
    /// Number of messages.
    pub count: u64,
    /// `c(i) = SHA-256(c(i-1) ‖ digest(i))`, with 32 zero bytes for the empty list.
    pub chain: [u8; 32],
}

impl TranscriptState {
    /// The empty list.
    pub const EMPTY: Self = Self {
        count: 0,
        chain: [0; 32],
    };

    /// The state after one more message.
    #[must_use]
    pub fn then(self, digest: Digest) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.chain);
        hasher.update(digest.0);
        Self {
            count: self.count + 1,
            chain: hasher.finalize().into(),
        }
    }
}

impl Default for TranscriptState {
    fn default() -> Self {
        Self::EMPTY
    }
}

fn hex(bytes: &[u8], f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        hex(&self.0, f)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        hex(&self.0, f)
    }
}

impl std::fmt::Debug for TranscriptState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.count)?;
        hex(&self.chain, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(digest: Digest) -> String {
        digest.to_string()
    }

    #[test]
    fn the_digest_is_over_length_prefixed_parts() {
        // python3: sha256(b"\0\0\0\2e1\0\0\0\4user" + sha256(b"{}").digest()).hexdigest()
        assert_eq!(
            text(message("e1", "user", &sha256(b"{}"))),
            "7043e36e9fb601a758eb5c3c6f60cace99ad151b5db77728e56d84583aeb7bcb",
        );
        assert_ne!(
            message("e", "1user", &[0; 32]),
            message("e1", "user", &[0; 32])
        );
    }

    #[test]
    fn the_chain_starts_from_zeros_and_depends_on_order() {
        let (a, b) = (Digest([1; 32]), Digest([2; 32]));
        let ab = TranscriptState::EMPTY.then(a).then(b);
        let ba = TranscriptState::EMPTY.then(b).then(a);
        assert_eq!(ab.count, 2);
        assert_ne!(ab, ba);
    }
}
