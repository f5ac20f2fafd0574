//! The line to an engine: lazy, with its own limits, never half-open for long, and replaced where
//! what was sent is stuck.

mod passage;
mod socket;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use contextwire_proto::limits;
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::transport::{Channel, Endpoint, Error};
use tower::Service;

use crate::spawned::Spawned;
use crate::target::Target;

pub(crate) use passage::Passage;

/// The stub that calls go through.
pub(crate) type Stub = ContextEngineServiceClient<Line>;

/// A stub that connects when it is first used and again after a loss.
///
/// # Errors
/// When the target cannot be written as an address.
#[cfg(test)]
pub(crate) fn stub(target: &Target, max_message_bytes: usize) -> Result<Stub, Error> {
    Ok(stub_over(Line::to(target)?, max_message_bytes))
}

/// A stub over a line, for messages of at most this many bytes.
pub(crate) fn stub_over(line: Line, max_message_bytes: usize) -> Stub {
    Stub::new(line)
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(max_message_bytes)
}

/// One connection at a time to an engine. Clones share it.
#[derive(Debug)]
pub(crate) struct Line {
    shared: Arc<Shared>,
    /// The connection that is asked whether it is ready, and then called.
    taken: Option<(Arc<Connection>, Channel)>,
}

#[derive(Debug)]
struct Shared {
    way: Way,
    endpoint: Endpoint,
    current: Mutex<Arc<Connection>>,
}

/// A connection, made when it is needed and again after a loss.
#[derive(Debug)]
struct Connection {
    channel: Channel,
    /// Later calls go by another one.
    given_up: CancellationToken,
    /// Nothing comes or goes any more.
    cut: CancellationToken,
}

/// Where a connection goes.
#[derive(Clone, Debug)]
enum Way {
    /// To an address.
    To(Target),
    /// To an engine of this process's own, wherever it listens now.
    Spawned(Arc<Spawned>),
}

impl Way {
    fn of(target: &Target) -> Self {
        match target {
            Target::Spawn(command) => Self::Spawned(Arc::new(Spawned::new(command.clone()))),
            // Who speaks to one endpoint speaks to any of them.
            Target::Replicas(several) => match several.first() {
                Some(first) => Self::of(first),
                None => Self::To(target.clone()),
            },
            Target::Unix(_) | Target::Tcp(_) => Self::To(target.clone()),
        }
    }

    /// What stands in requests in the place of a host's name.
    fn authority(&self) -> String {
        match self {
            Self::To(target) => target.to_string(),
            Self::Spawned(_) => "http://engine.spawned".to_owned(),
        }
    }
}

impl Line {
    /// A line to the engine at this address; to the first one of several.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub(crate) fn to(target: &Target) -> Result<Self, Error> {
        let way = Way::of(target);
        let endpoint = Endpoint::from_shared(way.authority())?
            .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
            // Without pings a black-holed connection would be used again for ever. An idle one is
            // not pinged, stock servers close it for that; the first call after a pause pings at
            // once.
            .http2_keep_alive_interval(limits::KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(limits::KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(false);
        let first = Connection::lazy(&way, &endpoint);
        Ok(Self {
            shared: Arc::new(Shared {
                way,
                endpoint,
                current: Mutex::new(Arc::new(first)),
            }),
            taken: None,
        })
    }

    /// The engine that this process runs, where it does.
    pub(crate) fn spawned(&self) -> Option<&Spawned> {
        match &self.shared.way {
            Way::To(_) => None,
            Way::Spawned(spawned) => Some(spawned),
        }
    }
}

impl Clone for Line {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            taken: None,
        }
    }
}

impl Service<Request<Body>> for Line {
    type Response = Response<Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let shared = &self.shared;
        let (_, channel) = self.taken.get_or_insert_with(|| shared.take());
        channel.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (connection, mut channel) = self.taken.take().unwrap_or_else(|| self.shared.take());
        let (mut head, body) = request.into_parts();
        let passage = head.extensions.remove::<Passage>().unwrap_or_default();
        let body = passage.through(&self.shared, &connection, body);
        let answer = channel.call(Request::from_parts(head, body));
        Box::pin(async move {
            let _until_it_is_answered = passage;
            answer.await
        })
    }
}

impl Shared {
    fn take(&self) -> (Arc<Connection>, Channel) {
        let current = Arc::clone(&self.lock());
        let channel = current.channel.clone();
        (current, channel)
    }

    /// Lets later calls go by another connection. The calls of this one may go on; with the last of
    /// them it is closed.
    fn replace(&self, stuck: &Arc<Connection>) {
        let mut current = self.lock();
        if !Arc::ptr_eq(&current, stuck) || Handle::try_current().is_err() {
            return;
        }
        tracing::warn!(
            target = %self.way.authority(),
            "the engine takes nothing more on its connection: later calls go by another one"
        );
        *current = Arc::new(Connection::lazy(&self.way, &self.endpoint));
        stuck.given_up.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Connection>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn lazy(way: &Way, endpoint: &Endpoint) -> Self {
        let cut = CancellationToken::new();
        Self {
            channel: socket::channel(way, endpoint, &cut),
            given_up: CancellationToken::new(),
            cut,
        }
    }
}

impl Drop for Connection {
    /// What is stuck in it would keep it open for ever. Any other connection ends by itself, after
    /// its last frames.
    fn drop(&mut self) {
        if self.given_up.is_cancelled() {
            self.cut.cancel();
        }
    }
}
