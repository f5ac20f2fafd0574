//! A context engine that loses nothing.
//!
//! What hosts say is kept as a log that never changes; summaries stand over runs of it, and an
//! immutable, versioned plan says which entries and summaries stand for the session now. Assembly
//! fits the current plan into a budget; compaction writes the next one beside it.

mod admin;
pub mod compaction;
mod engine;
pub mod entry;
mod erase;
pub mod fit;
mod identity;
pub mod look;
pub mod node;
mod pair;
mod past;
pub mod plan;
pub mod publish;
mod redact;
pub mod rows;
mod snapshot;
mod span;
#[cfg(test)]
mod testing;
mod verify;

pub use admin::LosslessAdmin;
pub use engine::{LosslessEngine, LosslessOptions, open_file};
pub use node::SummaryNode;
pub use past::{PastSession, Standing};
pub use plan::Plan;
pub use redact::{Redaction, RedactionError};
pub use snapshot::{Nodes, Snapshot};
pub use span::Span;
pub use verify::{Fault, verify};
