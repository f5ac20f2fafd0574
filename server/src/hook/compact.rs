//! Compact: make room, or say why not.

use std::sync::Arc;

use contextwire_engine::{AnyEngine, ContextEngine, Hook, HookContext};
use contextwire_proto::convert::{CompactResult, CompactStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::StreamingHook;
use crate::engine_call::StreamingCall;
use crate::frames::Frames;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct CompactHook;

impl StreamingHook for CompactHook {
    const HOOK: Hook = Hook::Compact;
    type HostWire = v1::CompactRequest;
    type EngineWire = v1::CompactResponse;
    type Start = CompactStart;
    type Result = CompactResult;

    fn host_frame(wire: v1::CompactRequest) -> Result<HostFrame<CompactStart>, ConvertError> {
        wire.try_into()
    }

    fn call(start: &CompactStart) -> &CallContext {
        &start.call
    }

    async fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        CompactStart { call: _, request }: CompactStart,
        cx: HookContext,
    ) -> Result<CompactResult, Status> {
        let call = StreamingCall {
            shared: &shared,
            frames,
            cx,
            log: None,
        };
        let work = |engine: AnyEngine, cx| async move { engine.compact(&cx, request).await };
        let (compacted, reply) = call.run(work).await?;
        Ok(CompactResult { reply, compacted })
    }
}
