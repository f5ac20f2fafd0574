//! The trait that an engine author implements.

use std::future::Future;

use crate::assemble::{Assemble, AssembleOutcome};
use crate::compact::{Compact, Compacted};
use crate::context::HookContext;
use crate::error::EngineError;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, Ingested};

/// A context engine: decides what the model sees.
///
/// An implementor writes plain `async fn`s. A method may be dropped at any await when the host no
/// longer waits; a panic ends its call only (R6.4). Errors say by their
/// [`kind`](crate::ErrorKind) what the host can do.
pub trait ContextEngine: Send + Sync + 'static {
    /// Identity and declarations; no side effects, equal in every call.
    fn info(&self) -> EngineInfo;

    /// Appends one message to the engine's log (HOST-SEMANTICS 2).
    fn ingest(
        &self,
        cx: &HookContext,
        request: Ingest,
    ) -> impl Future<Output = Result<Ingested, EngineError>> + Send;

    /// Decides what the model sees of the view. Changes nothing (PROTOCOL 1).
    fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> impl Future<Output = Result<AssembleOutcome, EngineError>> + Send;

    /// Makes room by summarising, or says why not (R1.2).
    fn compact(
        &self,
        cx: &HookContext,
        request: Compact,
    ) -> impl Future<Output = Result<Compacted, EngineError>> + Send;
}
