//! Layer: an older or stricter engine is sent what it can take (PROTOCOL 5).
//!
//! Above sync, since a call that is sent again needs its lists anew; what it decides is applied to
//! the wire form just before the request goes out.

mod adaptation;
mod complaint;
mod memory;
mod removable;
mod validator;

use std::sync::Arc;
use std::task::{Context, Poll};

use contextwire_proto::Reason;
use contextwire_proto::handshake::EngineDescription;
use futures_util::future::BoxFuture;
use tower::{Layer, Service, ServiceExt};

pub(crate) use adaptation::Adaptation;
pub(crate) use memory::Memory;

use crate::call::{Answer, Call};
use crate::describe::KnownCall;
use crate::error::CallError;

/// Whether a strict engine is sent a call again without what it rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strip {
    /// Yes, and the host remembers it.
    Reactively,
    /// No: its complaint is a failure like any other.
    Never,
}

/// Wraps a service of known calls in [`Compat`].
#[derive(Clone, Debug)]
pub(crate) struct CompatLayer {
    strip: Strip,
    memory: Arc<Memory>,
}

impl CompatLayer {
    pub(crate) fn of(strip: Strip, memory: Arc<Memory>) -> Self {
        Self { strip, memory }
    }

    #[cfg(test)]
    pub(crate) fn new(strip: Strip) -> Self {
        Self::of(strip, Arc::new(Memory::new()))
    }
}

impl<S> Layer<S> for CompatLayer {
    type Service = Compat<S>;

    fn layer(&self, inner: S) -> Compat<S> {
        Compat {
            inner,
            layer: self.clone(),
        }
    }
}

/// Computes each request for its engine, and sends it again without the fields that a strict engine
/// names, as long as that teaches the host something: under the same key, within the same time,
/// counted by nobody.
#[derive(Clone, Debug)]
pub(crate) struct Compat<S> {
    inner: S,
    layer: CompatLayer,
}

impl<S> Service<KnownCall> for Compat<S>
where
    S: Service<KnownCall, Response = Answer, Error = CallError> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, KnownCall { call, engine, .. }: KnownCall) -> Self::Future {
        // The service that said it is ready is the one that is called.
        let spare = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, spare);
        let layer = self.layer.clone();
        Box::pin(async move {
            loop {
                let adaptation = layer.memory.adaptation(call.hook(), &engine);
                let attempt = KnownCall {
                    call: call.next_try(),
                    engine: Arc::clone(&engine),
                    adaptation: adaptation.clone(),
                };
                let error = match inner.call(attempt).await {
                    Ok(answer) => return Ok(answer),
                    Err(error) => error,
                };
                if !layer.learns(&call, &engine, &adaptation, &error) {
                    return Err(error);
                }
                inner.ready().await?;
            }
        })
    }
}

impl CompatLayer {
    /// Whether the error taught something that makes another try worth while.
    fn learns(
        &self,
        call: &Call,
        engine: &EngineDescription,
        sent: &Adaptation,
        error: &CallError,
    ) -> bool {
        if let CallError::Refused {
            reason: Reason::NotUnderstood,
            violations,
            ..
        } = error
        {
            let names = violations.iter().map(|violation| violation.field.clone());
            self.memory
                .learn(engine, |learned| learned.not_understood.extend(names));
            return false;
        }
        if self.strip == Strip::Never || call.share().is_zero() {
            return false;
        }
        let mut rejected = complaint::rejected(call, error);
        rejected.retain(|path| !sent.leaves_out(path));
        if rejected.is_empty() {
            return false;
        }
        tracing::info!(
            engine = %engine.info.id,
            hook = %call.hook(),
            fields = ?rejected,
            "a strict engine does not know these: they are left out from now on"
        );
        self.memory
            .learn(engine, |learned| learned.stripped.extend(rejected));
        true
    }
}

#[cfg(test)]
mod tests;
