//! The numbers that both sides keep (PROTOCOL 7 and 8).

use std::time::Duration;

use crate::handshake::Protocol;

/// The protocol that this crate speaks.
pub const PROTOCOL: Protocol = Protocol { major: 1, minor: 3 };

/// Versions of `RuntimeSettings` that this crate knows.
pub const RUNTIME_SETTINGS_VERSIONS: [u32; 1] = [1];

/// Largest gRPC message in bytes, each way; set on both ends and checked by the sender.
pub const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Largest metadata of a call in bytes. Beyond it an HTTP/2 peer answers 431 and no reason.
pub const METADATA_BYTES: usize = 8 * 1024;

/// Largest `grpc-status-details-bin` in bytes before base64: trailers beyond about 12 KB vanish.
pub const DETAILS_BYTES: usize = 4 * 1024;

/// Longest text of a status, a progress report or a reason, in bytes.
pub const TEXT_BYTES: usize = 512;

/// Deepest nesting of JSON that this contract defines; payloads nest without limit.
pub const JSON_DEPTH: usize = 128;

/// Longest identifier in bytes.
pub const ID_BYTES: usize = 1024;

/// Most states in a `NeedTranscript` (R3.6).
pub const HAVE_STATES: usize = 32;

/// How often an engine may ask for one list in one hook (R3.6).
pub const NEED_TRANSCRIPTS: u32 = 2;

/// States that each side keeps for a list at least (R3.9).
pub const MIRROR_STATES: usize = 4;

/// Host calls open at once in a hook (R1.6).
pub const OPEN_HOST_CALLS: usize = 4;

/// Most names in `must_understand`.
pub const MUST_UNDERSTAND_PATHS: usize = 64;

/// Most ids in `abandoned_hooks` (R7.2).
pub const ABANDONED_HOOKS: usize = 32;

/// How long an engine has to answer a cancel before the host resets the stream (R1.5).
pub const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// What `grpc-timeout` adds to the engine's share on streams, so that the host's own timer fires
/// first (R7.1).
pub const STREAM_TIMEOUT_SLACK: Duration = Duration::from_secs(2);

/// How long a draining engine lets running hooks finish (PROTOCOL 11).
pub const DRAIN_GRACE: Duration = Duration::from_secs(30);

/// How long a host may take to connect.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an end lets an HTTP/2 connection be silent before it pings: a peer that vanished without
/// a word shows in no other way. A host pings only while calls run.
///
/// A stock gRPC server (Go, Java, C++ and what is built on it) wants five minutes between pings, and
/// two hours where no call runs. It forgives two that come earlier and answers the next with `GOAWAY`
/// `too_many_pings`, which ends the calls of all; whatever it says itself starts the count anew. At
/// this interval that takes two minutes of silence in a running call, and no hook is waited for in
/// silence for more than 30 s unless its engine asks for it (R7.1). Our own server minds no ping.
pub const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// How long the answer to a ping may take.
pub const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// HTTP/2 flow-control window of a stream, in bytes: one full send of a long conversation must not
/// wait for a round trip per 64 KiB.
pub const STREAM_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// HTTP/2 flow-control window of a connection, in bytes.
pub const CONNECTION_WINDOW_BYTES: u32 = 2 * 1024 * 1024;

/// The engine's share of a deadline: what is left after the host's reserve for its own answer,
/// `min(250 ms, deadline / 4)` (R7.1).
pub fn share(deadline: Duration) -> Duration {
    deadline.saturating_sub(Duration::from_millis(250).min(deadline / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_leaves_a_quarter_or_250_ms() {
        assert_eq!(share(Duration::from_secs(5)), Duration::from_millis(4750));
        assert_eq!(share(Duration::from_millis(100)), Duration::from_millis(75));
        assert_eq!(share(Duration::ZERO), Duration::ZERO);
    }
}
