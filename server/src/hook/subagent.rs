//! Subagents: what a child inherits, whether it started, and its end.

use contextwire_engine::{AnyEngine, ContextEngine, EngineError, Hook, HookContext};
use contextwire_proto::convert::{
    EndSubagentRequest, EndSubagentResponse, PrepareSubagentSpawnRequest,
    PrepareSubagentSpawnResponse, ResolveSubagentSpawnRequest, ResolveSubagentSpawnResponse,
};
use contextwire_proto::{CallContext, v1};

use super::UnaryHook;

#[derive(Debug)]
pub(crate) struct PrepareSubagentSpawnHook;

impl UnaryHook for PrepareSubagentSpawnHook {
    const HOOK: Hook = Hook::PrepareSubagentSpawn;
    type RequestWire = v1::PrepareSubagentSpawnRequest;
    type Request = PrepareSubagentSpawnRequest;
    type ResponseWire = v1::PrepareSubagentSpawnResponse;
    type Response = PrepareSubagentSpawnResponse;

    fn call(request: &PrepareSubagentSpawnRequest) -> &CallContext {
        &request.call
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        PrepareSubagentSpawnRequest { call: _, request }: PrepareSubagentSpawnRequest,
    ) -> Result<PrepareSubagentSpawnResponse, EngineError> {
        let prepared = engine.prepare_subagent_spawn(cx, request).await?;
        let reply = cx.take_reply();
        Ok(PrepareSubagentSpawnResponse { reply, prepared })
    }
}

#[derive(Debug)]
pub(crate) struct ResolveSubagentSpawnHook;

impl UnaryHook for ResolveSubagentSpawnHook {
    const HOOK: Hook = Hook::ResolveSubagentSpawn;
    type RequestWire = v1::ResolveSubagentSpawnRequest;
    type Request = ResolveSubagentSpawnRequest;
    type ResponseWire = v1::ResolveSubagentSpawnResponse;
    type Response = ResolveSubagentSpawnResponse;

    fn call(request: &ResolveSubagentSpawnRequest) -> &CallContext {
        &request.call
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        ResolveSubagentSpawnRequest { call: _, request }: ResolveSubagentSpawnRequest,
    ) -> Result<ResolveSubagentSpawnResponse, EngineError> {
        engine.resolve_subagent_spawn(cx, request).await?;
        let reply = cx.take_reply();
        Ok(ResolveSubagentSpawnResponse { reply })
    }
}

#[derive(Debug)]
pub(crate) struct EndSubagentHook;

impl UnaryHook for EndSubagentHook {
    const HOOK: Hook = Hook::EndSubagent;
    type RequestWire = v1::EndSubagentRequest;
    type Request = EndSubagentRequest;
    type ResponseWire = v1::EndSubagentResponse;
    type Response = EndSubagentResponse;

    fn call(request: &EndSubagentRequest) -> &CallContext {
        &request.call
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        EndSubagentRequest { call: _, request }: EndSubagentRequest,
    ) -> Result<EndSubagentResponse, EngineError> {
        engine.end_subagent(cx, request).await?;
        let reply = cx.take_reply();
        Ok(EndSubagentResponse { reply })
    }
}
