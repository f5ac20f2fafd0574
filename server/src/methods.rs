//! Methods that the engine does not have are refused before anything of the call is read (R1.1).

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use contextwire_engine::Hook;
use futures_util::future::{Either, Ready, ready};
use http::{Request, Response, Uri};
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

use crate::refuse;

/// The hook that a request is for, by its path.
pub(crate) fn hook(uri: &Uri) -> Option<Hook> {
    uri.path().rsplit('/').next().and_then(Hook::from_name)
}

/// The service of an engine that has some of the methods.
#[derive(Clone, Debug)]
pub(crate) struct Methods<S> {
    inner: S,
    present: Arc<[Hook]>,
}

impl<S> Methods<S> {
    /// Lets calls of these methods through.
    pub(crate) fn new(inner: S, present: &[Hook]) -> Self {
        Self {
            inner,
            present: present.into(),
        }
    }
}

impl<S: NamedService> NamedService for Methods<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Service<Request<B>> for Methods<S>
where
    S: Service<Request<B>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response<Body>, Infallible>>, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match hook(request.uri()) {
            Some(hook) if !self.present.contains(&hook) => {
                Either::Left(ready(Ok(refuse::absent(hook).into_http())))
            }
            // A method of no hook is the inner service's to refuse.
            Some(_) | None => Either::Right(self.inner.call(request)),
        }
    }
}
