//! The life of one streaming hook: start, work under a budget, one result or one status.

mod after_turn;
mod assemble;
mod bootstrap;
mod commit_turn;
mod compact;
mod describe;
mod dispose;
mod ingest;
mod maintain;
mod subagent;
mod take_in;
mod unary;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use contextwire_engine::{Hook, HookContext};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::{CallContext, ConvertError};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_stream::Stream;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};
use tracing::Instrument;

pub(crate) use after_turn::AfterTurnHook;
pub(crate) use assemble::AssembleHook;
pub(crate) use bootstrap::BootstrapHook;
pub(crate) use commit_turn::CommitTurnHook;
pub(crate) use compact::CompactHook;
pub(crate) use describe::describe;
pub(crate) use dispose::DisposeHook;
pub(crate) use ingest::{IngestBatchHook, IngestHook};
pub(crate) use maintain::MaintainHook;
pub(crate) use subagent::{EndSubagentHook, PrepareSubagentSpawnHook, ResolveSubagentSpawnHook};
pub(crate) use unary::{UnaryHook, answer};

use crate::admit::{self, Admitted};
use crate::budget;
use crate::frames::{Frames, OUTBOUND};
use crate::refuse;
use crate::shared::Shared;

/// One streaming hook: its types on the wire and what it does after the start.
pub(crate) trait StreamingHook: Sized + Send + Sync + 'static {
    /// Which one.
    const HOOK: Hook;
    /// The host's frames on the wire.
    type HostWire: Send + 'static;
    /// The engine's frames on the wire.
    type EngineWire: From<EngineFrame<Self::Result>> + prost::Message + Send + 'static;
    /// The first frame.
    type Start: Send + 'static;
    /// The last frame.
    type Result: Send + 'static;

    /// Reads a frame of the host.
    fn host_frame(wire: Self::HostWire) -> Result<HostFrame<Self::Start>, ConvertError>;

    /// The call's own description.
    fn call(start: &Self::Start) -> &CallContext;

    /// How long the engine may take where the host names nothing.
    fn default_budget(_: &Self::Start) -> Duration {
        Self::HOOK.profile().deadline
    }

    /// The hook's work.
    fn run(
        shared: Arc<Shared>,
        frames: &mut Frames<Self>,
        start: Self::Start,
        cx: HookContext,
    ) -> impl Future<Output = Result<Self::Result, Status>> + Send;
}

/// How long a host may take to make room for the last frame.
const LAST_FRAME: Duration = Duration::from_secs(10);

/// How long a hook may take where the host names nothing.
fn budget_of(hook: Hook, background: bool) -> Duration {
    if background {
        hook.profile().background_deadline
    } else {
        hook.profile().deadline
    }
}

/// Answers a call with its frames.
pub(crate) fn open<H: StreamingHook>(
    shared: &Arc<Shared>,
    mut request: Request<Streaming<H::HostWire>>,
) -> Result<Response<FrameStream<H::EngineWire>>, Status> {
    let admitted = Admitted::of(&mut request)?;
    let header = budget::header_deadline(request.metadata())?;
    let (outbound, answers) = mpsc::channel(OUTBOUND);
    let frames = Frames::<H>::new(request.into_inner(), outbound);
    let span = tracing::debug_span!("contextwire.server.hook", hook = %H::HOOK);
    let hook = serve(Arc::clone(shared), frames, header, admitted).instrument(span);
    Ok(Response::new(FrameStream {
        hook: Some(Box::pin(hook)),
        apart: None,
        answers,
    }))
}

/// What a streaming RPC answers. Reading the frames is what drives the hook: a stream has its own
/// task in the transport already, and a host that went away drops the hook with its stream.
///
/// A host that does not take a frame keeps the transport from reading on, and would keep the hook
/// from its timers. So a hook that says something before its last word goes on in a task of its own.
pub(crate) struct FrameStream<W> {
    hook: Option<BoxFuture<'static, ()>>,
    apart: Option<AbortOnDropHandle<()>>,
    answers: mpsc::Receiver<Result<W, Status>>,
}

impl<W> Stream for FrameStream<W> {
    type Item = Result<W, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(hook) = &mut self.hook
            && hook.as_mut().poll(cx).is_ready()
        {
            self.hook = None;
        }
        let frame = ready!(self.answers.poll_recv(cx));
        if let Some(hook) = self.hook.take() {
            self.apart = Some(AbortOnDropHandle::new(tokio::spawn(hook)));
        }
        Poll::Ready(frame)
    }
}

/// Runs a call to its one result or status.
async fn serve<H: StreamingHook>(
    shared: Arc<Shared>,
    mut frames: Frames<H>,
    header: Option<Instant>,
    admitted: Admitted,
) {
    let max_bytes = shared.options.max_message_bytes;
    let outcome = tokio::select! {
        outcome = work(shared, &mut frames, header) => outcome,
        () = admitted.stopping() => Err(refuse::draining()),
    };
    let last = async {
        match outcome {
            Ok(result) => frames.finish(result, max_bytes).await,
            Err(status) => frames.fail(status).await,
        }
    };
    // A host that does not read cannot hold the hook, and with it the drain, for ever.
    let _unread = timeout(LAST_FRAME, last).await.is_err();
}

async fn work<H: StreamingHook>(
    shared: Arc<Shared>,
    frames: &mut Frames<H>,
    header: Option<Instant>,
) -> Result<H::Result, Status> {
    let out_of_time = |_| refuse::deadline(H::HOOK);
    let start = timeout_at(budget::first_frame_by(header), frames.start())
        .await
        .map_err(out_of_time)??;
    let call = H::call(&start);
    let _session = admit::enter_session(&shared, &call.session.id)?;
    shared.mirrors.follow(&call.session);
    let mut cx = call.hook_context(H::default_budget(&start));
    budget::clamp(&mut cx, header);
    timeout_at(cx.deadline, H::run(shared, frames, start, cx))
        .await
        .map_err(out_of_time)?
}
