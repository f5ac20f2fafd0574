//! The streaming RPCs: how each is opened, and its frames' types.

use contextwire_proto::convert::{AssembleResult, AssembleStart, CompactResult, CompactStart};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::{ConvertError, v1};
use futures_util::future::BoxFuture;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::connect::Stub;

/// The host's frames of one call.
pub(crate) type Outgoing<W> = Request<ReceiverStream<W>>;

/// The answer that opens the engine's side.
pub(crate) type Opening<W> = BoxFuture<'static, Result<Response<Streaming<W>>, Status>>;

/// A streaming RPC.
pub(crate) trait StreamingRpc {
    /// The host's frames on the wire.
    type HostWire: From<HostFrame<Self::Start>> + prost::Message + Send + 'static;
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
}

pub(crate) struct AssembleRpc;

impl StreamingRpc for AssembleRpc {
    type HostWire = v1::AssembleRequest;
    type EngineWire = v1::AssembleResponse;
    type Start = AssembleStart;
    type Result = AssembleResult;

    fn open(
        mut stub: Stub,
        frames: Outgoing<v1::AssembleRequest>,
    ) -> Opening<v1::AssembleResponse> {
        Box::pin(async move { stub.assemble(frames).await })
    }

    fn engine_frame(
        wire: v1::AssembleResponse,
    ) -> Result<EngineFrame<AssembleResult>, ConvertError> {
        wire.try_into()
    }
}

pub(crate) struct CompactRpc;

impl StreamingRpc for CompactRpc {
    type HostWire = v1::CompactRequest;
    type EngineWire = v1::CompactResponse;
    type Start = CompactStart;
    type Result = CompactResult;

    fn open(mut stub: Stub, frames: Outgoing<v1::CompactRequest>) -> Opening<v1::CompactResponse> {
        Box::pin(async move { stub.compact(frames).await })
    }

    fn engine_frame(wire: v1::CompactResponse) -> Result<EngineFrame<CompactResult>, ConvertError> {
        wire.try_into()
    }
}
