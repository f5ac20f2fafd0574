//! Where finished summaries and plans go.

use std::future::Future;
use std::pin::Pin;

use contextwire_engine::Digest;

use crate::node::{NodeId, SummaryNode};
use crate::plan::Plan;

/// An answer of a store, in time.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, SinkError>> + Send + 'a>>;

/// Keeps what a compaction makes of one session. Every node is kept as soon as it is finished, so that an
/// interrupted compaction goes on where it stopped; a plan takes effect at the end, in one step.
pub trait Sink: Send + Sync {
    /// The finished node for the same work, under [`SummaryNode::source_key`]; none where there is none
    /// or where it may not be used any more.
    fn find(&self, source_key: Digest) -> Stored<'_, Option<SummaryNode>>;

    /// Keeps a node. Its sources are checked in the same step: [`SinkError::Stale`] where one of them is
    /// not what it was any more (C14).
    fn keep<'a>(&'a self, node: &'a SummaryNode) -> Stored<'a, ()>;

    /// Makes a plan the current one, in place of the version before it. `replaced` are summaries whose
    /// place a better one took. [`SinkError::Stale`] where another version is current, or where one of
    /// its summaries may not be used any more.
    fn publish<'a>(&'a self, plan: &'a Plan, replaced: &'a [NodeId]) -> Stored<'a, ()>;
}

/// Why a store did not keep something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// What it was made from changed meanwhile.
    #[error("the conversation changed while it was summarised")]
    Stale,
    /// The store cannot write.
    #[error("the store cannot write")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
