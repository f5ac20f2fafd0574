//! Which calls get in: a server that drains or has enough to do refuses the rest before anything of
//! them is read.
//!
//! Describe and the services beside the engine's own (health, reflection) are never refused: they
//! are how a host learns what is going on.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use contextwire_engine::{Hook, SessionId};
use futures_util::future::{BoxFuture, ready};
use http::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use crate::drain::HookPermit;
use crate::load::{SessionSlot, Slot};
use crate::metered::Metered;
use crate::methods;
use crate::refuse;
use crate::shared::Shared;

/// A call that got in; what it takes is given back when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Admitted(Arc<Room>);

#[derive(Debug)]
struct Room {
    slot: Slot,
    running: HookPermit,
}

impl Admitted {
    pub(crate) fn new(shared: &Shared) -> Result<Self, Status> {
        let running = shared.drain.admit().ok_or_else(refuse::draining)?;
        let slot = shared.load.enter().map_err(refuse::no_room)?;
        Ok(Self(Arc::new(Room { slot, running })))
    }

    /// What this request got in by.
    pub(crate) fn of<T>(request: &mut tonic::Request<T>) -> Result<Self, Status> {
        let admitted = request.extensions_mut().remove();
        admitted.ok_or_else(|| refuse::violation("nobody admitted this call"))
    }

    /// Room for more bytes of the request.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), Status> {
        self.0.slot.hold(bytes).map_err(refuse::no_room)
    }

    /// Ends when the grace of a drain is over and the hook has to stop.
    pub(crate) async fn stopping(&self) {
        self.0.running.stopping().await;
    }
}

/// Room in its session for a call whose session is known by now.
pub(crate) fn enter_session(shared: &Shared, session: &SessionId) -> Result<SessionSlot, Status> {
    shared.load.enter_session(session).map_err(refuse::no_room)
}

/// The service of an engine that takes as many calls as it can bear.
#[derive(Clone, Debug)]
pub(crate) struct Admit<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> Admit<S> {
    pub(crate) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S: NamedService> NamedService for Admit<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Admit<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let hook = match methods::hook(request.uri()) {
            Some(hook) if hook != Hook::Describe => hook,
            Some(_) | None => return Box::pin(self.inner.call(request)),
        };
        let admitted = match Admitted::new(&self.shared) {
            Ok(admitted) => admitted,
            Err(status) => return Box::pin(ready(Ok(status.into_http()))),
        };
        request.extensions_mut().insert(admitted.clone());
        let meter = |body| Body::new(Metered::new(body, admitted.clone(), hook));
        let answer = self.inner.call(request.map(meter));
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = answer => answer,
                () = admitted.stopping() => Ok(refuse::draining().into_http()),
            }
        })
    }
}
