//! Engines of older minors: a real engine behind a gateway that announces, and knows, no more than
//! its minor did.

use std::sync::{Arc, Mutex};

use contextwire_client::Target;
use contextwire_engine::Hook;
use contextwire_proto::schema;
use contextwire_proto::strict::unknown_fields;
use contextwire_proto::v1;
use contextwire_proto::v1::context_engine_service_server::{
    ContextEngineService, ContextEngineServiceServer,
};
use futures_util::future::BoxFuture;
use prost::Message;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{StreamExt, wrappers::UnboundedReceiverStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::raw::{Stub, stub};

/// What such an engine does about fields that are newer than it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Temper {
    /// It drops them.
    Tolerant,
    /// It names them by their numbers.
    Strict,
    /// Its validator throws a text, as a Python server's does.
    Throwing,
}

/// What arrived, refused requests included.
type Seen = Arc<Mutex<Vec<(Hook, Vec<u8>)>>>;

/// An engine of another time. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct OldEngine {
    engine: Stub,
    minor: u32,
    announced: u32,
    temper: Temper,
    seen: Seen,
}

impl OldEngine {
    /// An engine of this minor that says so.
    pub(crate) fn new(engine: &Target, minor: u32, temper: Temper) -> Self {
        Self {
            engine: stub(engine),
            minor,
            announced: minor,
            temper,
            seen: Arc::default(),
        }
    }

    /// The same, announcing another minor than it has.
    pub(crate) fn announcing(self, announced: u32) -> Self {
        Self { announced, ..self }
    }

    /// Serves it for the rest of the test.
    pub(crate) async fn serve(&self) -> Target {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = ContextEngineServiceServer::new(self.clone());
        let serve = Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(serve);
        Target::Tcp(address)
    }

    /// How often a hook arrived, refused ones included.
    pub(crate) fn arrived(&self, hook: Hook) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(it, _)| *it == hook).count()
    }

    fn take(&self, hook: Hook, request: &impl Message) -> Result<(), Status> {
        let bytes = request.encode_to_vec();
        let findings = unknown_fields(hook, self.minor, &bytes).unwrap();
        self.seen.lock().unwrap().push((hook, bytes));
        if findings.is_empty() || self.temper == Temper::Tolerant {
            return Ok(());
        }
        if self.temper == Temper::Strict {
            return Err(findings.into_refusal().into_status());
        }
        let names: Vec<_> = findings
            .kept()
            .filter_map(|finding| schema::field(hook, &finding.path))
            .map(|field| {
                let leaf = field.path.rsplit('.').next();
                format!("'{}'", leaf.unwrap_or_default())
            })
            .collect();
        Err(Status::unknown(format!(
            "ValueError: unknown fields {}",
            names.join(", ")
        )))
    }

    /// Takes the first frame of a stream and passes all of them on.
    async fn begin<F: Message + 'static>(
        &self,
        hook: Hook,
        mut frames: Streaming<F>,
    ) -> Result<UnboundedReceiverStream<F>, Status> {
        let (sender, passed) = tokio::sync::mpsc::unbounded_channel();
        let first = frames.message().await?.unwrap();
        self.take(hook, &first)?;
        sender.send(first).unwrap();
        tokio::spawn(async move {
            while let Some(Ok(frame)) = frames.next().await {
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        Ok(UnboundedReceiverStream::new(passed))
    }
}

fn absent<T: Send + 'static>() -> BoxFuture<'static, Result<Response<T>, Status>> {
    Box::pin(std::future::ready(Err(Status::unimplemented(""))))
}

#[async_trait]
impl ContextEngineService for OldEngine {
    type BootstrapStream = Streaming<v1::BootstrapResponse>;
    type AssembleStream = Streaming<v1::AssembleResponse>;
    type CompactStream = Streaming<v1::CompactResponse>;
    type AfterTurnStream = Streaming<v1::AfterTurnResponse>;
    type MaintainStream = Streaming<v1::MaintainResponse>;

    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeResponse>, Status> {
        let request = request.into_inner();
        self.take(Hook::Describe, &request)?;
        let mut answer = self.engine.clone().describe(request).await?.into_inner();
        if let Some(protocol) = &mut answer.protocol {
            protocol.minor = self.announced;
        }
        Ok(Response::new(answer))
    }

    async fn ingest(
        &self,
        request: Request<v1::IngestRequest>,
    ) -> Result<Response<v1::IngestResponse>, Status> {
        let request = request.into_inner();
        self.take(Hook::Ingest, &request)?;
        self.engine.clone().ingest(request).await
    }

    async fn assemble(
        &self,
        request: Request<Streaming<v1::AssembleRequest>>,
    ) -> Result<Response<Self::AssembleStream>, Status> {
        let frames = self.begin(Hook::Assemble, request.into_inner()).await?;
        self.engine.clone().assemble(frames).await
    }

    async fn compact(
        &self,
        request: Request<Streaming<v1::CompactRequest>>,
    ) -> Result<Response<Self::CompactStream>, Status> {
        let frames = self.begin(Hook::Compact, request.into_inner()).await?;
        self.engine.clone().compact(frames).await
    }

    async fn bootstrap(
        &self,
        _: Request<Streaming<v1::BootstrapRequest>>,
    ) -> Result<Response<Self::BootstrapStream>, Status> {
        absent().await
    }

    async fn ingest_batch(
        &self,
        _: Request<v1::IngestBatchRequest>,
    ) -> Result<Response<v1::IngestBatchResponse>, Status> {
        absent().await
    }

    async fn after_turn(
        &self,
        _: Request<Streaming<v1::AfterTurnRequest>>,
    ) -> Result<Response<Self::AfterTurnStream>, Status> {
        absent().await
    }

    async fn commit_turn(
        &self,
        _: Request<v1::CommitTurnRequest>,
    ) -> Result<Response<v1::CommitTurnResponse>, Status> {
        absent().await
    }

    async fn maintain(
        &self,
        _: Request<Streaming<v1::MaintainRequest>>,
    ) -> Result<Response<Self::MaintainStream>, Status> {
        absent().await
    }

    async fn prepare_subagent_spawn(
        &self,
        _: Request<v1::PrepareSubagentSpawnRequest>,
    ) -> Result<Response<v1::PrepareSubagentSpawnResponse>, Status> {
        absent().await
    }

    async fn resolve_subagent_spawn(
        &self,
        _: Request<v1::ResolveSubagentSpawnRequest>,
    ) -> Result<Response<v1::ResolveSubagentSpawnResponse>, Status> {
        absent().await
    }

    async fn end_subagent(
        &self,
        _: Request<v1::EndSubagentRequest>,
    ) -> Result<Response<v1::EndSubagentResponse>, Status> {
        absent().await
    }

    async fn dispose(
        &self,
        _: Request<v1::DisposeRequest>,
    ) -> Result<Response<v1::DisposeResponse>, Status> {
        absent().await
    }
}
