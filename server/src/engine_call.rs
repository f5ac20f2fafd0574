//! The engine at work for one call: watched, stoppable, and its panics contained.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use contextwire_engine::{
    AnyEngine, Cancellation, Effect, EngineError, Hook, HookContext, HostLog, Progress, Reply,
    Transcript,
};
use contextwire_proto::frame::{EngineFrame, HostFrame, NeedTranscript};
use contextwire_proto::limits;
use contextwire_proto::sync::List;
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use crate::frames::Frames;
use crate::hook::StreamingHook;
use crate::log::{LogDesk, StreamLog, Waiter};
use crate::mirror::MirrorKey;
use crate::refuse;
use crate::shared::Shared;

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

/// A streaming call whose list is in and whose engine is about to work.
pub(crate) struct StreamingCall<'a, H: StreamingHook> {
    pub(crate) shared: &'a Shared,
    pub(crate) frames: &'a mut Frames<H>,
    pub(crate) cx: HookContext,
    /// The host's log, where the hook itself carried it.
    pub(crate) log: Option<Transcript>,
}

impl<H: StreamingHook> StreamingCall<'_, H> {
    /// Runs the engine on its own task while the host's frames are read. Gives its answer and what
    /// it said besides.
    ///
    /// Dropping this future stops the engine: its task is aborted at its next await, and code that
    /// does not await sees the cancellation.
    pub(crate) async fn run<T, F>(
        self,
        work: impl FnOnce(AnyEngine, HookContext) -> F,
    ) -> Result<(T, Reply), Status>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>> + Send + 'static,
    {
        let (mut cx, reports) = watched(self.cx);
        let key = MirrorKey {
            session: cx.session.id.clone(),
            list: List::Log,
        };
        let desk = LogDesk::new(key, cx.log_head);
        let (source, asked) = StreamLog::new();
        cx.log = match self.log {
            Some(log) => HostLog::new(log),
            None => HostLog::new(source),
        };
        let kept = cx.clone();
        let task = AbortOnDropHandle::new(tokio::spawn(work(self.shared.engine.clone(), cx)));
        let mut watch = Watch {
            shared: self.shared,
            frames: self.frames,
            stop: StopOnDrop(kept.cancellation.clone()),
            give_up: None,
            desk,
        };
        let answer = watch.until_done(task, reports, asked).await?;
        Ok((answer, kept.take_reply()))
    }
}

/// A context whose progress can be read from the other end.
fn watched(cx: HookContext) -> (HookContext, mpsc::Receiver<Progress>) {
    let (sender, reports) = mpsc::channel(PROGRESS);
    let sink = move |progress| {
        // A host that reads slowly gets fewer reports, never a slower engine.
        let _dropped = sender.try_send(progress).is_err();
    };
    (cx.with_progress(Arc::new(sink)), reports)
}

/// The stream of a hook while its engine works.
struct Watch<'a, H: StreamingHook> {
    shared: &'a Shared,
    frames: &'a mut Frames<H>,
    stop: StopOnDrop,
    /// When an engine that was told to stop is not waited for any more.
    give_up: Option<Instant>,
    desk: LogDesk,
}

impl<H: StreamingHook> Watch<'_, H> {
    async fn until_done<T>(
        &mut self,
        mut task: AbortOnDropHandle<Result<T, EngineError>>,
        mut reports: mpsc::Receiver<Progress>,
        mut asked: mpsc::Receiver<Waiter>,
    ) -> Result<T, Status> {
        loop {
            let give_up = self.give_up;
            tokio::select! {
                biased;
                done = &mut task => return finished(H::HOOK, done),
                frame = self.frames.next(), if self.frames.is_open() => self.read(frame?).await?,
                Some(waiter) = asked.recv() => {
                    let open = self.frames.is_open();
                    let need = self.desk.ask(waiter, open, &self.shared.mirrors);
                    self.need(need).await;
                }
                Some(report) = reports.recv() => {
                    self.frames.send(EngineFrame::Progress(report, None)).await;
                }
                () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                    return Err(refuse::cancelled(H::HOOK));
                }
            }
        }
    }

    /// Reads a frame of the host; one that must not come now ends the call.
    async fn read(&mut self, frame: Option<HostFrame<H::Start>>) -> Result<(), Status> {
        match frame {
            Some(HostFrame::Cancel(_)) => return self.cancel(),
            Some(HostFrame::Start(_)) => {
                return Err(refuse::violation("a second start in one stream"));
            }
            Some(HostFrame::HostCallResult(result)) => {
                tracing::warn!(call_id = %result.call_id, "ignored the result of a call that is not open");
            }
            Some(HostFrame::Transcript(update)) => {
                let need = self.desk.offer(update, &self.shared.mirrors)?;
                self.need(need).await;
            }
            None => self.desk.close(),
        }
        Ok(())
    }

    fn cancel(&mut self) -> Result<(), Status> {
        // A read has no effect to wait for.
        if H::HOOK.profile().effect == Effect::Read {
            return Err(refuse::cancelled(H::HOOK));
        }
        self.stop.0.cancel();
        self.give_up
            .get_or_insert_with(|| Instant::now() + limits::CANCEL_GRACE / 2);
        Ok(())
    }

    async fn need(&self, need: Option<NeedTranscript>) {
        if let Some(need) = need {
            self.frames.send(EngineFrame::NeedTranscript(need)).await;
        }
    }
}

fn finished<T>(hook: Hook, done: Result<Result<T, EngineError>, JoinError>) -> Result<T, Status> {
    match done {
        Ok(outcome) => outcome.map_err(|error| refuse::engine_error(hook, &error)),
        Err(panic) if panic.is_panic() => Err(refuse::panicked(hook)),
        Err(_) => Err(refuse::cancelled(hook)),
    }
}

struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
