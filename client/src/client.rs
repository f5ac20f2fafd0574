//! The typed face of the stack.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted, Dispose,
    EndSubagent, Hook, Host, Ingest, IngestBatch, Ingested, IngestedBatch, InvalidId, Maintain,
    Maintained, PrepareSubagentSpawn, ResolveSubagentSpawn, Session, SessionId, SpawnPrepared,
    Transcript, TurnCommitted,
};
use contextwire_proto::handshake::EngineDescription;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::batch::batches;
use crate::call::{Answer, Call, Served, ServedBy};
use crate::connect;
use crate::context::Context;
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::options::ClientOptions;
use crate::order::HostOrder;
use crate::request::{EngineRequest, HookRequest};
use crate::stack::{Stack, stack};
use crate::target::Target;

/// A client of one engine. Cheap to clone; clones share the connection and what is known.
///
/// Nothing is connected before the first call, and a call never waits longer than its deadline,
/// whatever the engine does.
#[derive(Clone, Debug)]
pub struct EngineClient {
    stack: Stack,
    pub(crate) known: Arc<Acquaintance>,
    order: Arc<HostOrder>,
    /// What every call tells the engine of the host's log.
    log: Option<Transcript>,
    /// Who serves what engines ask during a call.
    host: Host,
}

impl EngineClient {
    /// A client with the default options.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn new(target: &Target) -> Result<Self, CallError> {
        Self::with_options(target, &ClientOptions::default())
    }

    /// A client with these options.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn with_options(target: &Target, options: &ClientOptions) -> Result<Self, CallError> {
        let stub = connect::stub(target, options.max_message_bytes).map_err(|error| {
            CallError::Unsupported(format!("`{target}` is no address: {error}"))
        })?;
        let known = Arc::new(Acquaintance::new(stub.clone(), target, options));
        let order = Arc::new(HostOrder::starting_after(options.last_host_epoch));
        Ok(Self {
            stack: stack(stub, (Arc::clone(&known), Arc::clone(&order)), options),
            known,
            order,
            log: None,
            host: Host::default(),
        })
    }

    /// Asks the engine what it is.
    ///
    /// # Errors
    /// When it cannot be reached within `deadline`, or its description breaks the contract.
    pub async fn describe(&self, deadline: Duration) -> Result<Arc<EngineDescription>, CallError> {
        self.known.ask(deadline).await
    }

    /// What the engine is; asked only while nobody knows, or what it said is no longer valid.
    ///
    /// # Errors
    /// As [`EngineClient::describe`], within the deadline of that hook.
    pub async fn engine(&self) -> Result<Arc<EngineDescription>, CallError> {
        self.known.engine().await
    }

    /// What the engine is, where somebody knows; asks nobody.
    pub fn known(&self) -> Option<Arc<EngineDescription>> {
        self.known.current()
    }

    /// The epoch of this host's order. A host that stores it gives it back as
    /// [`ClientOptions::last_host_epoch`] when it starts again, so that no clock set back puts it
    /// below its own past (R7.9).
    pub fn host_epoch(&self) -> u64 {
        self.order.epoch()
    }

    /// A client of the same engine whose calls tell it of the host's stored log: an engine that is
    /// behind asks for it within the call and gets what it lacks (R3.3). Costs a state a call.
    #[must_use]
    pub fn with_log(&self, log: Transcript) -> Self {
        Self {
            log: Some(log),
            ..self.clone()
        }
    }

    /// A client of the same engine whose streaming calls serve what the engine asks back: rewriting
    /// stored entries, asking the model, reading the log, compacting (R1.6). The host is one
    /// session's; see [`SessionHost`](crate::SessionHost).
    #[must_use]
    pub fn with_host(&self, host: Host) -> Self {
        Self {
            host,
            ..self.clone()
        }
    }

    /// Asks what the model is to see of `request.transcript`.
    ///
    /// # Errors
    /// None while failures are substituted; see [`crate::OnEngineFailure`].
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
    /// As [`EngineClient::assemble`].
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
    /// As [`EngineClient::ingest`].
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
        let ends = Instant::now() + Hook::IngestBatch.profile().deadline;
        let max_bytes = self.known.max_message_bytes(ends).await;
        let mut batches = batches(request, max_bytes).into_iter();
        let mut ingested_count = 0;
        loop {
            let batch = batches.next().unwrap_or_default();
            let left = ends.saturating_duration_since(Instant::now());
            let served = self
                .typed::<IngestBatch>(session, batch.into(), left)
                .await?;
            ingested_count += served.result.ingested_count;
            if batches.len() == 0 || served.by == ServedBy::InProcess {
                return Ok(served.map(|_| IngestedBatch { ingested_count }));
            }
        }
    }

    /// Asks the engine to make room.
    ///
    /// # Errors
    /// Any failure of the engine; compaction has no substitute here.
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
    /// As [`EngineClient::compact`].
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

    /// Tells the engine that this host goes away.
    ///
    /// # Errors
    /// Any failure of the engine, worth a warning. An engine without the method is not told.
    pub async fn dispose(&self) -> Result<Served<()>, CallError> {
        let host_instance = self.known.host_instance().to_owned();
        let named = |error: InvalidId| CallError::Unsupported(error.to_string());
        let session = Session::new(SessionId::new(host_instance.as_str()).map_err(named)?);
        self.send(&session, Dispose { host_instance }).await
    }

    /// Sends a call through the stack.
    ///
    /// # Errors
    /// When neither the engine nor a substitute answered.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        self.stack.clone().oneshot(call).await
    }

    async fn send<R: HookRequest>(
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
        let call = Call {
            host: self.host.clone(),
            ..Call::new(session.clone(), request, deadline).with_log(self.log.clone())
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
