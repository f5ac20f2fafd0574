//! The two directions of a streaming hook, as frames.

use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::{ConvertError, Reason, Refusal};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;
use tonic::{Status, Streaming};

use crate::hook::StreamingHook;
use crate::refuse;

/// Frames that may wait for a slow host.
pub(crate) const OUTBOUND: usize = 8;

/// Frames of one call.
pub(crate) struct Frames<H: StreamingHook> {
    inbound: Streaming<H::HostWire>,
    inbound_open: bool,
    outbound: mpsc::Sender<Result<H::EngineWire, Status>>,
}

impl<H: StreamingHook> Frames<H> {
    pub(crate) fn new(
        inbound: Streaming<H::HostWire>,
        outbound: mpsc::Sender<Result<H::EngineWire, Status>>,
    ) -> Self {
        Self {
            inbound,
            inbound_open: true,
            outbound,
        }
    }

    /// The first frame, which has to be a start.
    pub(crate) async fn start(&mut self) -> Result<H::Start, Status> {
        match self.next().await? {
            Some(HostFrame::Start(start)) => Ok(*start),
            Some(
                HostFrame::Transcript(_) | HostFrame::HostCallResult(_) | HostFrame::Cancel(_),
            ) => Err(refuse::violation("the first frame has to be a start")),
            None => Err(
                Refusal::new(Reason::InvalidRequest, "the stream ended before its start")
                    .violation("start", "missing")
                    .into_status(),
            ),
        }
    }

    /// The host's next frame; `None` once it closed its side. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Result<Option<HostFrame<H::Start>>, Status> {
        // Frames that are here already are read without waiting: enough of them would keep the
        // call's timers from being looked at.
        consume_budget().await;
        let received = self.inbound.message().await;
        let Some(wire) = received.map_err(refuse::from_transport)? else {
            self.inbound_open = false;
            return Ok(None);
        };
        H::host_frame(wire)
            .map(Some)
            .map_err(ConvertError::into_status)
    }

    /// Whether the host may still send.
    pub(crate) fn is_open(&self) -> bool {
        self.inbound_open
    }

    /// Sends a frame; waits while the host reads slowly. A report of progress never takes the room
    /// of what the host has to answer, and is dropped instead: whoever waits here reads no cancel.
    pub(crate) async fn send(&self, frame: EngineFrame<H::Result>) {
        let is_report = matches!(frame, EngineFrame::Progress(_, None));
        if is_report && self.outbound.capacity() <= OUTBOUND / 2 {
            return;
        }
        // A host that is gone ends the call by `gone`, not here.
        let _gone = self.outbound.send(Ok(frame.into())).await.is_err();
    }

    /// Sends a frame of at most `max_bytes`; a longer one stays here and its size is the error.
    pub(crate) async fn send_within(
        &self,
        frame: EngineFrame<H::Result>,
        max_bytes: usize,
    ) -> Result<(), usize> {
        let wire = H::EngineWire::from(frame);
        let bytes = wire.encoded_len();
        if bytes > max_bytes {
            return Err(bytes);
        }
        let _gone = self.outbound.send(Ok(wire)).await.is_err();
        Ok(())
    }

    /// Ends the call with its result. One over the limit cannot be cut into parts (R3.10), and
    /// the transport would report it as a broken connection.
    pub(crate) async fn finish(&self, result: H::Result, max_bytes: usize) {
        let wire = H::EngineWire::from(EngineFrame::Result(Box::new(result)));
        let bytes = wire.encoded_len();
        if bytes > max_bytes {
            let text = format!("a result of {bytes} bytes exceeds the limit of {max_bytes}");
            let refusal = Refusal::new(Reason::MessageTooLarge, text);
            let refusal = refusal.with("bytes", &bytes).with("limit", &max_bytes);
            return self.fail(refusal.into_status()).await;
        }
        let _gone = self.outbound.send(Ok(wire)).await.is_err();
    }

    /// Ends the call with a status.
    pub(crate) async fn fail(&self, status: Status) {
        let _gone = self.outbound.send(Err(status)).await.is_err();
    }
}
