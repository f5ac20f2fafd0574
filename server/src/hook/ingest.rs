//! Ingest and `IngestBatch`: messages for the engine's log.

use contextwire_engine::{AnyEngine, ContextEngine, EngineError, Hook, HookContext, Message};
use contextwire_proto::convert::{
    IngestBatchRequest, IngestBatchResponse, IngestRequest, IngestResponse,
};
use contextwire_proto::{CallContext, Reason, Refusal, v1};
use tonic::Status;

use super::UnaryHook;

#[derive(Debug)]
pub(crate) struct IngestHook;

impl UnaryHook for IngestHook {
    const HOOK: Hook = Hook::Ingest;
    type RequestWire = v1::IngestRequest;
    type Request = IngestRequest;
    type ResponseWire = v1::IngestResponse;
    type Response = IngestResponse;

    fn call(request: &IngestRequest) -> &CallContext {
        &request.call
    }

    fn check(IngestRequest { request, .. }: &IngestRequest) -> Result<(), Status> {
        whole("message", &request.message)
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        IngestRequest { call: _, request }: IngestRequest,
    ) -> Result<IngestResponse, EngineError> {
        let ingested = engine.ingest(cx, request).await?;
        let reply = cx.take_reply();
        Ok(IngestResponse { reply, ingested })
    }
}

#[derive(Debug)]
pub(crate) struct IngestBatchHook;

impl UnaryHook for IngestBatchHook {
    const HOOK: Hook = Hook::IngestBatch;
    type RequestWire = v1::IngestBatchRequest;
    type Request = IngestBatchRequest;
    type ResponseWire = v1::IngestBatchResponse;
    type Response = IngestBatchResponse;

    fn call(request: &IngestBatchRequest) -> &CallContext {
        &request.call
    }

    /// One message that cannot be stored refuses all of them.
    fn check(IngestBatchRequest { request, .. }: &IngestBatchRequest) -> Result<(), Status> {
        let mut messages = request.messages.iter().enumerate();
        messages.try_for_each(|(index, message)| whole(&format!("messages[{index}]"), message))
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        IngestBatchRequest { call: _, request }: IngestBatchRequest,
    ) -> Result<IngestBatchResponse, EngineError> {
        let ingested = engine.ingest_batch(cx, request).await?;
        let reply = cx.take_reply();
        Ok(IngestBatchResponse { reply, ingested })
    }
}

/// Refuses a stub: only the header of the message travelled, there is nothing to store (R2.5).
fn whole(field: &str, message: &Message) -> Result<(), Status> {
    let Some(omitted) = message.omitted() else {
        return Ok(());
    };
    Err(Refusal::new(
        Reason::MessageTooLarge,
        format!("{field} has {} bytes and cannot be ingested", omitted.bytes),
    )
    .with("bytes", &omitted.bytes)
    .with("field", field)
    .into_status())
}
