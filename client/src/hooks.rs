//! The typed face of whatever answers calls: one engine, the selected one, or a turn's.

use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted, EndSubagent,
    Hook, Host, Ingest, IngestBatch, Ingested, IngestedBatch, Maintain, Maintained,
    PrepareSubagentSpawn, ResolveSubagentSpawn, Scope, Session, SpawnPrepared, Transcript,
    TurnCommitted,
};
use tower::ServiceExt;

use crate::call::{Answer, Call, Served, TurnName};
use crate::context::Context;
use crate::error::CallError;
use crate::request::{EngineRequest, HookRequest};
use crate::stack::Stack;
use crate::trace_parent::TraceParent;

/// The hooks, one method each: [`EngineClient`](crate::EngineClient), [`Host`](crate::Host) and
/// [`Turn`](crate::Turn) all have them, and differ in who answers. Cheap to clone.
///
/// A call never waits longer than its deadline, whatever the engine does.
#[derive(Clone, Debug)]
pub struct Hooks {
    stack: Stack,
    terms: Terms,
}

/// What every call carries besides what is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    /// What the engine is told of the host's log.
    pub(crate) log: Option<Transcript>,
    /// Who serves what engines ask during a call.
    pub(crate) host: Host,
    /// Where the host's agent works.
    pub(crate) scope: Scope,
    pub(crate) turn: Option<TurnName>,
    pub(crate) trace: Option<TraceParent>,
}

impl Hooks {
    pub(crate) fn new(stack: Stack, terms: Terms) -> Self {
        Self { stack, terms }
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The same hooks on other terms.
    pub(crate) fn on(&self, change: impl FnOnce(&mut Terms)) -> Self {
        let mut hooks = self.clone();
        change(&mut hooks.terms);
        hooks
    }

    pub(crate) fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Asks what the model is to see of `request.transcript`.
    ///
    /// # Errors
    /// None while failures are substituted ([`OnEngineFailure`](crate::OnEngineFailure)), but that
    /// the host lacks what the engine requires.
    pub async fn assemble(
        &self,
        session: &Session,
        request: Assemble,
    ) -> Result<Served<Context>, CallError> {
        let deadline = Hook::Assemble.profile().deadline;
        self.assemble_within(session, request, deadline).await
    }

    /// The same with a deadline of one's own.
    ///
    /// # Errors
    /// As [`Hooks::assemble`].
    pub async fn assemble_within(
        &self,
        session: &Session,
        request: Assemble,
        deadline: Duration,
    ) -> Result<Served<Context>, CallError> {
        let view = request.transcript.clone();
        let served = self
            .typed::<Assemble>(session, request.into(), deadline)
            .await?;
        Ok(served.map(|outcome| Context { outcome, view }))
    }

    /// Hands the engine the log of a session that already had one.
    ///
    /// # Errors
    /// None while failures are substituted. An engine without the method imports nothing.
    pub async fn bootstrap(
        &self,
        session: &Session,
        request: Bootstrap,
    ) -> Result<Served<Bootstrapped>, CallError> {
        self.send(session, request).await
    }

    /// Appends one message to the engine's log.
    ///
    /// # Errors
    /// None while failures are substituted.
    pub async fn ingest(
        &self,
        session: &Session,
        request: Ingest,
    ) -> Result<Served<Ingested>, CallError> {
        let deadline = Hook::Ingest.profile().deadline;
        self.ingest_within(session, request, deadline).await
    }

    /// The same with a deadline of one's own.
    ///
    /// # Errors
    /// As [`Hooks::ingest`].
    pub async fn ingest_within(
        &self,
        session: &Session,
        request: Ingest,
        deadline: Duration,
    ) -> Result<Served<Ingested>, CallError> {
        self.typed::<Ingest>(session, request.into(), deadline)
            .await
    }

    /// Appends several messages to the engine's log, all or none. A batch that no message may
    /// carry goes in several, in order; it ends with the first one that the engine does not take,
    /// and `ingested_count` is what it took until then.
    ///
    /// # Errors
    /// None while failures are substituted. For an engine without the method the answer says so:
    /// the caller ingests message by message.
    pub async fn ingest_batch(
        &self,
        session: &Session,
        request: IngestBatch,
    ) -> Result<Served<IngestedBatch>, CallError> {
        self.send(session, request).await
    }

    /// Asks the engine to make room.
    ///
    /// # Errors
    /// The engine's failure where nobody compacts in its place
    /// ([`CompactFallback`](crate::CompactFallback)), or whoever does fails as well.
    pub async fn compact(
        &self,
        session: &Session,
        request: Compact,
    ) -> Result<Served<Compacted>, CallError> {
        let deadline = Hook::Compact.profile().deadline;
        self.compact_within(session, request, deadline).await
    }

    /// The same with a deadline of one's own.
    ///
    /// # Errors
    /// As [`Hooks::compact`].
    pub async fn compact_within(
        &self,
        session: &Session,
        request: Compact,
        deadline: Duration,
    ) -> Result<Served<Compacted>, CallError> {
        self.typed::<Compact>(session, request.into(), deadline)
            .await
    }

    /// Shows the engine the log after a turn.
    ///
    /// # Errors
    /// None while failures are substituted. For an engine without the method the answer says so:
    /// the caller ingests what the turn added.
    pub async fn after_turn(
        &self,
        session: &Session,
        request: AfterTurn,
    ) -> Result<Served<()>, CallError> {
        self.send(session, request).await
    }

    /// Stores a closed turn. Without an answer nobody knows whether it is stored: the same key is
    /// sent again.
    ///
    /// # Errors
    /// Any failure of the engine; [`CallError::Absent`] from one that is not durable.
    pub async fn commit_turn(
        &self,
        session: &Session,
        request: CommitTurn,
    ) -> Result<Served<TurnCommitted>, CallError> {
        self.send(session, request).await
    }

    /// Lets the engine tidy up.
    ///
    /// # Errors
    /// None while failures are substituted. An engine without the method tidies nothing.
    pub async fn maintain(
        &self,
        session: &Session,
        request: Maintain,
    ) -> Result<Served<Maintained>, CallError> {
        self.send(session, request).await
    }

    /// Prepares what a child inherits; `session` is the parent's.
    ///
    /// # Errors
    /// Any failure of the engine: the spawn fails. For an engine without the method it proceeds
    /// unprepared.
    pub async fn prepare_subagent_spawn(
        &self,
        session: &Session,
        request: PrepareSubagentSpawn,
    ) -> Result<Served<SpawnPrepared>, CallError> {
        self.send(session, request).await
    }

    /// Settles a preparation; `session` is the parent's. Without an answer it is sent again.
    ///
    /// # Errors
    /// Any failure of the engine. For an engine without the method there is nothing to settle.
    pub async fn resolve_subagent_spawn(
        &self,
        session: &Session,
        request: ResolveSubagentSpawn,
    ) -> Result<Served<()>, CallError> {
        self.send(session, request).await
    }

    /// Tells that a child ended; `session` is the child's.
    ///
    /// # Errors
    /// Any failure of the engine. An engine without the method is not told.
    pub async fn end_subagent(
        &self,
        session: &Session,
        request: EndSubagent,
    ) -> Result<Served<()>, CallError> {
        self.send(session, request).await
    }

    /// Sends a call.
    ///
    /// # Errors
    /// When neither the engine nor a substitute answered.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        self.stack.clone().oneshot(call).await
    }

    pub(crate) async fn send<R: HookRequest>(
        &self,
        session: &Session,
        request: R,
    ) -> Result<Served<R::Result>, CallError> {
        let request = request.into();
        let deadline = request.deadline();
        self.typed::<R>(session, request, deadline).await
    }

    async fn typed<R: HookRequest>(
        &self,
        session: &Session,
        request: EngineRequest,
        deadline: Duration,
    ) -> Result<Served<R::Result>, CallError> {
        let Terms {
            log,
            host,
            scope,
            turn,
            trace,
        } = self.terms.clone();
        let call = Call {
            log,
            host,
            scope,
            turn,
            trace,
            ..Call::new(session.clone(), request, deadline)
        };
        let Served {
            result,
            by,
            reason,
            said,
            traffic,
        } = self.call(call).await?;
        // Another hook's reply cannot come out of the stack.
        let other = || CallError::ContractViolation("the reply of another hook".to_owned());
        Ok(Served {
            result: R::result(result).ok_or_else(other)?,
            by,
            reason,
            said,
            traffic,
        })
    }
}
