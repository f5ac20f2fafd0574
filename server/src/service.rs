//! The service on the wire: every RPC to its hook. Absent methods never get here; see
//! [`crate::methods`].

use std::sync::Arc;

use contextwire_proto::v1;
use contextwire_proto::v1::context_engine_service_server::ContextEngineService;
use tonic::{Request, Response, Status, Streaming};

use crate::hook::{
    self, AfterTurnHook, AssembleHook, BootstrapHook, CommitTurnHook, CompactHook, DisposeHook,
    EndSubagentHook, FrameStream, IngestBatchHook, IngestHook, MaintainHook,
    PrepareSubagentSpawnHook, ResolveSubagentSpawnHook,
};
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
        hook::answer::<IngestHook>(&self.0, request).await
    }

    async fn ingest_batch(
        &self,
        request: Request<v1::IngestBatchRequest>,
    ) -> Answer<v1::IngestBatchResponse> {
        hook::answer::<IngestBatchHook>(&self.0, request).await
    }

    async fn commit_turn(
        &self,
        request: Request<v1::CommitTurnRequest>,
    ) -> Answer<v1::CommitTurnResponse> {
        hook::answer::<CommitTurnHook>(&self.0, request).await
    }

    async fn prepare_subagent_spawn(
        &self,
        request: Request<v1::PrepareSubagentSpawnRequest>,
    ) -> Answer<v1::PrepareSubagentSpawnResponse> {
        hook::answer::<PrepareSubagentSpawnHook>(&self.0, request).await
    }

    async fn resolve_subagent_spawn(
        &self,
        request: Request<v1::ResolveSubagentSpawnRequest>,
    ) -> Answer<v1::ResolveSubagentSpawnResponse> {
        hook::answer::<ResolveSubagentSpawnHook>(&self.0, request).await
    }

    async fn end_subagent(
        &self,
        request: Request<v1::EndSubagentRequest>,
    ) -> Answer<v1::EndSubagentResponse> {
        hook::answer::<EndSubagentHook>(&self.0, request).await
    }

    async fn dispose(&self, request: Request<v1::DisposeRequest>) -> Answer<v1::DisposeResponse> {
        hook::answer::<DisposeHook>(&self.0, request).await
    }

    async fn assemble(
        &self,
        request: Request<Streaming<v1::AssembleRequest>>,
    ) -> Answer<Self::AssembleStream> {
        hook::open::<AssembleHook>(&self.0, request)
    }

    async fn bootstrap(
        &self,
        request: Request<Streaming<v1::BootstrapRequest>>,
    ) -> Answer<Self::BootstrapStream> {
        hook::open::<BootstrapHook>(&self.0, request)
    }

    async fn compact(
        &self,
        request: Request<Streaming<v1::CompactRequest>>,
    ) -> Answer<Self::CompactStream> {
        hook::open::<CompactHook>(&self.0, request)
    }

    async fn after_turn(
        &self,
        request: Request<Streaming<v1::AfterTurnRequest>>,
    ) -> Answer<Self::AfterTurnStream> {
        hook::open::<AfterTurnHook>(&self.0, request)
    }

    async fn maintain(
        &self,
        request: Request<Streaming<v1::MaintainRequest>>,
    ) -> Answer<Self::MaintainStream> {
        hook::open::<MaintainHook>(&self.0, request)
    }
}
