//! One streaming call from its start to its one result: reads while it writes (R1.8), answers what
//! the engine asks, cancels in band.

use std::collections::VecDeque;
use std::pin::{Pin, pin};

use contextwire_engine::HostCallError;
use contextwire_proto::frame::{
    CancelReason, EngineFrame, HostCallRequest, HostCallResult, HostFrame,
};
use contextwire_proto::{Reason, limits};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status, Streaming};

use super::metadata::Metadata;
use super::rpc::{Opening, StreamingRpc};
use super::silence::Silence;
use super::{WireReply, check_size, timeout};
use crate::call::Traffic;
use crate::classify::classify;
use crate::compat::Adaptation;
use crate::connect::{Passage, Stub};
use crate::error::CallError;
use crate::host_call::AttemptCalls;
use crate::sync::Upload;

/// Frames that may wait for the connection; parts stay with the upload until there is room.
const OUTGOING: usize = 4;

/// Host calls over the limit that an engine may be refused before it has read the refusals.
const REFUSED_HOST_CALLS: usize = 64;

/// What a call on the wire needs.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) stub: Stub,
    /// Triggered when the caller gives up.
    pub(crate) stop: CancellationToken,
    pub(crate) share_ends: Instant,
    pub(crate) silence: Silence,
    pub(crate) max_bytes: usize,
    pub(crate) traffic: Traffic,
    pub(crate) adaptation: Adaptation,
    pub(crate) metadata: Metadata,
    pub(crate) calls: AttemptCalls,
    pub(crate) passage: Passage,
}

impl Exchange {
    /// Runs the call. The upload learns what the engine acknowledged, also after the caller left.
    pub(crate) async fn run<R: StreamingRpc>(
        self,
        start: Box<R::Start>,
        mut upload: Box<Upload>,
    ) -> Result<WireReply, CallError> {
        let outcome = self.converse::<R>(start, &mut upload).await;
        let mismatch = |error: &CallError| {
            matches!(error, CallError::Refused { reason, .. }
                if *reason == Reason::TranscriptDigestMismatch)
        };
        match &outcome {
            Ok(_) => upload.acknowledge(),
            Err(error) if mismatch(error) => upload.mismatch(),
            Err(_) => {}
        }
        outcome.map(R::reply)
    }

    async fn converse<R: StreamingRpc>(
        self,
        start: Box<R::Start>,
        upload: &mut Upload,
    ) -> Result<R::Result, CallError> {
        let (frames, outgoing) = mpsc::channel(OUTGOING);
        let mut request = Request::new(ReceiverStream::new(outgoing));
        let share = self.share_ends.saturating_duration_since(Instant::now());
        timeout::set(&mut request, share + limits::STREAM_TIMEOUT_SLACK);
        self.metadata.set(&mut request);
        request.extensions_mut().insert(self.passage.clone());
        let opening = R::open(self.stub.clone(), request);
        let mut conversation = Conversation::<R> {
            frames: Some(frames),
            waiting: VecDeque::from([HostFrame::Start(start)]),
            inbound: Inbound::Opening(opening),
            upload,
            open_calls: 0,
            at_work: FuturesUnordered::new(),
            result: None,
            exchange: &self,
        };
        conversation.run().await
    }
}

/// The engine's side of the stream: not answered yet, or open.
enum Inbound<W> {
    Opening(Opening<W>),
    Open(Box<Streaming<W>>),
}

impl<W> Inbound<W> {
    /// The next frame; safe to cancel.
    async fn next(&mut self) -> Result<Option<W>, Status> {
        loop {
            match self {
                Self::Opening(opening) => {
                    let answer = Pin::new(opening).await?;
                    *self = Self::Open(Box::new(answer.into_inner()));
                }
                Self::Open(stream) => {
                    // Frames that are here already are read without waiting: enough of them would
                    // keep the host's timers from being looked at.
                    consume_budget().await;
                    return stream.message().await;
                }
            }
        }
    }
}

struct Conversation<'a, R: StreamingRpc> {
    /// Dropped to close the host's side.
    frames: Option<mpsc::Sender<R::HostWire>>,
    waiting: VecDeque<HostFrame<R::Start>>,
    inbound: Inbound<R::EngineWire>,
    upload: &'a mut Upload,
    /// Host calls whose results are not on their way yet.
    open_calls: usize,
    at_work: FuturesUnordered<BoxFuture<'static, HostCallResult>>,
    result: Option<R::Result>,
    exchange: &'a Exchange,
}

impl<R: StreamingRpc> Conversation<'_, R> {
    async fn run(&mut self) -> Result<R::Result, CallError> {
        let stop = self.exchange.stop.clone();
        let mut stopped = false;
        let silence = self.exchange.silence.clone();
        let mut listening = silence.listen();
        let mut lost = pin!(self.exchange.passage.lost());
        loop {
            let owes = self.owes();
            if owes || !self.at_work.is_empty() {
                listening.reset();
            }
            let listens = !owes && self.at_work.is_empty() && !silence.is_broken();
            let frames = self.frames.clone();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopped => {
                    stopped = true;
                    self.cancel();
                }
                // Before reading, so that an engine that never stops talking is still told to.
                Some(Ok(room)) = async { Some(frames?.reserve_owned().await) }, if owes => {
                    if let Some(wire) = self.next_frame()? {
                        room.send(wire);
                    }
                }
                Some(result) = self.at_work.next(), if !self.at_work.is_empty() => {
                    self.waiting.push_back(HostFrame::HostCallResult(Box::new(result)));
                }
                frame = self.inbound.next() => {
                    listening.reset();
                    match frame.map_err(|status| self.failed(status))? {
                        Some(wire) => self.receive(wire)?,
                        None => return self.ended(),
                    }
                }
                () = listening.too_long(), if listens => {}
                () = &mut lost => return Err(stuck()),
            }
        }
    }

    fn owes(&self) -> bool {
        self.frames.is_some() && (self.upload.owes_parts() || !self.waiting.is_empty())
    }

    /// The next frame that the host owes, checked and counted.
    fn next_frame(&mut self) -> Result<Option<R::HostWire>, CallError> {
        let part = || self.upload.next_part().map(HostFrame::Transcript);
        let frame = self.waiting.pop_front().or_else(part);
        let Some(frame) = frame else { return Ok(None) };
        let is_start = matches!(frame, HostFrame::Start(_));
        let call_id = match &frame {
            HostFrame::HostCallResult(result) => Some(result.call_id.clone()),
            HostFrame::Start(_) | HostFrame::Transcript(_) | HostFrame::Cancel(_) => None,
        };
        let mut wire = R::HostWire::from(frame);
        if is_start {
            wire = self.exchange.adaptation.apply(wire)?;
        }
        if let Some(call_id) = call_id {
            self.open_calls = self.open_calls.saturating_sub(1);
            // An outcome that no message may carry fails its call, not the hook.
            if let Err(error) = check_size(wire.encoded_len(), self.exchange.max_bytes) {
                let error = HostCallError::new(error.code(), error.to_string());
                wire = R::HostWire::from(HostFrame::HostCallResult(Box::new(HostCallResult {
                    call_id,
                    outcome: Err(error),
                })));
            }
        }
        let bytes = wire.encoded_len();
        check_size(bytes, self.exchange.max_bytes)?;
        self.exchange.traffic.count_sent(bytes);
        Ok(Some(wire))
    }

    /// Serves a call of the engine beside the conversation.
    fn serve(&mut self, call: HostCallRequest) -> Result<(), CallError> {
        if self.frames.is_none() || self.exchange.stop.is_cancelled() {
            // Nobody would be told.
            return Ok(());
        }
        self.open_calls += 1;
        if self.open_calls <= limits::OPEN_HOST_CALLS {
            let calls = self.exchange.calls.clone();
            self.at_work.push(Box::pin(calls.serve(call)));
            return Ok(());
        }
        if self.open_calls > REFUSED_HOST_CALLS {
            return Err(violation("host calls without end"));
        }
        let message = format!("more than {} host calls at once", limits::OPEN_HOST_CALLS);
        self.waiting
            .push_back(HostFrame::HostCallResult(Box::new(HostCallResult {
                call_id: call.call_id,
                outcome: Err(HostCallError {
                    retryable: true,
                    ..HostCallError::new("RESOURCE_EXHAUSTED", message)
                }),
            })));
        Ok(())
    }

    fn receive(&mut self, wire: R::EngineWire) -> Result<(), CallError> {
        self.exchange.traffic.count_received(wire.encoded_len());
        if self.result.is_some() {
            return Err(violation("a frame after the result"));
        }
        match R::engine_frame(wire).map_err(|error| violation(error.to_string()))? {
            EngineFrame::Result(result) => {
                let unsent = matches!(self.waiting.front(), Some(HostFrame::Start(_)));
                let early = unsent || self.upload.owes_its_list();
                if early && !self.exchange.stop.is_cancelled() {
                    return Err(violation("a result before the list was sent"));
                }
                self.result = Some(*result);
                self.frames = None;
                self.at_work.clear();
            }
            EngineFrame::NeedTranscript(need) => self.upload.answer(&need)?,
            EngineFrame::HostCall(call) => self.serve(*call)?,
            // A newer engine's frame that this host can do without.
            EngineFrame::Unknown => {}
            EngineFrame::Progress(progress, applied) => {
                if let Some((list, state)) = applied {
                    self.upload.applied(list, &state);
                }
                tracing::debug!(phase = %progress.phase, fraction = progress.fraction, "the engine is at work");
            }
        }
        Ok(())
    }

    /// The stream ended well; that is an answer only with a result (R1.3).
    fn ended(&mut self) -> Result<R::Result, CallError> {
        self.result
            .take()
            .ok_or_else(|| violation("the stream ended without a result"))
    }

    fn failed(&self, status: Status) -> CallError {
        classify(status, self.exchange.share_ends)
    }

    /// Tells the engine to stop; nothing else is sent any more.
    fn cancel(&mut self) {
        let late = Instant::now() >= self.exchange.share_ends || self.exchange.silence.is_broken();
        let reason = if late {
            CancelReason::Deadline
        } else {
            CancelReason::CallerAbort
        };
        self.upload.abandon_parts();
        self.at_work.clear();
        self.waiting.clear();
        if self.exchange.adaptation.sends_cancel() {
            self.waiting.push_back(HostFrame::Cancel(reason));
        }
    }
}

/// As of a connection that broke: another try goes by another one.
fn stuck() -> CallError {
    let detail = "it takes nothing more on this connection".to_owned();
    CallError::Unreachable {
        status: Box::new(Status::unavailable(detail.clone())),
        detail,
    }
}

fn violation(problem: impl Into<String>) -> CallError {
    CallError::ContractViolation(problem.into())
}
