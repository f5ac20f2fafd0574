//! The engine at work for one call: watched, stoppable, and its panics contained.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use contextwire_engine::{Cancellation, Effect, EngineError, Hook, HookContext, Progress};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::limits;
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use crate::frames::Frames;
use crate::hook::StreamingHook;
use crate::refuse;

/// Reports of progress that may wait to be sent; more are dropped.
const PROGRESS: usize = 16;

/// Runs a short call in place; a panic becomes its status.
pub(crate) async fn unary<T>(
    hook: Hook,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, Status> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome.map_err(|error| refuse::engine_error(hook, &error)),
        Err(_) => Err(refuse::panicked(hook)),
    }
}

/// A context whose progress can be read from the other end.
pub(crate) fn watched(cx: HookContext) -> (HookContext, mpsc::Receiver<Progress>) {
    let (sender, reports) = mpsc::channel(PROGRESS);
    let sink = move |progress| {
        // A host that reads slowly gets fewer reports, never a slower engine.
        let _dropped = sender.try_send(progress).is_err();
    };
    (cx.with_progress(Arc::new(sink)), reports)
}

/// Runs the engine on its own task while the host's frames are read.
///
/// Dropping this future stops the engine: its task is aborted at its next await, and code that
/// does not await sees the cancellation.
pub(crate) async fn streaming<H: StreamingHook, T: Send + 'static>(
    frames: &mut Frames<H>,
    cancellation: Cancellation,
    mut reports: mpsc::Receiver<Progress>,
    work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, Status> {
    let stop = StopOnDrop(cancellation);
    let mut task = AbortOnDropHandle::new(tokio::spawn(work));
    let mut give_up: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            done = &mut task => {
                return match done {
                    Ok(outcome) => outcome.map_err(|error| refuse::engine_error(H::HOOK, &error)),
                    Err(panic) if panic.is_panic() => Err(refuse::panicked(H::HOOK)),
                    Err(_) => Err(refuse::cancelled(H::HOOK)),
                };
            }
            frame = frames.next(), if frames.is_open() => {
                if read_while_working::<H>(frame?)? {
                    // A read has no effect to wait for.
                    if H::HOOK.profile().effect == Effect::Read {
                        return Err(refuse::cancelled(H::HOOK));
                    }
                    stop.0.cancel();
                    give_up.get_or_insert_with(|| Instant::now() + limits::CANCEL_GRACE / 2);
                }
            }
            Some(report) = reports.recv() => {
                frames.send(EngineFrame::Progress(report, None)).await;
            }
            () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                return Err(refuse::cancelled(H::HOOK));
            }
        }
    }
}

/// Whether the frame asks to stop; a frame that must not come now ends the call.
fn read_while_working<H: StreamingHook>(
    frame: Option<HostFrame<H::Start>>,
) -> Result<bool, Status> {
    match frame {
        Some(HostFrame::Cancel(_)) => Ok(true),
        Some(HostFrame::Start(_)) => Err(refuse::violation("a second start in one stream")),
        Some(HostFrame::HostCallResult(result)) => {
            tracing::warn!(call_id = %result.call_id, "ignored the result of a call that is not open");
            Ok(false)
        }
        // A part that was in flight when the list was complete, or the host closing its side.
        Some(HostFrame::Transcript(_)) | None => Ok(false),
    }
}

struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
