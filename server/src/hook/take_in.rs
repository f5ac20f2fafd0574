//! The list that a streaming hook carries, on its way in.

use contextwire_engine::{Progress, Transcript};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::sync::{List, TranscriptUpdate};
use tonic::Status;

use super::StreamingHook;
use crate::frames::Frames;
use crate::intake::{self, Intake, Step};
use crate::mirror::MirrorKey;
use crate::refuse;
use crate::shared::Shared;

/// Takes the hook's own list in, asking the host for what is missing. A list that the host cannot
/// send ends the hook: there is nothing to work on.
pub(super) async fn take_in<H: StreamingHook>(
    shared: &Shared,
    frames: &mut Frames<H>,
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
            // What is here already is where the host goes on, should this call not get to its end
            // (R3.8).
            Step::Kept(state) => {
                let progress = Progress {
                    phase: "sync".to_owned(),
                    ..Progress::default()
                };
                let applied = Some((list, state));
                frames.send(EngineFrame::Progress(progress, applied)).await;
            }
            Step::Wait => {}
            Step::Unavailable => return Err(intake::unavailable(list)),
        }
        update = loop {
            match frames.next().await? {
                Some(HostFrame::Transcript(update)) => break update,
                Some(HostFrame::HostCallResult(_)) => {}
                Some(HostFrame::Cancel(_)) => return Err(refuse::cancelled(H::HOOK)),
                Some(HostFrame::Start(_)) => {
                    return Err(refuse::violation("a second start in one stream"));
                }
                None => return Err(intake::unavailable(list)),
            }
        };
    }
}

/// The same for a hook that carries the log and nothing else (R3.1).
pub(super) async fn take_log_in<H: StreamingHook>(
    shared: &Shared,
    frames: &mut Frames<H>,
    key: MirrorKey,
    first: TranscriptUpdate,
) -> Result<Transcript, Status> {
    if key.list != List::Log {
        return Err(refuse::other_list(H::HOOK, List::Log));
    }
    take_in(shared, frames, key, first).await
}
