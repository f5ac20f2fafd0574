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
    /// Hooks that run at once, at least 1; 1024. One more is refused as OVERLOADED before its
    /// request is read. Describe, health and reflection do not count and are never refused.
    pub max_hooks: u32,
    /// Hooks of one session that run at once, at least 1; 64. A host that has lost count of its
    /// calls must not take the room of all others.
    pub max_session_hooks: u32,
    /// Bytes of requests that running hooks hold, together; 512 MiB. A call that would hold more is
    /// refused as OVERLOADED when it gets there, or as QUOTA where it alone is larger. A part of a
    /// list that arrived before that is kept in the mirrors, and the next try goes on from it.
    pub max_bytes_in_flight: u64,
    /// Streams that one connection may have open, at least 1; 2048. Hosts do not open more, they
    /// wait; a number above `max_hooks` lets them be refused at once instead.
    pub max_streams: u32,
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
            max_hooks: 1024,
            max_session_hooks: 64,
            max_bytes_in_flight: 512 << 20,
            max_streams: 2048,
            drain_grace: limits::DRAIN_GRACE,
            build: String::new(),
            unknown_fields: UnknownFields::default(),
        }
    }
}
