//! A service whose Describe and Assemble do what a test says, right or wrong.

use std::sync::Arc;

use contextwire_client::Target;
use contextwire_engine::EngineInfo;
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use contextwire_proto::v1::context_engine_service_server::{
    ContextEngineService, ContextEngineServiceServer,
};
use contextwire_proto::{limits, v1};
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::wrappers::TcpListenerStream;
#[cfg(unix)]
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};

use crate::harness::{Place, soon};

type Script = Arc<dyn Fn(Talk) -> BoxFuture<'static, ()> + Send + Sync>;
type Outgoing = mpsc::Sender<Result<v1::AssembleResponse, Status>>;

/// An engine by its description and by what it does with an open Assemble.
#[derive(Clone)]
pub(crate) struct Hostile {
    described: Result<v1::DescribeResponse, Status>,
    script: Script,
}

/// One Assemble as the engine sees it; OK trailers follow when it is dropped.
pub(crate) struct Talk {
    frames: Streaming<v1::AssembleRequest>,
    answers: Outgoing,
}

impl Talk {
    /// The host's next frame; `None` once it closed its side or reset the stream.
    pub(crate) async fn next(&mut self) -> Option<v1::assemble_request::Frame> {
        self.frames.message().await.ok().flatten()?.frame
    }

    /// The first frame.
    pub(crate) async fn start(&mut self) -> v1::AssembleStart {
        match self.next().await {
            Some(v1::assemble_request::Frame::Start(start)) => start,
            frame => panic!("a start, not {frame:?}"),
        }
    }

    /// The next frame, which has to be a part of a list.
    pub(crate) async fn update(&mut self) -> v1::TranscriptUpdate {
        match self.next().await {
            Some(v1::assemble_request::Frame::Transcript(update)) => update,
            frame => panic!("a part of the list, not {frame:?}"),
        }
    }

    /// Sends a frame.
    pub(crate) async fn send(&self, frame: EngineFrame) {
        self.send_wire(v1::AssembleResponse { frame: Some(frame) })
            .await;
    }

    /// Sends a message that may hold no frame.
    pub(crate) async fn send_wire(&self, message: v1::AssembleResponse) {
        let _gone = self.answers.send(Ok(message)).await.is_err();
    }

    /// Whether nobody reads the answers any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.answers.is_closed()
    }

    /// Ends when nobody reads the answers any more.
    pub(crate) async fn abandoned(&self) {
        self.answers.closed().await;
    }

    /// Ends with a status.
    pub(crate) async fn fail(self, status: Status) {
        let _gone = self.answers.send(Err(status)).await.is_err();
    }
}

/// A result that keeps these ranges, as `(start, count)`.
pub(crate) fn keeping(ranges: &[(u64, u64)]) -> EngineFrame {
    let keep = |&(start, count): &(u64, u64)| v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start, count })),
    };
    let messages = v1::AssembledMessages {
        segments: ranges.iter().map(keep).collect(),
        ..v1::AssembledMessages::default()
    };
    EngineFrame::Result(v1::AssembleResult {
        reply: None,
        outcome: Some(v1::assemble_result::Outcome::Messages(messages)),
    })
}

/// The description of a good engine.
pub(crate) fn described() -> v1::DescribeResponse {
    let info = EngineInfo::new("hostile", "Hostile engine", "1.0.0");
    let protocol = limits::PROTOCOL;
    EngineDescription {
        protocol,
        info,
        ..EngineDescription::default()
    }
    .into()
}

impl Hostile {
    /// A service with this script for each Assemble.
    pub(crate) fn new<F>(script: impl Fn(Talk) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let script: Script = Arc::new(move |talk| Box::pin(script(talk)));
        Self {
            described: Ok(described()),
            script,
        }
    }

    /// The same with another answer to Describe.
    pub(crate) fn describing(self, described: Result<v1::DescribeResponse, Status>) -> Self {
        Self { described, ..self }
    }

    /// Serves until the handle is dropped.
    pub(crate) async fn serve_at(self, place: &Place) -> AbortOnDropHandle<()> {
        let router =
            tonic::transport::Server::builder().add_service(ContextEngineServiceServer::new(self));
        AbortOnDropHandle::new(match place.target() {
            #[cfg(unix)]
            Target::Unix(path) => {
                let incoming = UnixListenerStream::new(UnixListener::bind(path).unwrap());
                tokio::spawn(async move { router.serve_with_incoming(incoming).await.unwrap() })
            }
            #[cfg(not(unix))]
            Target::Unix(_) => panic!("no Unix sockets here"),
            Target::Tcp(address) => {
                let listener = soon(TcpListener::bind(address)).await.unwrap();
                let incoming = TcpListenerStream::new(listener);
                tokio::spawn(async move { router.serve_with_incoming(incoming).await.unwrap() })
            }
            Target::Spawn(_) | Target::Replicas(_) => panic!("one address"),
        })
    }
}

type Answers<T> = ReceiverStream<Result<T, Status>>;

fn absent<T>() -> Result<Response<T>, Status> {
    Err(Status::internal("not of this test"))
}

#[tonic::async_trait]
impl ContextEngineService for Hostile {
    type AssembleStream = Answers<v1::AssembleResponse>;
    type CompactStream = Answers<v1::CompactResponse>;
    type BootstrapStream = Answers<v1::BootstrapResponse>;
    type AfterTurnStream = Answers<v1::AfterTurnResponse>;
    type MaintainStream = Answers<v1::MaintainResponse>;

    async fn describe(
        &self,
        _: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeResponse>, Status> {
        self.described.clone().map(Response::new)
    }

    async fn assemble(
        &self,
        request: Request<Streaming<v1::AssembleRequest>>,
    ) -> Result<Response<Self::AssembleStream>, Status> {
        let (answers, outgoing) = mpsc::channel(64);
        let talk = Talk {
            frames: request.into_inner(),
            answers,
        };
        // Its end is the end of the stream; the host's end is seen by the script.
        drop(tokio::spawn((self.script)(talk)));
        Ok(Response::new(ReceiverStream::new(outgoing)))
    }

    async fn ingest(
        &self,
        _: Request<v1::IngestRequest>,
    ) -> Result<Response<v1::IngestResponse>, Status> {
        absent()
    }

    async fn compact(
        &self,
        _: Request<Streaming<v1::CompactRequest>>,
    ) -> Result<Response<Self::CompactStream>, Status> {
        absent()
    }

    async fn ingest_batch(
        &self,
        _: Request<v1::IngestBatchRequest>,
    ) -> Result<Response<v1::IngestBatchResponse>, Status> {
        absent()
    }

    async fn bootstrap(
        &self,
        _: Request<Streaming<v1::BootstrapRequest>>,
    ) -> Result<Response<Self::BootstrapStream>, Status> {
        absent()
    }

    async fn after_turn(
        &self,
        _: Request<Streaming<v1::AfterTurnRequest>>,
    ) -> Result<Response<Self::AfterTurnStream>, Status> {
        absent()
    }

    async fn commit_turn(
        &self,
        _: Request<v1::CommitTurnRequest>,
    ) -> Result<Response<v1::CommitTurnResponse>, Status> {
        absent()
    }

    async fn maintain(
        &self,
        _: Request<Streaming<v1::MaintainRequest>>,
    ) -> Result<Response<Self::MaintainStream>, Status> {
        absent()
    }

    async fn prepare_subagent_spawn(
        &self,
        _: Request<v1::PrepareSubagentSpawnRequest>,
    ) -> Result<Response<v1::PrepareSubagentSpawnResponse>, Status> {
        absent()
    }

    async fn resolve_subagent_spawn(
        &self,
        _: Request<v1::ResolveSubagentSpawnRequest>,
    ) -> Result<Response<v1::ResolveSubagentSpawnResponse>, Status> {
        absent()
    }

    async fn end_subagent(
        &self,
        _: Request<v1::EndSubagentRequest>,
    ) -> Result<Response<v1::EndSubagentResponse>, Status> {
        absent()
    }

    async fn dispose(
        &self,
        _: Request<v1::DisposeRequest>,
    ) -> Result<Response<v1::DisposeResponse>, Status> {
        absent()
    }
}

/// An engine that does this after each start.
pub(crate) fn after_start<F>(script: impl Fn(Talk) -> F + Clone + Send + Sync + 'static) -> Hostile
where
    F: Future<Output = ()> + Send + 'static,
{
    Hostile::new(move |mut talk| {
        let script = script.clone();
        async move {
            talk.start().await;
            script(talk).await;
        }
    })
}
