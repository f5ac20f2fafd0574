//! Every hook over a real socket, one frame at a time.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod absent;
mod every;
mod harness;
mod ingest;
mod log;
