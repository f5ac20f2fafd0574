//! `AfterTurn`: what a finished turn added to the log.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{AfterTurn, AnyEngine, ContextEngine, Hook, HookContext};
use contextwire_proto::convert::{AfterTurnResult, AfterTurnStart};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::take_in::take_log_in;
use super::{StreamingHook, budget_of};
use crate::engine_call::StreamingCall;
use crate::frames::Frames;
use crate::mirror::MirrorKey;
use crate::refuse;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct AfterTurnHook;

impl StreamingHook for AfterTurnHook {
    const HOOK: Hook = Hook::AfterTurn;
    type HostWire = v1::AfterTurnRequest;
    type EngineWire = v1::AfterTurnResponse;
    type Start = AfterTurnStart;
    type Result = AfterTurnResult;

    fn host_frame(wire: v1::AfterTurnRequest) -> Result<HostFrame<AfterTurnStart>, ConvertError> {
        wire.try_into()
    }

    fn call(start: &AfterTurnStart) -> &CallContext {
        &start.call
    }

    fn default_budget(start: &AfterTurnStart) -> Duration {
        budget_of(Self::HOOK, start.request.background)
    }

    async fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        start: AfterTurnStart,
        cx: HookContext,
    ) -> Result<AfterTurnResult, Status> {
        let AfterTurnStart {
            call,
            request,
            update,
        } = start;
        let key = MirrorKey {
            session: call.session.id,
            list: update.list,
        };
        let log = take_log_in(&shared, frames, key, update).await?;
        if request.pre_prompt_message_count > log.len() as u64 {
            return Err(refuse::beyond_the_log(
                request.pre_prompt_message_count,
                log.len(),
            ));
        }
        let request = AfterTurn {
            transcript: log.clone(),
            ..request
        };
        let call = StreamingCall {
            shared: &shared,
            frames,
            cx,
            log: Some(log),
        };
        let work = |engine: AnyEngine, cx| async move { engine.after_turn(&cx, request).await };
        let ((), reply) = call.run(work).await?;
        Ok(AfterTurnResult { reply })
    }
}
