//! The engine at work for one call: watched, stoppable, and its panics contained.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use contextwire_engine::{
    Cancellation, Effect, EngineError, ErrorKind, Hook, HookContext, Progress,
};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::limits;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use crate::computing::Pace;
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

/// Runs the engine while the host's frames are read.
///
/// Dropping this future stops the engine: its task is aborted at its next await, and code that
/// does not await sees the cancellation.
pub(crate) async fn streaming<H: StreamingHook, T: Send + 'static>(
    frames: &mut Frames<H>,
    pace: Arc<Pace>,
    cancellation: Cancellation,
    mut reports: mpsc::Receiver<Progress>,
    work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, Status> {
    let stop = StopOnDrop(cancellation);
    let mut engine = at_work(pace, work);
    let mut give_up: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            done = &mut engine => {
                let outcome = done.ok_or_else(|| refuse::panicked(H::HOOK))?;
                return outcome.map_err(|error| {
                    // Nobody asked it to stop: its time was over.
                    if error.kind() == ErrorKind::Cancelled && give_up.is_none() {
                        return refuse::deadline(H::HOOK);
                    }
                    refuse::engine_error(H::HOOK, &error)
                });
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

/// The engine's work: in place where the engine has been quick so far, else on a task of its own, so
/// that the host's frames are read while it computes. None is a panic.
fn at_work<T: Send + 'static>(
    pace: Arc<Pace>,
    work: impl Future<Output = T> + Send + 'static,
) -> BoxFuture<'static, Option<T>> {
    if pace.is_trusted() {
        let in_place = async move { pace.run(work).await };
        return Box::pin(AssertUnwindSafe(in_place).catch_unwind().map(Result::ok));
    }
    let task = AbortOnDropHandle::new(tokio::spawn(async move { pace.run(work).await }));
    Box::pin(async move { task.await.ok() })
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
