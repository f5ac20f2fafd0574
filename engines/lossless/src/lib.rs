//! A context engine that loses nothing.
//!
//! What hosts say is kept as a log that never changes; summaries stand over runs of it, and an
//! immutable, versioned plan says which entries and summaries stand for the session now. Assembly
//! fits the current plan into a budget; compaction writes the next one beside it.

mod identity;
pub mod node;
pub mod plan;
pub mod publish;
pub mod rows;
mod span;

pub use node::SummaryNode;
pub use plan::Plan;
pub use span::Span;
