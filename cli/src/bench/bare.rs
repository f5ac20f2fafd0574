//! The baseline: the generated service with the least that answers.

use std::pin::Pin;

use contextwire_proto::v1;
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use contextwire_proto::v1::context_engine_service_server::ContextEngineService;
use tokio_stream::{Empty, Stream, StreamExt};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use super::apart::Apart;

/// Answers every Ingest alike.
#[derive(Debug, Default)]
pub(super) struct Bare {
    /// What answers the first frame of every Assemble.
    pub(super) assembled: v1::AssembleResponse,
    /// What answers each frame of every Compact.
    pub(super) called: v1::CompactResponse,
}

/// The generated stub on a channel with tonic's own settings.
pub(super) type BareStub = ContextEngineServiceClient<Channel>;

/// Connects to a server.
pub(super) async fn connect(server: &Apart) -> anyhow::Result<BareStub> {
    let endpoint = Endpoint::from_shared(server.target().to_string())?;
    Ok(BareStub::new(endpoint.connect().await?))
}

type Answer<T> = Result<Response<T>, Status>;

fn absent<T>() -> Answer<T> {
    Err(Status::unimplemented("not measured"))
}

#[tonic::async_trait]
impl ContextEngineService for Bare {
    type AssembleStream =
        Pin<Box<dyn Stream<Item = Result<v1::AssembleResponse, Status>> + Send + 'static>>;
    type BootstrapStream = Empty<Result<v1::BootstrapResponse, Status>>;
    type CompactStream =
        Pin<Box<dyn Stream<Item = Result<v1::CompactResponse, Status>> + Send + 'static>>;
    type AfterTurnStream = Empty<Result<v1::AfterTurnResponse, Status>>;
    type MaintainStream = Empty<Result<v1::MaintainResponse, Status>>;

    async fn ingest(&self, _: Request<v1::IngestRequest>) -> Answer<v1::IngestResponse> {
        Ok(Response::new(v1::IngestResponse {
            reply: None,
            ingested: true,
        }))
    }

    async fn assemble(
        &self,
        request: Request<Streaming<v1::AssembleRequest>>,
    ) -> Answer<Self::AssembleStream> {
        let assembled = self.assembled.clone();
        let echo = move |frame: Result<_, Status>| frame.map(|_| assembled.clone());
        // One result, then the trailers, as the contract has it.
        let answers = request.into_inner().map(echo).take(1);
        Ok(Response::new(Box::pin(answers)))
    }

    async fn describe(&self, _: Request<v1::DescribeRequest>) -> Answer<v1::DescribeResponse> {
        absent()
    }

    async fn ingest_batch(
        &self,
        _: Request<v1::IngestBatchRequest>,
    ) -> Answer<v1::IngestBatchResponse> {
        absent()
    }

    async fn bootstrap(
        &self,
        _: Request<Streaming<v1::BootstrapRequest>>,
    ) -> Answer<Self::BootstrapStream> {
        absent()
    }

    async fn compact(
        &self,
        request: Request<Streaming<v1::CompactRequest>>,
    ) -> Answer<Self::CompactStream> {
        let called = self.called.clone();
        let echo = move |frame: Result<_, Status>| frame.map(|_| called.clone());
        Ok(Response::new(Box::pin(request.into_inner().map(echo))))
    }

    async fn after_turn(
        &self,
        _: Request<Streaming<v1::AfterTurnRequest>>,
    ) -> Answer<Self::AfterTurnStream> {
        absent()
    }

    async fn commit_turn(
        &self,
        _: Request<v1::CommitTurnRequest>,
    ) -> Answer<v1::CommitTurnResponse> {
        absent()
    }

    async fn maintain(
        &self,
        _: Request<Streaming<v1::MaintainRequest>>,
    ) -> Answer<Self::MaintainStream> {
        absent()
    }

    async fn prepare_subagent_spawn(
        &self,
        _: Request<v1::PrepareSubagentSpawnRequest>,
    ) -> Answer<v1::PrepareSubagentSpawnResponse> {
        absent()
    }

    async fn resolve_subagent_spawn(
        &self,
        _: Request<v1::ResolveSubagentSpawnRequest>,
    ) -> Answer<v1::ResolveSubagentSpawnResponse> {
        absent()
    }

    async fn end_subagent(
        &self,
        _: Request<v1::EndSubagentRequest>,
    ) -> Answer<v1::EndSubagentResponse> {
        absent()
    }

    async fn dispose(&self, _: Request<v1::DisposeRequest>) -> Answer<v1::DisposeResponse> {
        absent()
    }
}
