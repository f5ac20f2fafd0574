//! The legacy engine and its compaction against what a host of it expects. The numbers in names are
//! the cases of HOST-SEMANTICS (`c…`), the field reports (`br_…`) and the rules (`r…`, `e_…`).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic and say that it was skipped"
)]

mod compaction;
mod context;
#[cfg(feature = "openai")]
mod endpoint;
mod engine;
mod failure;
mod host_model;
mod log;
mod properties;
mod session;
mod support;
