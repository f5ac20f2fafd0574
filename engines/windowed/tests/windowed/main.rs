//! Acceptance of the windowed engine: the numbered cases that apply to an engine without a store.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic and say that it was skipped"
)]

mod assembly;
mod content;
mod engine;
mod fields;
mod properties;
mod session;
mod stateless;
mod support;
