//! Maintain: the engine tidies up.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{AnyEngine, ContextEngine, Hook, HookContext};
use contextwire_proto::convert::{MaintainResult, MaintainStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::{StreamingHook, budget_of};
use crate::engine_call::StreamingCall;
use crate::frames::Frames;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct MaintainHook;

impl StreamingHook for MaintainHook {
    const HOOK: Hook = Hook::Maintain;
    type HostWire = v1::MaintainRequest;
    type EngineWire = v1::MaintainResponse;
    type Start = MaintainStart;
    type Result = MaintainResult;

    fn host_frame(wire: v1::MaintainRequest) -> Result<HostFrame<MaintainStart>, ConvertError> {
        wire.try_into()
    }

    fn call(start: &MaintainStart) -> &CallContext {
        &start.call
    }

    fn default_budget(start: &MaintainStart) -> Duration {
        budget_of(Self::HOOK, start.request.background)
    }

    async fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        MaintainStart { call: _, request }: MaintainStart,
        cx: HookContext,
    ) -> Result<MaintainResult, Status> {
        let call = StreamingCall {
            shared: &shared,
            frames,
            cx,
            log: None,
        };
        let work = |engine: AnyEngine, cx| async move { engine.maintain(&cx, request).await };
        let (maintained, reply) = call.run(work).await?;
        Ok(MaintainResult { reply, maintained })
    }
}
