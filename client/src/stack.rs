//! The stack that every call goes through, and why each layer is where it is.

use std::sync::Arc;

use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceBuilder};

use crate::admit::Admit;
use crate::batch::Batch;
use crate::breaker::BreakerLayer;
use crate::call::{Answer, Call};
use crate::catch_up::CatchUpLayer;
use crate::compat::{CompatLayer, Memory, Strip};
use crate::deadline::DeadlineLayer;
use crate::degrade::Turns;
use crate::describe::{Acquaintance, DescribeLayer};
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::fallback::FallbackLayer;
use crate::fence::FenceLayer;
use crate::gate::GateLayer;
use crate::host_call::HostCallBook;
use crate::observer::Observer;
use crate::options::{ClientOptions, OnEngineFailure, Policy};
use crate::order::{HostOrder, OrderLayer};
use crate::quarantine::QuarantineLayer;
use crate::replicas::Replicas;
use crate::retry;
use crate::settle::Settle;
use crate::sync::SyncLayer;
use crate::trace::Trace;
use crate::transport::Transport;

/// A service of calls.
pub(crate) type Stack = BoxCloneSyncService<Call, Answer, CallError>;

/// What the layers of one client share, and its status shows.
#[derive(Debug)]
pub(crate) struct Gauges {
    pub(crate) known: Arc<Acquaintance>,
    pub(crate) order: Arc<HostOrder>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) endpoints: Vec<Arc<Endpoint>>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) admit: Admit,
    pub(crate) turns: Turns,
}

impl Gauges {
    pub(crate) fn new(
        (known, order, observer): (Arc<Acquaintance>, Arc<HostOrder>, Arc<Observer>),
        endpoints: Vec<Arc<Endpoint>>,
        options: &ClientOptions,
    ) -> Self {
        let books = endpoints.iter().map(|it| Arc::clone(&it.book)).collect();
        // Who asks by hand wants to see what the engine says.
        let heeds = options.policy != Policy::Direct;
        let heeded = heeds.then(|| Arc::clone(&known));
        Self {
            known,
            order,
            observer,
            memory: Arc::new(Memory::new()),
            admit: Admit::new(options.call_limits, books, heeded),
            endpoints,
            turns: Turns::new(options.policy),
        }
    }
}

/// Builds the stack over the endpoints of an engine.
pub(crate) fn stack(gauges: &Gauges, options: &ClientOptions) -> Stack {
    let known = &gauges.known;
    let judges = options.policy != Policy::Direct;
    let bars = options.policy == Policy::Guarded;
    let substitutes = options.on_engine_failure == OnEngineFailure::Substitute;
    let host_calls = Arc::new(HostCallBook::new());
    let engine = ServiceBuilder::new()
        // A turn that was taken over is not the engine's any more, whatever it would say now.
        .option_layer((judges && substitutes).then(|| gauges.turns.clone()))
        // Sees that nobody answered, deadlines included, before a substitute acts.
        .layer(FenceLayer::new(Arc::clone(&host_calls)))
        // A barred engine is not waited for, and what bars one is the last word of all tries.
        .option_layer(bars.then(|| QuarantineLayer(Arc::clone(known))))
        // Sees which calls ended with parts unsent, and sends the rest beside the conversation.
        .layer(CatchUpLayer::new(Arc::clone(known)))
        // Every phase below, waiting for a turn and connecting included, is inside the engine's share.
        .layer(DeadlineLayer)
        // Before anything is taken up for the call; one permit for all its tries.
        .layer(gauges.admit.clone())
        // One place in the order for all tries below.
        .layer(OrderLayer(Arc::clone(&gauges.order)))
        // Goes before a call that has its place already, with the place that it had itself.
        .option_layer(judges.then(Settle::new))
        // Each try goes past the breaker, and all of them end with the deadline above.
        .option_layer(judges.then(retry::layer))
        // Of several endpoints, each try goes to the one where the session belongs, or past it.
        .service(endpoints(gauges, options, &host_calls));
    // Above the fallback, which records who answered; a batch is several calls.
    let face = (
        Batch(Arc::clone(known)),
        Trace(Arc::clone(&gauges.observer)),
    );
    if substitutes {
        // Sees every failure below.
        let fallback = FallbackLayer::of(options, Some(Arc::clone(known)));
        Stack::new(face.layer(fallback.layer(engine)))
    } else {
        Stack::new(face.layer(engine))
    }
}

/// What an engine's calls come down to: its endpoint, or a choice between them.
fn endpoints(gauges: &Gauges, options: &ClientOptions, host_calls: &Arc<HostCallBook>) -> Stack {
    let stacks = gauges.endpoints.iter().map(|endpoint| {
        let stack = one(endpoint, gauges, options, host_calls);
        (Arc::clone(endpoint), stack)
    });
    let mut stacks: Vec<_> = stacks.collect();
    match (stacks.len(), stacks.pop()) {
        (1, Some((_, only))) => only,
        (_, last) => Stack::new(Replicas::new(stacks.into_iter().chain(last), options)),
    }
}

/// The part of the stack that each endpoint has for itself. What the host answered an engine belongs
/// to the hook, wherever that goes on.
fn one(
    endpoint: &Arc<Endpoint>,
    gauges: &Gauges,
    options: &ClientOptions,
    host_calls: &Arc<HostCallBook>,
) -> Stack {
    let judges = options.policy != Policy::Direct;
    let strip = match options.policy {
        Policy::Guarded => Strip::Reactively,
        Policy::Lease | Policy::Direct => Strip::Never,
    };
    let observer = &gauges.observer;
    let stack = ServiceBuilder::new()
        // Judges each try, and sees what the deadline above cuts off.
        .option_layer(judges.then(|| BreakerLayer::of(endpoint, observer)))
        // A bad context is a failure of its try, for everything above.
        .layer(GateLayer)
        // What an engine is decides what it is sent, and whether this host will do.
        .layer(DescribeLayer(Arc::clone(&endpoint.known)))
        // Sends again what a strict engine rejects, each time with lists of its own from below.
        .layer(CompatLayer::of(strip, Arc::clone(&gauges.memory)))
        // Knows what the engine holds; below it there are only wire types.
        .layer(SyncLayer::of(Arc::clone(&endpoint.book), options))
        .service(Transport::new(
            endpoint.stub.clone(),
            Arc::clone(host_calls),
            Arc::clone(observer),
        ));
    Stack::new(stack)
}
