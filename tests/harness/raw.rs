//! A host that speaks in single frames, right or wrong.

use contextwire_client::Target;
use contextwire_engine::{Assemble, HookId, Session, Transcript};
use contextwire_proto::convert::AssembleStart;
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody, diff};
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use contextwire_proto::{CallContext, Reason, reason_of};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use super::{session, soon};

/// The bare stub.
pub(crate) type Stub = ContextEngineServiceClient<Channel>;

/// A connection without limits of its own.
pub(crate) fn channel(target: &Target) -> Channel {
    Endpoint::from_shared(target.to_string())
        .unwrap()
        .connect_lazy()
}

/// A stub without limits of its own.
pub(crate) fn stub(target: &Target) -> Stub {
    Stub::new(channel(target))
        .max_encoding_message_size(usize::MAX)
        .max_decoding_message_size(usize::MAX)
}

/// What a host acts on: the code, and the contract's reason where there is one.
pub(crate) fn refusal(status: &Status) -> (Code, Option<Reason>) {
    (status.code(), reason_of(status))
}

/// The update that makes `new` of `base`, in one part.
pub(crate) fn update(seq: u32, base: &Transcript, new: &Transcript) -> v1::TranscriptUpdate {
    let (segments, head) = (diff(base, new), new.state());
    let part = Part {
        base: base.state(),
        segments,
        head,
        more: false,
    };
    TranscriptUpdate {
        seq,
        list: List::View,
        body: UpdateBody::Part(part),
    }
    .into()
}

/// A good start: the list over a base that the engine may have.
pub(crate) fn start_over(
    session: &Session,
    base: &Transcript,
    new: &Transcript,
) -> v1::AssembleStart {
    let update = TranscriptUpdate::try_from(update(1, base, new)).unwrap();
    let call = CallContext::new(HookId::mint(), session.clone());
    AssembleStart {
        call,
        request: Assemble::default(),
        update,
    }
    .into()
}

/// A good start: the whole list, of the session `raw`.
pub(crate) fn start(new: &Transcript) -> v1::AssembleStart {
    start_over(&session("raw"), &Transcript::new(), new)
}

/// The same start with one thing changed in its update.
pub(crate) fn edit_update(
    mut start: v1::AssembleStart,
    change: impl FnOnce(&mut v1::TranscriptUpdate),
) -> v1::AssembleStart {
    change(start.transcript.as_mut().unwrap());
    start
}

/// An open Assemble.
#[derive(Debug)]
pub(crate) struct RawAssemble {
    frames: Option<mpsc::Sender<v1::AssembleRequest>>,
    answers: Streaming<v1::AssembleResponse>,
}

impl RawAssemble {
    /// Opens the stream and sends nothing.
    pub(crate) async fn open(stub: &Stub) -> Self {
        Self::try_open(stub).await.unwrap()
    }

    /// The same, where the server may refuse it.
    pub(crate) async fn try_open(stub: &Stub) -> Result<Self, Status> {
        let (frames, outgoing) = mpsc::channel(16);
        let mut stub = stub.clone();
        let answers = soon(stub.assemble(ReceiverStream::new(outgoing)))
            .await?
            .into_inner();
        Ok(Self {
            frames: Some(frames),
            answers,
        })
    }

    /// Opens the stream and sends the start.
    pub(crate) async fn start(stub: &Stub, start: v1::AssembleStart) -> Self {
        let hook = Self::open(stub).await;
        hook.send(HostFrame::Start(start)).await;
        hook
    }

    /// Sends a frame. One that comes after the engine's last word may be lost.
    pub(crate) async fn send(&self, frame: HostFrame) {
        self.send_wire(v1::AssembleRequest { frame: Some(frame) })
            .await;
    }

    /// Sends a message that may hold no frame.
    pub(crate) async fn send_wire(&self, message: v1::AssembleRequest) {
        let _late = soon(self.frames.as_ref().unwrap().send(message))
            .await
            .is_err();
    }

    /// Sends a frame again and again, beside whatever else is done, until nobody takes it.
    pub(crate) fn flood(&self, frame: HostFrame) {
        let frames = self.frames.clone().unwrap();
        let message = v1::AssembleRequest { frame: Some(frame) };
        drop(tokio::spawn(async move {
            while frames.send(message.clone()).await.is_ok() {}
        }));
    }

    /// Closes the host's side.
    pub(crate) fn half_close(&mut self) {
        self.frames = None;
    }

    /// The engine's next frame; `None` after OK trailers.
    pub(crate) async fn next(&mut self) -> Result<Option<EngineFrame>, Status> {
        Ok(soon(self.answers.message())
            .await?
            .map(|answer| answer.frame.unwrap()))
    }

    /// The result, which has to be the last frame.
    pub(crate) async fn result(&mut self) -> v1::AssembleResult {
        let Some(EngineFrame::Result(result)) = self.next().await.unwrap() else {
            panic!("a result")
        };
        assert_eq!(self.next().await.unwrap(), None, "a frame after the result");
        result
    }

    /// The ranges of the result as `(start, count)`, which has to be the last frame.
    pub(crate) async fn kept(&mut self) -> Vec<(u64, u64)> {
        let Some(v1::assemble_result::Outcome::Messages(messages)) = self.result().await.outcome
        else {
            panic!("messages")
        };
        let keep = |segment: v1::Segment| match segment.kind {
            Some(v1::segment::Kind::Keep(keep)) => (keep.start, keep.count),
            Some(v1::segment::Kind::Insert(_)) | None => panic!("a kept range"),
        };
        messages.segments.into_iter().map(keep).collect()
    }

    /// The engine's request for a list, as the next frame.
    pub(crate) async fn need(&mut self) -> v1::NeedTranscript {
        let Some(EngineFrame::NeedTranscript(need)) = self.next().await.unwrap() else {
            panic!("a request for the list")
        };
        need
    }

    /// How many messages the engine says that it holds now, as the next frame.
    pub(crate) async fn applied(&mut self) -> u64 {
        let Some(EngineFrame::Progress(progress)) = self.next().await.unwrap() else {
            panic!("a word on a part")
        };
        progress.applied.unwrap().state.unwrap().count
    }

    /// The status, as the next and last thing.
    pub(crate) async fn failure(&mut self) -> Status {
        match self.next().await {
            Err(status) => status,
            Ok(frame) => panic!("a status, not {frame:?}"),
        }
    }
}

/// An open Compact, for what holds of every stream.
#[derive(Debug)]
pub(crate) struct RawCompact {
    frames: Option<mpsc::Sender<v1::CompactRequest>>,
    answers: Streaming<v1::CompactResponse>,
}

impl RawCompact {
    /// Opens the stream and sends a start.
    pub(crate) async fn start(stub: &Stub, session: &Session) -> Self {
        let call = CallContext::new(HookId::mint(), session.clone());
        Self::start_as(stub, call.into()).await
    }

    /// Opens the stream and sends the start of this call.
    pub(crate) async fn start_as(stub: &Stub, call: v1::CallContext) -> Self {
        let (frames, outgoing) = mpsc::channel(16);
        let mut stub = stub.clone();
        let answers = soon(stub.compact(ReceiverStream::new(outgoing)))
            .await
            .unwrap();
        let hook = Self {
            frames: Some(frames),
            answers: answers.into_inner(),
        };
        hook.send_start(call).await;
        hook
    }

    /// Sends the start of this call.
    pub(crate) async fn send_start(&self, call: v1::CallContext) {
        let start = v1::CompactStart {
            call: Some(call),
            ..v1::CompactStart::default()
        };
        self.send(v1::compact_request::Frame::Start(start)).await;
    }

    /// Closes the host's side.
    pub(crate) fn half_close(&mut self) {
        self.frames = None;
    }

    /// Sends a frame.
    pub(crate) async fn send(&self, frame: v1::compact_request::Frame) {
        let _late = self
            .frames
            .as_ref()
            .unwrap()
            .send(v1::CompactRequest { frame: Some(frame) })
            .await
            .is_err();
    }

    /// The engine's next frame; `None` after OK trailers.
    pub(crate) async fn next(&mut self) -> Result<Option<v1::compact_response::Frame>, Status> {
        Ok(soon(self.answers.message())
            .await?
            .map(|answer| answer.frame.unwrap()))
    }
}
