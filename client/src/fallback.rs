//! Layer: when the engine does not answer, somebody does, and says so (PROTOCOL 7).

#[cfg(feature = "local")]
mod join;
mod last_good;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use contextwire_engine::{Reply, SessionId};
use futures_util::future::BoxFuture;
use tower::{Layer, Service};

#[cfg(feature = "local")]
pub(crate) use join::join;
pub(crate) use last_good::LastGood;
use last_good::{Asked, LastGoods};

use crate::call::{Answer, Call, Served, ServedBy};
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::neutral;
use crate::options::FallbackEngine;
use crate::request::{EngineReply, EngineRequest};

/// Wraps a service of calls in [`Fallback`].
#[derive(Clone, Debug)]
pub(crate) struct FallbackLayer {
    engine: FallbackEngine,
    known: Arc<Acquaintance>,
    goods: LastGoods,
    degraded: Arc<AtomicBool>,
}

impl FallbackLayer {
    pub(crate) fn new(engine: FallbackEngine, known: Arc<Acquaintance>) -> Self {
        Self {
            engine,
            known,
            goods: LastGoods::new(),
            degraded: Arc::default(),
        }
    }

    /// Takes in what the engine answered.
    fn learn(&self, session: &SessionId, asked: Option<&Asked>, served: &Answer) {
        let ServedBy::Engine(engine) = &served.by else {
            return;
        };
        if self.degraded.swap(false, Ordering::Relaxed) {
            tracing::info!(engine, "the engine answers again");
        }
        match (&served.result, asked) {
            (EngineReply::Assembled(outcome), Some(asked)) => {
                let owns = self.known.last().is_some_and(|it| it.info.owns_compaction);
                self.goods.remember(session, asked, outcome, owns);
            }
            (EngineReply::Compacted(compacted), _) if compacted.compacted => {
                self.goods.outdate(session);
            }
            (EngineReply::Maintained(maintained), _) if maintained.changed => {
                self.goods.outdate(session);
            }
            (_, _) => {}
        }
    }
}

impl<S> Layer<S> for FallbackLayer {
    type Service = Fallback<S>;

    fn layer(&self, inner: S) -> Fallback<S> {
        Fallback {
            inner,
            layer: self.clone(),
        }
    }
}

/// Substitutes an answer by the hook's class: Assemble from the in-process engine, hooks that the
/// next sync makes up for by their neutral result. All other failures are passed on: what to do
/// about a turn that is not stored, a spawn that is not prepared or a session that is too long is
/// the host's choice.
#[derive(Clone, Debug)]
pub(crate) struct Fallback<S> {
    inner: S,
    layer: FallbackLayer,
}

impl<S> Service<Call> for Fallback<S>
where
    S: Service<Call, Response = Answer, Error = CallError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        #[cfg(feature = "local")]
        crate::local::warm_up();
        let substitute = Substitute::of(&call.request);
        let (session, traffic) = (call.session.id.clone(), call.traffic.clone());
        let asked = if let EngineRequest::Assemble(request) = &call.request {
            Asked::of(request)
        } else {
            None
        };
        let layer = self.layer.clone();
        let answer = self.inner.call(call);
        Box::pin(async move {
            let error = match answer.await {
                Ok(served) => {
                    layer.learn(&session, asked.as_ref(), &served);
                    return Ok(served);
                }
                Err(error) => error,
            };
            let last = layer.goods.of(&session);
            let Some(result) = substitute.reply(layer.engine, last).await else {
                return Err(error);
            };
            if !layer.degraded.swap(true, Ordering::Relaxed) {
                tracing::warn!(code = error.code(), %error, "the in-process engine serves");
            }
            Ok(Served {
                result,
                by: ServedBy::InProcess,
                reason: Some(Arc::new(error)),
                said: Reply::default(),
                traffic,
            })
        })
    }
}

/// What answers in the engine's place.
enum Substitute {
    #[cfg(feature = "local")]
    InProcess(Box<contextwire_engine::Assemble>),
    Neutral(Box<EngineReply>),
    Nothing,
}

impl Substitute {
    fn of(request: &EngineRequest) -> Self {
        #[cfg(feature = "local")]
        if let EngineRequest::Assemble(request) = request {
            return Self::InProcess(Box::new(request.clone()));
        }
        let neutral = neutral::substitute(request).map(Box::new);
        neutral.map_or(Self::Nothing, Self::Neutral)
    }

    #[cfg_attr(
        not(feature = "local"),
        expect(
            unused_variables,
            clippy::unused_async,
            reason = "there is no engine in this process"
        )
    )]
    async fn reply(self, engine: FallbackEngine, last: LastGood) -> Option<EngineReply> {
        match self {
            #[cfg(feature = "local")]
            Self::InProcess(request) => {
                let reply = crate::local::assemble(*request, engine, last).await;
                Some(EngineReply::Assembled(reply.into()))
            }
            Self::Neutral(reply) => Some(*reply),
            Self::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests;
