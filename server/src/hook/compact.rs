//! Compact: make room, or say why not.

use std::sync::Arc;

use contextwire_engine::{ContextEngine, Hook, HookContext};
use contextwire_proto::call::Reply;
use contextwire_proto::convert::{CompactResult, CompactStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::StreamingHook;
use crate::engine_call;
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
        start: CompactStart,
        cx: HookContext,
    ) -> Result<CompactResult, Status> {
        let (cx, reports) = engine_call::watched(cx);
        let cancellation = cx.cancellation.clone();
        let engine = shared.engine.clone();
        let work = async move { engine.compact(&cx, start.request).await };
        let compacted = engine_call::streaming(
            frames,
            Arc::clone(&shared.pace),
            cancellation,
            reports,
            work,
        )
        .await?;
        Ok(CompactResult {
            reply: Reply::default(),
            compacted,
        })
    }
}
