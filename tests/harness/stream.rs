//! An open stream of any hook, frame by frame, for what holds of all of them.

use bytes::Bytes;
use contextwire_engine::Hook;
use contextwire_proto::v1;
use http::uri::PathAndQuery;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use super::bare::{Bare, field};
use super::soon;

/// Numbers of the host's frames, equal in all hooks.
const TRANSCRIPT: u32 = 2;
const HOST_CALL_RESULT: u32 = 3;
const CANCEL: u32 = 4;

/// A frame of an engine, whichever the hook.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AnyFrame {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) result: Option<Bytes>,
    #[prost(message, optional, tag = "2")]
    pub(crate) host_call: Option<v1::HostCall>,
    #[prost(message, optional, tag = "3")]
    pub(crate) progress: Option<v1::Progress>,
    #[prost(message, optional, tag = "4")]
    pub(crate) need: Option<v1::NeedTranscript>,
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct RawHook {
    frames: mpsc::Sender<Bytes>,
    answers: Streaming<Bytes>,
}

impl RawHook {
    /// Opens the stream with its first frame, as it is sent.
    pub(crate) async fn start(channel: &Channel, hook: Hook, first: Vec<u8>) -> Self {
        let path = format!("/contextengine.v1.ContextEngineService/{hook}");
        let path = PathAndQuery::from_maybe_shared(path).unwrap();
        let (frames, outgoing) = mpsc::channel(16);
        frames.send(first.into()).await.unwrap();
        let request = Request::new(ReceiverStream::new(outgoing));
        let mut grpc = Grpc::new(channel.clone());
        soon(grpc.ready()).await.unwrap();
        let answers = soon(grpc.streaming(request, path, Bare)).await.unwrap();
        Self {
            frames,
            answers: answers.into_inner(),
        }
    }

    /// Sends a frame. One that comes after the engine's last word may be lost.
    async fn send(&self, number: u32, frame: &impl prost::Message) {
        let frame = field(number, &frame.encode_to_vec());
        let _late = soon(self.frames.send(frame.into())).await.is_err();
    }

    pub(crate) async fn send_list(&self, update: &v1::TranscriptUpdate) {
        self.send(TRANSCRIPT, update).await;
    }

    pub(crate) async fn send_result(&self, result: &v1::HostCallResult) {
        self.send(HOST_CALL_RESULT, result).await;
    }

    pub(crate) async fn cancel(&self, reason: v1::CancelReason) {
        let cancel = v1::Cancel {
            reason: reason.into(),
        };
        self.send(CANCEL, &cancel).await;
    }

    /// The engine's next frame; `None` after OK trailers.
    pub(crate) async fn next(&mut self) -> Result<Option<AnyFrame>, Status> {
        let answer = soon(self.answers.message()).await?;
        Ok(answer.map(|answer| AnyFrame::decode(answer).unwrap()))
    }

    /// The result, as the next frame.
    pub(crate) async fn result(&mut self) -> Bytes {
        let frame = self.next().await.unwrap().expect("a result");
        frame.result.expect("a result")
    }

    /// The status, as the next and last thing.
    pub(crate) async fn failure(&mut self) -> Status {
        match self.next().await {
            Err(status) => status,
            Ok(frame) => panic!("a status, not {frame:?}"),
        }
    }
}
