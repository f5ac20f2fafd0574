//! An open stream of any hook, frame by frame.

use bytes::Bytes;
use contextwire_proto::v1;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::{Status, Streaming};

use super::{Asked, PATIENCE, Record, within};
use crate::check::{Verdict, broken};
use crate::list;

/// Numbers of the host's frames, equal in all hooks.
const START: u32 = 1;
const TRANSCRIPT: u32 = 2;
const HOST_CALL_RESULT: u32 = 3;
const CANCEL: u32 = 4;

/// A frame of an engine, whichever the hook.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EngineFrame {
    /// The result's bytes.
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub result: Option<Bytes>,
    /// A call back.
    #[prost(message, optional, tag = "2")]
    pub host_call: Option<v1::HostCall>,
    /// A report.
    #[prost(message, optional, tag = "3")]
    pub progress: Option<v1::Progress>,
    /// A request for a list.
    #[prost(message, optional, tag = "4")]
    pub need: Option<v1::NeedTranscript>,
}

/// A field of bytes.
pub fn field(number: u32, value: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(value.len() + 12);
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(value.len() as u64, &mut bytes);
    bytes.extend_from_slice(value);
    bytes.into()
}

/// An open stream. Each wait ends after ten seconds, as a broken rule.
#[derive(Debug)]
pub struct Stream {
    frames: Option<mpsc::Sender<Bytes>>,
    opening: Option<JoinHandle<Result<Streaming<Bytes>, Status>>>,
    answers: Option<Streaming<Bytes>>,
    record: Record,
}

impl Stream {
    pub(super) fn new(
        frames: mpsc::Sender<Bytes>,
        opening: JoinHandle<Result<Streaming<Bytes>, Status>>,
        record: Record,
    ) -> Self {
        Self {
            frames: Some(frames),
            opening: Some(opening),
            answers: None,
            record,
        }
    }

    /// Sends a message as it is. One that comes after the engine's last word may be lost.
    pub async fn send_bytes(&self, message: Bytes) {
        if let Some(frames) = &self.frames {
            let _late = within(frames.send(message))
                .await
                .is_none_or(|it| it.is_err());
        }
    }

    async fn send(&self, number: u32, frame: &(impl Message + std::fmt::Debug)) {
        self.record.note(format!("→ {frame:?}"));
        self.send_bytes(field(number, &frame.encode_to_vec())).await;
    }

    /// Sends a start.
    pub async fn start(&self, start: &(impl Message + std::fmt::Debug)) {
        self.send(START, start).await;
    }

    /// Sends a part of a list.
    pub async fn transcript(&self, update: &v1::TranscriptUpdate) {
        self.send(TRANSCRIPT, update).await;
    }

    /// Answers a call back.
    pub async fn host_call_result(&self, result: &v1::HostCallResult) {
        self.send(HOST_CALL_RESULT, result).await;
    }

    /// Cancels.
    pub async fn cancel(&self, reason: i32) {
        self.send(CANCEL, &v1::Cancel { reason }).await;
    }

    /// Closes the host's side.
    pub fn half_close(&mut self) {
        self.record.note("→ half-close");
        self.frames = None;
    }

    async fn answers(&mut self) -> Asked<&mut Streaming<Bytes>> {
        if let Some(opening) = self.opening.take() {
            match within(opening).await {
                Some(Ok(Ok(answers))) => self.answers = Some(answers),
                Some(Ok(Err(status))) => return Ok(Err(self.failed(status))),
                Some(Err(_)) | None => return broken("no answer within 10 s"),
            }
        }
        match &mut self.answers {
            Some(answers) => Ok(Ok(answers)),
            None => broken("the stream was read after it had failed"),
        }
    }

    fn failed(&self, status: Status) -> Status {
        self.record.note(format!(
            "← status {:?}: {}",
            status.code(),
            status.message()
        ));
        status
    }

    /// The engine's next frame; `None` after OK trailers, the status where it failed.
    ///
    /// # Errors
    /// When nothing comes within ten seconds, or it is no frame.
    pub async fn next(&mut self) -> Asked<Option<EngineFrame>> {
        let answers = match self.answers().await? {
            Ok(answers) => answers,
            Err(status) => return Ok(Err(status)),
        };
        let Some(received) = within(answers.message()).await else {
            return broken(format!("no frame and no status within {PATIENCE:?}"));
        };
        match received {
            Err(status) => Ok(Err(self.failed(status))),
            Ok(None) => {
                self.record.note("← OK");
                Ok(Ok(None))
            }
            Ok(Some(bytes)) => match EngineFrame::decode(bytes) {
                Ok(frame) => {
                    self.record.note(format!("← {frame:?}"));
                    Ok(Ok(Some(frame)))
                }
                Err(error) => broken(format!("a frame cannot be decoded: {error}")),
            },
        }
    }

    /// The next frame that is no report of progress.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn word(&mut self) -> Asked<Option<EngineFrame>> {
        loop {
            match self.next().await? {
                Ok(Some(EngineFrame {
                    progress: Some(_), ..
                })) => {}
                other => return Ok(other),
            }
        }
    }

    /// The engine's status, where that has to be its next word.
    ///
    /// # Errors
    /// When it says something else.
    pub async fn failure(&mut self) -> Result<Status, Verdict> {
        match self.word().await? {
            Err(status) => Ok(status),
            Ok(None) => broken("OK where the call must fail"),
            Ok(Some(frame)) if frame.result.is_some() => {
                broken("a result where the call must fail")
            }
            Ok(Some(frame)) => broken(format!("{frame:?} where the call must fail")),
        }
    }

    /// The result, the last frame before OK trailers; lists that the engine asks for are served
    /// from `held`, calls back are answered with an error.
    ///
    /// # Errors
    /// When it breaks a rule of frames.
    pub async fn result<R: Message + Default>(&mut self, held: &[v1::Message]) -> Asked<R> {
        loop {
            let frame = match self.word().await? {
                Err(status) => return Ok(Err(status)),
                Ok(None) => return broken("OK trailers without a result"),
                Ok(Some(frame)) => frame,
            };
            if let Some(need) = &frame.need {
                self.serve(need, held).await;
            } else if let Some(call) = &frame.host_call {
                self.refuse(call).await;
            } else if let Some(result) = frame.result {
                return self.end(result).await;
            } else {
                return broken("a frame that holds nothing");
            }
        }
    }

    async fn end<R: Message + Default>(&mut self, result: Bytes) -> Asked<R> {
        match self.next().await? {
            Ok(None) => {}
            Ok(Some(frame)) => return broken(format!("a frame after the result: {frame:?}")),
            Err(status) => return Ok(Err(status)),
        }
        match R::decode(result) {
            Ok(result) => {
                self.record
                    .note(format!("  result of {} bytes", result.encoded_len()));
                Ok(Ok(result))
            }
            Err(error) => broken(format!("the result cannot be decoded: {error}")),
        }
    }

    /// Sends a list that the engine asked for, from zero.
    pub async fn serve(&self, need: &v1::NeedTranscript, held: &[v1::Message]) {
        self.transcript(&list::full(need.list(), need.seq, held))
            .await;
    }

    /// Answers a call back with an error value.
    pub async fn refuse(&self, call: &v1::HostCall) {
        let error = v1::HostCallError {
            reason: "UNAVAILABLE".to_owned(),
            message: "this host serves no such call".to_owned(),
            retryable: false,
        };
        self.host_call_result(&v1::HostCallResult {
            call_id: call.call_id.clone(),
            outcome: Some(v1::host_call_result::Outcome::Error(error)),
        })
        .await;
    }
}
