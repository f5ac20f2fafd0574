//! Assemble: the host's list in, what the model sees out.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AnyEngine, Assemble, AssembleOutcome, AssembleReply, ContextEngine, Hook, HookContext, Reply,
    Site,
};
use contextwire_proto::convert::{AssembleResult, AssembleStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::sync::List;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::StreamingHook;
use super::take_in::take_in;
use crate::engine_call::StreamingCall;
use crate::frames::Frames;
use crate::mirror::MirrorKey;
use crate::refuse;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct AssembleHook;

impl StreamingHook for AssembleHook {
    const HOOK: Hook = Hook::Assemble;
    type HostWire = v1::AssembleRequest;
    type EngineWire = v1::AssembleResponse;
    type Start = AssembleStart;
    type Result = AssembleResult;

    fn host_frame(wire: v1::AssembleRequest) -> Result<HostFrame<AssembleStart>, ConvertError> {
        wire.try_into()
    }

    fn call(start: &AssembleStart) -> &CallContext {
        &start.call
    }

    fn default_budget(start: &AssembleStart) -> Duration {
        match start.request.site {
            Site::Sync => Self::HOOK.profile().background_deadline,
            Site::BeforePrompt | Site::ToolLoop => Self::HOOK.profile().deadline,
        }
    }

    async fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        start: AssembleStart,
        cx: HookContext,
    ) -> Result<AssembleResult, Status> {
        let AssembleStart {
            call,
            request,
            update,
        } = start;
        let carried = update.list;
        let key = MirrorKey {
            session: call.session.id,
            list: carried,
        };
        let list = take_in(&shared, frames, key, update).await?;
        let len = list.len();
        let is_sync = request.site == Site::Sync;
        // The engine has to hear of hooks that must have no effect any more, also in this call.
        if is_sync && cx.abandoned_hooks.is_empty() {
            return Ok(AssembleResult {
                reply: Reply::default(),
                outcome: AssembleReply::default().into(),
            });
        }
        let call = StreamingCall {
            shared: &shared,
            frames,
            cx,
            log: (carried == List::Log).then(|| list.clone()),
        };
        let request = Assemble {
            transcript: list,
            ..request
        };
        let work = |engine: AnyEngine, cx| async move { engine.assemble(&cx, request).await };
        let (outcome, reply) = call.run(work).await?;
        if is_sync {
            let outcome = AssembleReply::default().into();
            return Ok(AssembleResult { reply, outcome });
        }
        check(&outcome, len)?;
        Ok(AssembleResult { reply, outcome })
    }
}

/// An engine's mistake is named here, where its author sees it, before a host has to (R7.7).
fn check(outcome: &AssembleOutcome, len: usize) -> Result<(), Status> {
    match outcome {
        AssembleOutcome::Messages(reply) => reply
            .messages
            .check(len)
            .map_err(|error| refuse::context(&error)),
        AssembleOutcome::Unchanged(_) => Ok(()),
    }
}
