//! The engine at work for one call: watched, stoppable, and its panics contained.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AnyEngine, Cancellation, Effect, EngineError, ErrorKind, Hook, HookContext, Host,
    HostCallError, HostLog, Progress, Reply, Transcript,
};
use contextwire_proto::frame::{EngineFrame, HostFrame, NeedTranscript};
use contextwire_proto::sync::List;
use contextwire_proto::{Reason, limits};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

use crate::computing::Pace;
use crate::frames::Frames;
use crate::hook::StreamingHook;
use crate::host_call::{Asked, HostDesk, StreamHost};
use crate::log::{LogDesk, StreamLog, Waiter};
use crate::mirror::MirrorKey;
use crate::refuse;
use crate::shared::Shared;

/// How much longer an engine is waited for that committed before it was told to stop; with the first
/// half of the grace still within it (R1.5).
const COMMIT_GRACE: Duration = Duration::from_millis(400);
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
    /// Runs the engine while the host's frames are read. Gives its answer and what
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
        let log_desk = LogDesk::new(key, cx.log_head);
        let (source, asked) = StreamLog::new();
        cx.log = match self.log {
            Some(log) => HostLog::new(log),
            None => HostLog::new(source),
        };
        let (host, calls) = StreamHost::new(&cx);
        cx.host = Host::new(Arc::new(host));
        let kept = cx.clone();
        let pace = Arc::clone(&self.shared.pace);
        let task = at_work(pace, work(self.shared.engine.clone(), cx));
        let mut watch = Watch {
            shared: self.shared,
            frames: self.frames,
            stop: StopOnDrop(kept.cancellation.clone()),
            give_up: None,
            log_desk,
            host_desk: HostDesk::default(),
        };
        let asks = Asks {
            reports,
            log: asked,
            calls,
        };
        let answer = watch.until_done(task, asks).await?;
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
    give_up: Option<GiveUp>,
    log_desk: LogDesk,
    host_desk: HostDesk,
}

/// When an engine that was told to stop is given up.
#[derive(Clone, Copy)]
struct GiveUp {
    at: Instant,
    /// Whether it got more time already, to answer what it has committed.
    is_last: bool,
}

/// What an engine at work wants of its stream.
struct Asks {
    reports: mpsc::Receiver<Progress>,
    log: mpsc::Receiver<Waiter>,
    calls: mpsc::Receiver<Asked>,
}

impl<H: StreamingHook> Watch<'_, H> {
    async fn until_done<T>(&mut self, mut task: AtWork<T>, mut asks: Asks) -> Result<T, Status> {
        loop {
            let give_up = self.give_up.map(|give_up| give_up.at);
            tokio::select! {
                biased;
                done = &mut task => return finished(H::HOOK, done, give_up.is_some()),
                frame = self.frames.next(), if self.frames.is_open() => self.read(frame?).await?,
                Some(waiter) = asks.log.recv() => {
                    let open = self.frames.is_open();
                    let need = self.log_desk.ask(waiter, open, &self.shared.mirrors);
                    self.need(need).await;
                }
                Some(asked) = asks.calls.recv() => self.call_host(asked).await,
                Some(report) = asks.reports.recv() => {
                    self.frames.send(EngineFrame::Progress(report, None)).await;
                }
                () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                    self.overdue()?;
                }
            }
        }
    }

    /// An engine that does not stop: one that has not committed by now will not, since it was told
    /// to stop before. One that has is waited for, and if its answer does not come in time either,
    /// nobody can say what became of the call.
    fn overdue(&mut self) -> Result<(), Status> {
        match &mut self.give_up {
            Some(give_up) if self.stop.0.is_committed() && !give_up.is_last => {
                give_up.at += COMMIT_GRACE;
                give_up.is_last = true;
                Ok(())
            }
            _ if self.stop.0.is_committed() => Err(refuse::deadline(H::HOOK)),
            _ => Err(refuse::cancelled(H::HOOK)),
        }
    }

    /// Reads a frame of the host; one that must not come now ends the call.
    async fn read(&mut self, frame: Option<HostFrame<H::Start>>) -> Result<(), Status> {
        match frame {
            Some(HostFrame::Cancel(_)) => return self.cancel(),
            Some(HostFrame::Start(_)) => {
                return Err(refuse::violation("a second start in one stream"));
            }
            Some(HostFrame::HostCallResult(result)) => self.host_desk.settle(*result),
            Some(HostFrame::Transcript(update)) => {
                let need = self.log_desk.offer(update, &self.shared.mirrors)?;
                self.need(need).await;
            }
            None => {
                self.log_desk.close();
                self.host_desk.half_closed();
            }
        }
        Ok(())
    }

    fn cancel(&mut self) -> Result<(), Status> {
        // A read has no effect to wait for.
        if H::HOOK.profile().effect == Effect::Read {
            return Err(refuse::cancelled(H::HOOK));
        }
        self.stop.0.cancel();
        self.host_desk.given_up();
        self.give_up.get_or_insert_with(|| GiveUp {
            at: Instant::now() + limits::CANCEL_GRACE / 2,
            is_last: false,
        });
        Ok(())
    }

    /// Sends a call to the host. One that no message may carry fails, not the hook.
    async fn call_host(&mut self, asked: Asked) {
        let Some(request) = self.host_desk.ask(asked) else {
            return;
        };
        let call_id = request.call_id.clone();
        let frame = EngineFrame::HostCall(Box::new(request));
        let limit = self.shared.options.max_message_bytes;
        if let Err(bytes) = self.frames.send_within(frame, limit).await {
            let text = format!("a host call of {bytes} bytes exceeds the limit of {limit}");
            let error = HostCallError::new(Reason::MessageTooLarge.name(), text);
            self.host_desk.refuse(&call_id, error);
        }
    }

    async fn need(&self, need: Option<NeedTranscript>) {
        if let Some(need) = need {
            self.frames.send(EngineFrame::NeedTranscript(need)).await;
        }
    }
}

/// An engine at work.
type AtWork<T> = BoxFuture<'static, Option<Result<T, EngineError>>>;

/// The engine's work: in place where the engine has been quick so far, else on a task of its own, so
/// that the host's frames are read while it computes. None is a panic.
fn at_work<T: Send + 'static>(
    pace: Arc<Pace>,
    work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> AtWork<T> {
    if pace.is_trusted() {
        let in_place = async move { pace.run(work).await };
        return Box::pin(AssertUnwindSafe(in_place).catch_unwind().map(Result::ok));
    }
    let task = AbortOnDropHandle::new(tokio::spawn(async move { pace.run(work).await }));
    Box::pin(async move { task.await.ok() })
}

fn finished<T>(
    hook: Hook,
    done: Option<Result<T, EngineError>>,
    told_to_stop: bool,
) -> Result<T, Status> {
    let outcome = done.ok_or_else(|| refuse::panicked(hook))?;
    outcome.map_err(|error| {
        // Nobody asked it to stop: its time was over.
        if error.kind() == ErrorKind::Cancelled && !told_to_stop {
            return refuse::deadline(hook);
        }
        refuse::engine_error(hook, &error)
    })
}

struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
