//! Layer: when the engine does not answer, somebody does, and says so (PROTOCOL 7).

mod compaction;
#[cfg(feature = "local")]
mod join;
mod last_good;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contextwire_engine::{Hook, Reply, SessionId};

#[cfg(feature = "local")]
pub(crate) use join::join;
pub(crate) use last_good::LastGood;
use last_good::{Asked, LastGoods};

use crate::call::{Answer, Call, Served, ServedBy};
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, layer};
use crate::neutral;
use crate::options::{ClientOptions, FallbackEngine, Policy};
use crate::request::{EngineReply, EngineRequest};
use compaction::CompactionInPlace;

/// Substitutes an answer by the hook's class: Assemble from the in-process engine, Compact from the
/// built-in one, hooks that the next sync makes up for by their neutral result. All other failures are passed on: what to do
/// about a turn that is not stored or a spawn that is not prepared is the host's choice.
#[derive(Clone, Debug)]
pub(crate) struct FallbackLayer {
    engine: FallbackEngine,
    policy: Policy,
    compaction: CompactionInPlace,
    /// Absent where there is no engine that could have been seen.
    known: Option<Arc<Acquaintance>>,
    goods: LastGoods,
    degraded: Arc<AtomicBool>,
}

impl FallbackLayer {
    pub(crate) fn of(options: &ClientOptions, known: Option<Arc<Acquaintance>>) -> Self {
        Self {
            engine: options.fallback,
            policy: options.policy,
            compaction: CompactionInPlace::new(options),
            known,
            goods: LastGoods::new(),
            degraded: Arc::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn new(fallback: FallbackEngine, known: Arc<Acquaintance>) -> Self {
        let options = ClientOptions {
            fallback,
            ..ClientOptions::default()
        };
        Self::of(&options, Some(known))
    }

    /// Whether the engine says so; nothing while it was never seen.
    fn owns_compaction(&self) -> Option<bool> {
        let Some(known) = &self.known else {
            return Some(false);
        };
        known.last().map(|engine| engine.info.owns_compaction)
    }

    /// Whether nobody may act in the engine's place: the operation must not begin on this host
    /// (HOST-SEMANTICS 5). A turn by lease is degraded instead.
    fn fails_closed(&self, error: &CallError) -> bool {
        matches!(error, CallError::Unmet(_)) && self.policy != Policy::Lease
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
                let owns = self.owns_compaction() == Some(true);
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

impl FallbackLayer {
    /// Compacts in the engine's place, where somebody does. If that fails too, the caller sees why
    /// the engine did not (HOST-SEMANTICS 3.4).
    async fn compact(&self, call: Call, error: &CallError) -> Option<EngineReply> {
        let session = call.session.id.clone();
        let owned = self.owns_compaction();
        let reply = self.compaction.run(call, owned, error).await?;
        if matches!(&reply, EngineReply::Compacted(done) if done.compacted) {
            self.goods.outdate(&session);
        }
        Some(reply)
    }
}

layer!(FallbackLayer);

impl Wrap for FallbackLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        #[cfg(feature = "local")]
        crate::local::warm_up();
        let substitute = Substitute::of(&call.request);
        let (session, traffic) = (call.session.id.clone(), call.traffic.clone());
        let asked = if let EngineRequest::Assemble(request) = &call.request {
            Asked::of(request)
        } else {
            None
        };
        let layer = self.clone();
        layer.goods.follow(&call.session);
        let compact = (call.hook() == Hook::Compact).then(|| Box::new(call.clone()));
        let answer = below.call(call);
        Box::pin(async move {
            let error = match answer.await {
                Ok(served) => {
                    layer.learn(&session, asked.as_ref(), &served);
                    return Ok(served);
                }
                Err(error) => error,
            };
            if layer.fails_closed(&error) {
                return Err(error);
            }
            let last = layer.goods.of(&session);
            let result = match compact {
                Some(call) => layer.compact(*call, &error).await,
                None => substitute.reply(layer.engine, last).await,
            };
            let Some(result) = result else {
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
