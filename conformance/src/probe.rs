//! The host that a check plays: it can say everything, right or wrong, and judges nothing by itself.

mod codec;
pub(crate) mod http2;
mod record;
mod stream;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use contextwire_proto::v1;
use http::uri::PathAndQuery;
use prost::Message;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Request, Status};
use uuid::Uuid;

pub use record::Record;
pub use stream::{EngineFrame, Stream, field};

use crate::check::{Verdict, broken};
use crate::control::Control;
use crate::engine::Engine;
use crate::list::encoded;
use crate::target::Address;
pub(crate) use codec::Bare;

/// How long an engine may take for a word before it counts as one that hangs.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What a call came to: an answer or a status, or a verdict where it came to neither.
pub type Asked<T> = Result<Result<T, Status>, Verdict>;

pub(crate) const SERVICE: &str = "/contextengine.v1.ContextEngineService/";

/// Waits, but not for ever.
pub(crate) async fn within<F: Future>(future: F) -> Option<F::Output> {
    tokio::time::timeout(PATIENCE, future).await.ok()
}

/// The host of one check.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where the engine listens.
    pub address: Address,
    /// What it declares.
    pub engine: Arc<Engine>,
    /// What starts and stops it.
    pub control: Option<Control>,
    /// What was said.
    pub record: Record,
    channel: Channel,
}

impl Probe {
    /// A host of an engine.
    pub fn new(address: Address, channel: Channel, engine: Arc<Engine>) -> Self {
        Self {
            address,
            engine,
            control: None,
            record: Record::default(),
            channel,
        }
    }

    /// The same for another check.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self {
            record: Record::default(),
            ..self.clone()
        }
    }

    /// A session that nobody has seen.
    pub fn session(&self) -> v1::Session {
        let id = Uuid::now_v7();
        v1::Session {
            session_id: format!("conformance-{id}"),
            session_key: Some(format!("conformance-key-{id}")),
            ..v1::Session::default()
        }
    }

    /// A unary call of the service in bare bytes.
    ///
    /// # Errors
    /// When there is neither an answer nor a status within ten seconds.
    pub async fn unary(&self, method: &str, request: Bytes) -> Asked<Bytes> {
        self.unary_with(method, Request::new(request)).await
    }

    /// The same with metadata.
    ///
    /// # Errors
    /// As [`unary`](Self::unary).
    pub async fn unary_with(&self, method: &str, request: Request<Bytes>) -> Asked<Bytes> {
        let bytes = request.get_ref().len();
        self.record.note(format!("→ {method}, {bytes} bytes"));
        let mut grpc = self.grpc();
        let path = path(method)?;
        let call = async {
            grpc.ready()
                .await
                .map_err(|error| Status::from_error(error.into()))?;
            grpc.unary(request, path, Bare).await
        };
        let Some(answer) = within(call).await else {
            return broken(format!("{method}: no answer within {PATIENCE:?}"));
        };
        Ok(match answer {
            Ok(answer) => {
                let answer = answer.into_inner();
                self.record.note(format!("← OK, {} bytes", answer.len()));
                Ok(answer)
            }
            Err(status) => {
                self.record.note(format!(
                    "← status {:?}: {}",
                    status.code(),
                    status.message()
                ));
                Err(status)
            }
        })
    }

    /// A unary call of generated types.
    ///
    /// # Errors
    /// As [`unary`](Self::unary), and when the answer cannot be decoded.
    pub async fn ask<A: Message + Default>(
        &self,
        method: &str,
        request: &(impl Message + std::fmt::Debug),
    ) -> Asked<A> {
        self.record.note(format!("→ {method} {request:?}"));
        match self.unary(method, encoded(request)).await? {
            Err(status) => Ok(Err(status)),
            Ok(bytes) => match A::decode(bytes) {
                Ok(answer) => Ok(Ok(answer)),
                Err(error) => broken(format!("{method}: the answer cannot be decoded: {error}")),
            },
        }
    }

    fn grpc(&self) -> Grpc<Channel> {
        Grpc::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    /// Opens the stream of a hook and sends nothing. Answers are not waited for: an engine may send
    /// no header before its first frame.
    ///
    /// # Errors
    /// When the method is no path.
    pub fn open(&self, method: &str) -> Result<Stream, Verdict> {
        self.record.note(format!("→ open {method}"));
        let (frames, outgoing) = tokio::sync::mpsc::channel(64);
        let mut grpc = self.grpc();
        let path = path(method)?;
        let opening = tokio::spawn(async move {
            grpc.ready()
                .await
                .map_err(|error| Status::from_error(error.into()))?;
            let request = Request::new(ReceiverStream::new(outgoing));
            let answers = grpc.streaming(request, path, Bare).await?;
            Ok(answers.into_inner())
        });
        Ok(Stream::new(frames, opening, self.record.clone()))
    }

    /// Opens the stream of a hook with its start.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn started(
        &self,
        method: &str,
        start: &(impl Message + std::fmt::Debug),
    ) -> Result<Stream, Verdict> {
        let stream = self.open(method)?;
        stream.start(start).await;
        Ok(stream)
    }

    /// A channel of its own to the same engine.
    ///
    /// # Errors
    /// When the address is none.
    pub fn another_connection(&self) -> Result<Self, Verdict> {
        let channel = self
            .address
            .channel()
            .map_err(|error| Verdict::Inconclusive(error.to_string()))?;
        Ok(Self {
            channel,
            ..self.clone()
        })
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }
}

fn path(method: &str) -> Result<PathAndQuery, Verdict> {
    let path = if method.starts_with('/') {
        method.to_owned()
    } else {
        format!("{SERVICE}{method}")
    };
    PathAndQuery::from_maybe_shared(path).map_err(|error| Verdict::Inconclusive(error.to_string()))
}
