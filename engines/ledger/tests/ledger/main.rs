//! The ledger engine from outside: hooks in, its file out.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod busy;
mod delegate;
mod faults;
mod field;
mod host_model;
mod idm;
mod kill;
mod laws;
mod log;
mod order;
mod replicas;
mod rewind;
mod sub;
mod support;
mod turns;
