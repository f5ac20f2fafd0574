//! An engine on a loopback port, and a host that speaks in single frames.

use std::future::Future;
use std::time::Duration;

use contextwire_engine::{ContextEngine, HookId, Message, Session, SessionId, Transcript};
use contextwire_proto::frame::{EngineFrame, HostFrame, NeedTranscript};
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody, diff};
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use contextwire_proto::{CallContext, ConvertError};
use contextwire_server::{Listen, Server};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status, Streaming};

/// A wait that would otherwise last for ever. Nothing is timed with it.
const HUNG: Duration = Duration::from_mins(1);

pub(crate) type Stub = ContextEngineServiceClient<Channel>;

/// What comes of `work`; panics when nothing does.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HUNG, work).await.expect("this hangs")
}

/// Serves an engine until the handle is dropped.
pub(crate) async fn serve(engine: impl ContextEngine) -> (Stub, AbortOnDropHandle<()>) {
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server = Server::new(engine).listen(Listen::Tcp(loopback));
    let bound = server.bind().await.unwrap();
    let Listen::Tcp(address) = bound.addresses()[0] else {
        panic!("a TCP address")
    };
    let running = tokio::spawn(async move {
        bound.run(std::future::pending()).await.unwrap();
    });
    let channel = Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect_lazy();
    (Stub::new(channel), AbortOnDropHandle::new(running))
}

pub(crate) fn call() -> CallContext {
    let session = Session::new(SessionId::new("s").unwrap());
    CallContext::new(HookId::mint(), session)
}

pub(crate) fn message(text: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#)).with_entry_id(text)
}

pub(crate) fn list(texts: &[&str]) -> Transcript {
    texts.iter().map(|text| message(text)).collect()
}

/// The update that makes `new` of `base`, in one part.
pub(crate) fn update(
    (seq, list): (u32, List),
    base: &Transcript,
    new: &Transcript,
) -> TranscriptUpdate {
    let part = Part {
        base: base.state(),
        segments: diff(base, new),
        head: new.state(),
        more: false,
    };
    TranscriptUpdate {
        seq,
        list,
        body: UpdateBody::Part(part),
    }
}

/// A list in full as the first thing that is sent of it.
pub(crate) fn whole(list: List, new: &Transcript) -> TranscriptUpdate {
    update((1, list), &Transcript::new(), new)
}

/// An open streaming hook; `Q` and `A` are its frames on the wire.
#[derive(Debug)]
pub(crate) struct Raw<Q, A> {
    frames: Option<mpsc::Sender<Q>>,
    answers: Streaming<A>,
}

impl<Q: Send + 'static, A: Send + 'static> Raw<Q, A> {
    /// Opens the stream and sends nothing.
    pub(crate) async fn open<F>(rpc: impl FnOnce(ReceiverStream<Q>) -> F) -> Result<Self, Status>
    where
        F: Future<Output = Result<Response<Streaming<A>>, Status>>,
    {
        let (frames, outgoing) = mpsc::channel(16);
        let answers = soon(rpc(ReceiverStream::new(outgoing))).await?;
        Ok(Self {
            frames: Some(frames),
            answers: answers.into_inner(),
        })
    }

    /// Sends a frame. One that comes after the engine's last word may be lost.
    pub(crate) async fn send<S>(&self, frame: HostFrame<S>)
    where
        Q: From<HostFrame<S>>,
    {
        let _late = soon(self.frames.as_ref().unwrap().send(frame.into()))
            .await
            .is_err();
    }

    /// Closes the host's side.
    pub(crate) fn half_close(&mut self) {
        self.frames = None;
    }

    /// The engine's next frame.
    pub(crate) async fn next<R>(&mut self) -> Result<EngineFrame<R>, Status>
    where
        EngineFrame<R>: TryFrom<A, Error = ConvertError>,
    {
        let wire = soon(self.answers.message()).await?.expect("a frame");
        Ok(EngineFrame::try_from(wire).unwrap())
    }

    /// The engine's request for a list, as the next frame.
    pub(crate) async fn need<R>(&mut self) -> NeedTranscript
    where
        EngineFrame<R>: TryFrom<A, Error = ConvertError>,
    {
        match self.next::<R>().await.unwrap() {
            EngineFrame::NeedTranscript(need) => need,
            EngineFrame::Result(_) => panic!("a request for the list, not the result"),
            EngineFrame::HostCall(_) | EngineFrame::Progress(..) | EngineFrame::Unknown => {
                panic!("a request for the list")
            }
        }
    }

    /// The result as the last frame.
    pub(crate) async fn result<R>(&mut self) -> Result<R, Status>
    where
        EngineFrame<R>: TryFrom<A, Error = ConvertError>,
    {
        let EngineFrame::Result(result) = self.next::<R>().await? else {
            panic!("the result")
        };
        assert!(
            soon(self.answers.message()).await?.is_none(),
            "a frame after it"
        );
        Ok(*result)
    }
}

/// Opens a streaming hook by the name of its method.
macro_rules! open {
    ($stub:expr, $method:ident) => {{
        let mut stub = $stub.clone();
        crate::harness::Raw::open(|frames| async move { stub.$method(frames).await }).await
    }};
}
pub(crate) use open;
