//! Bootstrap: the log of a session that already had one.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{AnyEngine, Bootstrap, ContextEngine, Hook, HookContext};
use contextwire_proto::convert::{BootstrapResult, BootstrapStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::take_in::take_log_in;
use super::{StreamingHook, budget_of};
use crate::engine_call::StreamingCall;
use crate::frames::Frames;
use crate::mirror::MirrorKey;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct BootstrapHook;

impl StreamingHook for BootstrapHook {
    const HOOK: Hook = Hook::Bootstrap;
    type HostWire = v1::BootstrapRequest;
    type EngineWire = v1::BootstrapResponse;
    type Start = BootstrapStart;
    type Result = BootstrapResult;

    fn host_frame(wire: v1::BootstrapRequest) -> Result<HostFrame<BootstrapStart>, ConvertError> {
        wire.try_into()
    }

    fn call(start: &BootstrapStart) -> &CallContext {
        &start.call
    }

    fn default_budget(start: &BootstrapStart) -> Duration {
        budget_of(Self::HOOK, start.request.background)
    }

    async fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        start: BootstrapStart,
        cx: HookContext,
    ) -> Result<BootstrapResult, Status> {
        let BootstrapStart {
            call,
            request,
            update,
        } = start;
        let key = MirrorKey {
            session: call.session.id,
            list: update.list,
        };
        let log = take_log_in(&shared, frames, key, update).await?;
        let request = Bootstrap {
            transcript: log.clone(),
            ..request
        };
        let call = StreamingCall {
            shared: &shared,
            frames,
            cx,
            log: Some(log),
        };
        let work = |engine: AnyEngine, cx| async move { engine.bootstrap(&cx, request).await };
        let (bootstrapped, reply) = call.run(work).await?;
        Ok(BootstrapResult {
            reply,
            bootstrapped,
        })
    }
}
