//! What the layers of the stack have in common: something is done with a call on its way to the
//! service below.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower::Service;

use crate::call::{Answer, Call};
use crate::error::CallError;

/// What a call comes to.
pub(crate) type Outcome = Result<Answer, CallError>;

/// An outcome on its way.
pub(crate) type Pending = BoxFuture<'static, Outcome>;

/// A service that a layer may stand on.
pub(crate) trait Below:
    Service<Call, Response = Answer, Error = CallError, Future: Send + 'static> + Clone + Send + 'static
{
}

impl<S> Below for S where
    S: Service<Call, Response = Answer, Error = CallError, Future: Send + 'static>
        + Clone
        + Send
        + 'static
{
}

/// What a layer does with a call: the part of it that is not the same everywhere. Clones are one.
pub(crate) trait Wrap: Clone {
    /// What comes of one call. `below` is ready for one call and no more.
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending;
}

/// The service that does so, with the one below it.
#[derive(Clone, Debug)]
pub(crate) struct Wrapped<W, S> {
    wrap: W,
    below: S,
}

impl<W, S> Wrapped<W, S> {
    pub(crate) fn new(wrap: W, below: S) -> Self {
        Self { wrap, below }
    }
}

/// Makes a tower layer of what wraps calls.
macro_rules! layer {
    ($wrap:ty) => {
        impl<S> tower::Layer<S> for $wrap {
            type Service = crate::layer::Wrapped<$wrap, S>;

            fn layer(&self, below: S) -> Self::Service {
                crate::layer::Wrapped::new(self.clone(), below)
            }
        }
    };
}

pub(crate) use layer;

impl<W: Wrap, S: Below> Service<Call> for Wrapped<W, S> {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.below.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Pending {
        self.wrap.call(&mut self.below, call)
    }
}

/// The service that said it is ready, for whoever calls it later; a spare takes its place.
pub(crate) fn take_ready<S: Clone>(below: &mut S) -> S {
    let spare = below.clone();
    std::mem::replace(below, spare)
}

/// An outcome that is there already.
pub(crate) fn at_once(outcome: Outcome) -> Pending {
    Box::pin(std::future::ready(outcome))
}
