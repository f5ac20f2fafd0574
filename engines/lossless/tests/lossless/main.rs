//! The lossless engine over its stores: one suite for both of them, its hooks, and what must hold
//! whatever happens.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

mod assemble;
mod compact;
mod dispose;
mod erase;
mod kill;
mod laws;
mod log;
mod past;
mod session;
mod store;
mod stub;
mod sub;
mod support;
