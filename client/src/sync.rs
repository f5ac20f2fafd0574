//! Layer: lists become what changed, and results become the caller's own objects (PROTOCOL 3).

mod book;
mod debt;
mod turn;
mod upload;
mod wire;

use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower::{Layer, Service};

pub(crate) use book::{Book, KnownList};
pub(crate) use debt::Debt;
pub(crate) use upload::Upload;

use crate::affinity;
use crate::call::{Answer, Served, ServedBy};
use crate::describe::KnownCall;
use crate::error::CallError;
use crate::options::ClientOptions;
use crate::transport::{WireCall, WireReply};

/// Wraps a service of wire calls in [`Sync`].
#[derive(Clone, Debug)]
pub(crate) struct SyncLayer {
    book: Arc<Book>,
    max_message_bytes: usize,
    affinity_key: Arc<str>,
}

impl SyncLayer {
    pub(crate) fn of(book: Arc<Book>, options: &ClientOptions) -> Self {
        Self {
            book,
            max_message_bytes: options.max_message_bytes,
            affinity_key: affinity::key(options.affinity_key.as_deref()),
        }
    }

    #[cfg(test)]
    pub(crate) fn new(max_message_bytes: usize) -> Self {
        let options = ClientOptions {
            max_message_bytes,
            ..ClientOptions::default()
        };
        Self::of(Arc::new(Book::new()), &options)
    }
}

impl<S> Layer<S> for SyncLayer {
    type Service = Sync<S>;

    fn layer(&self, inner: S) -> Sync<S> {
        Sync {
            inner,
            layer: self.clone(),
        }
    }
}

/// Translates calls to wire calls against what the engine acknowledged, and answers back.
#[derive(Clone, Debug)]
pub(crate) struct Sync<S> {
    inner: S,
    layer: SyncLayer,
}

impl<S> Service<KnownCall> for Sync<S>
where
    S: Service<WireCall, Response = WireReply, Error = CallError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, known: KnownCall) -> Self::Future {
        let KnownCall {
            call,
            engine,
            adaptation,
        } = known;
        let traffic = call.traffic.clone();
        let mut wire = self.layer.wire_call(call, &engine);
        wire.adaptation = adaptation;
        let answer = self.inner.call(wire);
        Box::pin(async move {
            let WireReply { result, said } = answer.await?;
            Ok(Served {
                result,
                by: ServedBy::Engine(engine.info.id.clone()),
                reason: None,
                said,
                traffic,
            })
        })
    }
}
