//! What an operator may set of a server.

use std::time::Duration;

use contextwire_proto::edge::UnknownFields;
use contextwire_proto::limits;

/// Limits and timers of a server; the defaults are the protocol's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Largest message in bytes, each way; 16 MiB.
    pub max_message_bytes: usize,
    /// Memory for mirrors of transcripts in bytes; 512 MiB. Mirrors are a cache: the least
    /// recently used go first and cost their hosts one fuller upload.
    pub mirror_bytes: u64,
    /// How long running hooks may go on once the server drains; 30 s.
    pub drain_grace: Duration,
    /// What the engine says of its build, for instance a commit; empty by default.
    pub build: String,
    /// What becomes of a request with fields that this build does not know; ignored by default. A
    /// strict server names all of them, before any effect (PROTOCOL R5.6).
    pub unknown_fields: UnknownFields,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: limits::MESSAGE_BYTES,
            mirror_bytes: 512 << 20,
            drain_grace: limits::DRAIN_GRACE,
            build: String::new(),
            unknown_fields: UnknownFields::default(),
        }
    }
}
