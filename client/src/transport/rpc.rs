//! The RPCs: how each is sent, its types on the wire, and its answer.

use contextwire_engine::Hook;
use contextwire_proto::convert::{
    AfterTurnResult, AfterTurnStart, AssembleResult, AssembleStart, BootstrapResult,
    BootstrapStart, CommitTurnRequest, CommitTurnResponse, CompactResult, CompactStart,
    DisposeRequest, DisposeResponse, EndSubagentRequest, EndSubagentResponse, IngestBatchRequest,
    IngestBatchResponse, IngestRequest, IngestResponse, MaintainResult, MaintainStart,
    PrepareSubagentSpawnRequest, PrepareSubagentSpawnResponse, ResolveSubagentSpawnRequest,
    ResolveSubagentSpawnResponse,
};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::{ConvertError, v1};
use futures_util::future::BoxFuture;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::WireReply;
use crate::connect::Stub;
use crate::request::EngineReply;

/// The host's frames of one call.
pub(crate) type Outgoing<W> = Request<ReceiverStream<W>>;

/// The answer that opens the engine's side.
pub(crate) type Opening<W> = BoxFuture<'static, Result<Response<Streaming<W>>, Status>>;

/// A streaming RPC.
pub(crate) trait StreamingRpc {
    /// The host's frames on the wire.
    type HostWire: From<HostFrame<Self::Start>> + prost::Message + Default + Send + 'static;
    /// The engine's frames on the wire.
    type EngineWire: prost::Message + Send + 'static;
    /// The first frame.
    type Start: Send + 'static;
    /// The last frame.
    type Result: Send + 'static;

    /// Opens the stream.
    fn open(stub: Stub, frames: Outgoing<Self::HostWire>) -> Opening<Self::EngineWire>;

    /// Reads a frame of the engine.
    fn engine_frame(wire: Self::EngineWire) -> Result<EngineFrame<Self::Result>, ConvertError>;

    /// The answer that the last frame is.
    fn reply(result: Self::Result) -> WireReply;
}

/// A unary RPC.
pub(crate) trait UnaryRpc {
    /// Which one.
    const HOOK: Hook;
    /// The request on the wire.
    type RequestWire: From<Self::Request> + prost::Message + Default + Send + 'static;
    /// The request.
    type Request: Send + 'static;
    /// The answer on the wire.
    type ResponseWire: prost::Message + Send + 'static;
    /// The answer.
    type Response: TryFrom<Self::ResponseWire, Error = ConvertError>;

    /// Sends the request.
    fn send(
        stub: Stub,
        request: Request<Self::RequestWire>,
    ) -> BoxFuture<'static, Result<Response<Self::ResponseWire>, Status>>;

    /// The answer for the caller.
    fn reply(response: Self::Response) -> WireReply;
}

/// One row a streaming RPC: its method, its messages, and what of its result is the answer.
macro_rules! streaming {
    ($($rpc:ident: $method:ident($request:ident, $start:ident) -> ($response:ident, $result:ident) {
        $($field:ident)? => $reply:ident
    })*) => {$(
        pub(crate) struct $rpc;

        impl StreamingRpc for $rpc {
            type HostWire = v1::$request;
            type EngineWire = v1::$response;
            type Start = $start;
            type Result = $result;

            fn open(mut stub: Stub, frames: Outgoing<v1::$request>) -> Opening<v1::$response> {
                Box::pin(async move { stub.$method(frames).await })
            }

            fn engine_frame(wire: v1::$response) -> Result<EngineFrame<$result>, ConvertError> {
                wire.try_into()
            }

            fn reply($result { reply, $($field)? }: $result) -> WireReply {
                let result = EngineReply::$reply(answer!($($field)?));
                WireReply { result, said: reply }
            }
        }
    )*};
}

/// One row a unary RPC, in the same way.
macro_rules! unary {
    ($($rpc:ident: $hook:ident, $method:ident($request:ident) -> $response:ident {
        $($field:ident)? => $reply:ident
    })*) => {$(
        pub(crate) struct $rpc;

        impl UnaryRpc for $rpc {
            const HOOK: Hook = Hook::$hook;
            type RequestWire = v1::$request;
            type Request = $request;
            type ResponseWire = v1::$response;
            type Response = $response;

            fn send(
                mut stub: Stub,
                request: Request<v1::$request>,
            ) -> BoxFuture<'static, Result<Response<v1::$response>, Status>> {
                Box::pin(async move { stub.$method(request).await })
            }

            fn reply($response { reply, $($field)? }: $response) -> WireReply {
                let result = EngineReply::$reply(answer!($($field)?));
                WireReply { result, said: reply }
            }
        }
    )*};
}

/// The field that is the answer; done where there is none.
macro_rules! answer {
    ($field:ident) => {
        $field
    };
    () => {
        ()
    };
}

streaming! {
    AssembleRpc: assemble(AssembleRequest, AssembleStart) -> (AssembleResponse, AssembleResult) {
        outcome => Assembled
    }
    BootstrapRpc: bootstrap(BootstrapRequest, BootstrapStart) -> (BootstrapResponse, BootstrapResult) {
        bootstrapped => Bootstrapped
    }
    CompactRpc: compact(CompactRequest, CompactStart) -> (CompactResponse, CompactResult) {
        compacted => Compacted
    }
    AfterTurnRpc: after_turn(AfterTurnRequest, AfterTurnStart) -> (AfterTurnResponse, AfterTurnResult) {
        => TurnNoted
    }
    MaintainRpc: maintain(MaintainRequest, MaintainStart) -> (MaintainResponse, MaintainResult) {
        maintained => Maintained
    }
}

unary! {
    IngestRpc: Ingest, ingest(IngestRequest) -> IngestResponse { ingested => Ingested }
    IngestBatchRpc: IngestBatch, ingest_batch(IngestBatchRequest) -> IngestBatchResponse {
        ingested => IngestedBatch
    }
    CommitTurnRpc: CommitTurn, commit_turn(CommitTurnRequest) -> CommitTurnResponse {
        committed => TurnCommitted
    }
    PrepareSubagentSpawnRpc: PrepareSubagentSpawn, prepare_subagent_spawn(PrepareSubagentSpawnRequest) -> PrepareSubagentSpawnResponse {
        prepared => SpawnPrepared
    }
    ResolveSubagentSpawnRpc: ResolveSubagentSpawn, resolve_subagent_spawn(ResolveSubagentSpawnRequest) -> ResolveSubagentSpawnResponse {
        => SpawnResolved
    }
    EndSubagentRpc: EndSubagent, end_subagent(EndSubagentRequest) -> EndSubagentResponse {
        => SubagentEnded
    }
    DisposeRpc: Dispose, dispose(DisposeRequest) -> DisposeResponse { => Disposed }
}
