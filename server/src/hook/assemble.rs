//! Assemble: the host's list in, what the model sees out.

use std::sync::Arc;

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, ContextEngine, Hook, HookContext, Site, Transcript,
};
use contextwire_proto::call::Reply;
use contextwire_proto::convert::{AssembleResult, AssembleStart};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::sync::TranscriptUpdate;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use super::StreamingHook;
use crate::engine_call;
use crate::frames::Frames;
use crate::intake::{self, Intake, Step};
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
        let key = MirrorKey {
            session: call.session.id,
            list: update.list,
        };
        let list = take_in(&shared, frames, key, update).await?;
        let len = list.len();
        if request.site == Site::Sync {
            let outcome = AssembleReply::default().into();
            return Ok(AssembleResult {
                reply: Reply::default(),
                outcome,
            });
        }
        let request = Assemble {
            transcript: list,
            ..request
        };
        let (cx, reports) = engine_call::watched(cx);
        let cancellation = cx.cancellation.clone();
        let engine = shared.engine.clone();
        let work = async move { engine.assemble(&cx, request).await };
        let outcome = engine_call::streaming(
            frames,
            Arc::clone(&shared.pace),
            cancellation,
            reports,
            work,
        )
        .await?;
        check(&outcome, len)?;
        Ok(AssembleResult {
            reply: Reply::default(),
            outcome,
        })
    }
}

/// Takes the list in, asking the host for what is missing.
async fn take_in(
    shared: &Shared,
    frames: &mut Frames<AssembleHook>,
    key: MirrorKey,
    first: TranscriptUpdate,
) -> Result<Transcript, Status> {
    let list = key.list;
    let mut intake = Intake::new(key);
    let mut update = first;
    loop {
        match intake.offer(update, &shared.mirrors)? {
            Step::Complete(list) => return Ok(list),
            Step::Ask(need) => frames.send(EngineFrame::NeedTranscript(need)).await,
            Step::Wait => {}
        }
        update = loop {
            match frames.next().await? {
                Some(HostFrame::Transcript(update)) => break update,
                Some(HostFrame::HostCallResult(_)) => {}
                Some(HostFrame::Cancel(_)) => return Err(refuse::cancelled(Hook::Assemble)),
                Some(HostFrame::Start(_)) => {
                    return Err(refuse::violation("a second start in one stream"));
                }
                None => return Err(intake::unavailable(list)),
            }
        };
    }
}

/// An engine's mistake is named here, where its author sees it, before a host has to (R7.7).
fn check(outcome: &AssembleOutcome, len: usize) -> Result<(), Status> {
    match outcome {
        AssembleOutcome::Messages(reply) => reply
            .messages
            .check(len)
            .map_err(|error| refuse::violation(format!("the assembled context: {error}"))),
        AssembleOutcome::Unchanged(_) => Ok(()),
    }
}
