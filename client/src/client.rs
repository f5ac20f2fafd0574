//! The typed face of the stack.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    Assemble, AssembleOutcome, Compact, Compacted, Hook, Ingest, Ingested, Message, Session,
    Transcript,
};
use contextwire_proto::handshake::EngineDescription;
use tower::ServiceExt;

use crate::call::{Answer, Call, EngineReply, EngineRequest, Served};
use crate::connect;
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::options::ClientOptions;
use crate::stack::{Stack, stack};
use crate::target::Target;

/// A client of one engine. Cheap to clone; clones share the connection and what is known.
///
/// Nothing is connected before the first call, and a call never waits longer than its deadline,
/// whatever the engine does.
#[derive(Clone, Debug)]
pub struct EngineClient {
    stack: Stack,
    known: Arc<Acquaintance>,
}

/// What the model is to see.
#[derive(Clone, Debug)]
pub struct Context {
    /// The outcome as the engine, or whoever served, gave it.
    pub outcome: AssembleOutcome,
    /// The view that its ranges refer to.
    pub view: Transcript,
}

impl Context {
    /// The messages in order; kept ones are the caller's own objects. Nothing when the outcome is
    /// that a thread shows the right context already.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        let messages = match &self.outcome {
            AssembleOutcome::Messages(reply) => Some(&reply.messages),
            AssembleOutcome::Unchanged(_) => None,
        };
        messages
            .into_iter()
            .flat_map(|messages| messages.messages(&self.view))
    }

    /// The estimate in tokens of whoever served.
    pub fn estimated_tokens(&self) -> u64 {
        match &self.outcome {
            AssembleOutcome::Messages(reply) => reply.estimated_tokens,
            AssembleOutcome::Unchanged(unchanged) => unchanged.estimated_tokens,
        }
    }
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
        let known = Arc::new(Acquaintance::new(stub.clone(), options));
        Ok(Self {
            stack: stack(stub, Arc::clone(&known), options),
            known,
        })
    }

    /// Asks the engine what it is.
    ///
    /// # Errors
    /// When it cannot be reached within `deadline`, or its description breaks the contract.
    pub async fn describe(&self, deadline: Duration) -> Result<Arc<EngineDescription>, CallError> {
        self.known.ask(deadline).await
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
        self.assemble_within(session, request, Hook::Assemble.profile().deadline)
            .await
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
        let request = EngineRequest::Assemble(request);
        let served = self
            .call(Call::new(session.clone(), request, deadline))
            .await?;
        typed(served, |reply| match reply {
            EngineReply::Assembled(outcome) => Some(Context { outcome, view }),
            EngineReply::Ingested(_) | EngineReply::Compacted(_) => None,
        })
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
        self.ingest_within(session, request, Hook::Ingest.profile().deadline)
            .await
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
        let request = EngineRequest::Ingest(request);
        let served = self
            .call(Call::new(session.clone(), request, deadline))
            .await?;
        typed(served, |reply| match reply {
            EngineReply::Ingested(ingested) => Some(ingested),
            EngineReply::Assembled(_) | EngineReply::Compacted(_) => None,
        })
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
        self.compact_within(session, request, Hook::Compact.profile().deadline)
            .await
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
        let request = EngineRequest::Compact(request);
        let served = self
            .call(Call::new(session.clone(), request, deadline))
            .await?;
        typed(served, |reply| match reply {
            EngineReply::Compacted(compacted) => Some(compacted),
            EngineReply::Assembled(_) | EngineReply::Ingested(_) => None,
        })
    }

    /// Sends a call through the stack.
    ///
    /// # Errors
    /// When neither the engine nor a substitute answered.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        self.stack.clone().oneshot(call).await
    }
}

/// The reply of the call's own hook; another one cannot come out of the stack.
fn typed<T>(
    served: Answer,
    pick: impl FnOnce(EngineReply) -> Option<T>,
) -> Result<Served<T>, CallError> {
    let Served {
        result,
        by,
        reason,
        traffic,
    } = served;
    let result = pick(result)
        .ok_or_else(|| CallError::ContractViolation("the reply of another hook".to_owned()))?;
    Ok(Served {
        result,
        by,
        reason,
        traffic,
    })
}
