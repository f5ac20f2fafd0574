//! The service on the wire: every RPC to its hook, absent ones refused at once (R1.1).

use std::sync::Arc;

use contextwire_engine::Hook;
use contextwire_proto::v1;
use contextwire_proto::v1::context_engine_service_server::ContextEngineService;
use tonic::{Request, Response, Status, Streaming};

use crate::hook::{self, AssembleHook, CompactHook, FrameStream};
use crate::refuse;
use crate::shared::Shared;

#[derive(Clone, Debug)]
pub(crate) struct EngineService(pub(crate) Arc<Shared>);

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ContextEngineService for EngineService {
    type AssembleStream = FrameStream<v1::AssembleResponse>;
    type CompactStream = FrameStream<v1::CompactResponse>;
    type BootstrapStream = FrameStream<v1::BootstrapResponse>;
    type AfterTurnStream = FrameStream<v1::AfterTurnResponse>;
    type MaintainStream = FrameStream<v1::MaintainResponse>;

    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Answer<v1::DescribeResponse> {
        hook::describe(&self.0, request)
    }

    async fn ingest(&self, request: Request<v1::IngestRequest>) -> Answer<v1::IngestResponse> {
        hook::ingest(&self.0, request).await
    }

    async fn assemble(
        &self,
        request: Request<Streaming<v1::AssembleRequest>>,
    ) -> Answer<Self::AssembleStream> {
        hook::open::<AssembleHook>(&self.0, request)
    }

    async fn compact(
        &self,
        request: Request<Streaming<v1::CompactRequest>>,
    ) -> Answer<Self::CompactStream> {
        hook::open::<CompactHook>(&self.0, request)
    }

    async fn ingest_batch(
        &self,
        _: Request<v1::IngestBatchRequest>,
    ) -> Answer<v1::IngestBatchResponse> {
        Err(refuse::absent(Hook::IngestBatch))
    }

    async fn bootstrap(
        &self,
        _: Request<Streaming<v1::BootstrapRequest>>,
    ) -> Answer<Self::BootstrapStream> {
        Err(refuse::absent(Hook::Bootstrap))
    }

    async fn after_turn(
        &self,
        _: Request<Streaming<v1::AfterTurnRequest>>,
    ) -> Answer<Self::AfterTurnStream> {
        Err(refuse::absent(Hook::AfterTurn))
    }

    async fn commit_turn(
        &self,
        _: Request<v1::CommitTurnRequest>,
    ) -> Answer<v1::CommitTurnResponse> {
        Err(refuse::absent(Hook::CommitTurn))
    }

    async fn maintain(
        &self,
        _: Request<Streaming<v1::MaintainRequest>>,
    ) -> Answer<Self::MaintainStream> {
        Err(refuse::absent(Hook::Maintain))
    }

    async fn prepare_subagent_spawn(
        &self,
        _: Request<v1::PrepareSubagentSpawnRequest>,
    ) -> Answer<v1::PrepareSubagentSpawnResponse> {
        Err(refuse::absent(Hook::PrepareSubagentSpawn))
    }

    async fn resolve_subagent_spawn(
        &self,
        _: Request<v1::ResolveSubagentSpawnRequest>,
    ) -> Answer<v1::ResolveSubagentSpawnResponse> {
        Err(refuse::absent(Hook::ResolveSubagentSpawn))
    }

    async fn end_subagent(
        &self,
        _: Request<v1::EndSubagentRequest>,
    ) -> Answer<v1::EndSubagentResponse> {
        Err(refuse::absent(Hook::EndSubagent))
    }

    async fn dispose(&self, _: Request<v1::DisposeRequest>) -> Answer<v1::DisposeResponse> {
        Err(refuse::absent(Hook::Dispose))
    }
}
