//! The trait that an engine author implements.

use std::future::Future;

use crate::after_turn::AfterTurn;
use crate::assemble::{Assemble, AssembleOutcome};
use crate::bootstrap::{Bootstrap, Bootstrapped};
use crate::commit_turn::{CommitTurn, TurnCommitted};
use crate::compact::{Compact, Compacted};
use crate::context::HookContext;
use crate::dispose::Dispose;
use crate::error::EngineError;
use crate::info::EngineInfo;
use crate::ingest::{Ingest, IngestBatch, Ingested, IngestedBatch};
use crate::maintain::{Maintain, Maintained};
use crate::subagent::{EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared};

/// A context engine: decides what the model sees.
///
/// An implementor writes plain `async fn`s. A method may be dropped at any await when the host no
/// longer waits; a panic ends its call only (R6.4). Errors say by their
/// [`kind`](crate::ErrorKind) what the host can do. The methods that [`EngineInfo::methods`] names
/// are exactly those that do not answer [`crate::ErrorKind::Unsupported`] (R1.1).
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

    /// Appends several messages, all or none. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> impl Future<Output = Result<IngestedBatch, EngineError>> + Send {
        async { Err(EngineError::unsupported("IngestBatch")) }
    }

    /// Imports a session's log. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn bootstrap(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> impl Future<Output = Result<Bootstrapped, EngineError>> + Send {
        async { Err(EngineError::unsupported("Bootstrap")) }
    }

    /// Takes note of what a turn added to the log. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn after_turn(
        &self,
        cx: &HookContext,
        request: AfterTurn,
    ) -> impl Future<Output = Result<(), EngineError>> + Send {
        async { Err(EngineError::unsupported("AfterTurn")) }
    }

    /// Stores a closed turn, all of it or nothing. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> impl Future<Output = Result<TurnCommitted, EngineError>> + Send {
        async { Err(EngineError::unsupported("CommitTurn")) }
    }

    /// Tidies up; may rewrite entries through [`HookContext::host`]. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn maintain(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> impl Future<Output = Result<Maintained, EngineError>> + Send {
        async { Err(EngineError::unsupported("Maintain")) }
    }

    /// Prepares what a child inherits. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn prepare_subagent_spawn(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> impl Future<Output = Result<SpawnPrepared, EngineError>> + Send {
        async { Err(EngineError::unsupported("PrepareSubagentSpawn")) }
    }

    /// Settles a preparation. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn resolve_subagent_spawn(
        &self,
        cx: &HookContext,
        request: ResolveSubagentSpawn,
    ) -> impl Future<Output = Result<(), EngineError>> + Send {
        async { Err(EngineError::unsupported("ResolveSubagentSpawn")) }
    }

    /// Takes note of a child's end. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn end_subagent(
        &self,
        cx: &HookContext,
        request: EndSubagent,
    ) -> impl Future<Output = Result<(), EngineError>> + Send {
        async { Err(EngineError::unsupported("EndSubagent")) }
    }

    /// Closes what this host opened. Optional.
    #[expect(
        unused_variables,
        reason = "the default answers that the method is absent"
    )]
    fn dispose(
        &self,
        cx: &HookContext,
        request: Dispose,
    ) -> impl Future<Output = Result<(), EngineError>> + Send {
        async { Err(EngineError::unsupported("Dispose")) }
    }
}
