//! The stack that every call goes through, and why each layer is where it is.

use std::sync::{Arc, Mutex};

use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceBuilder};

use crate::admit::Admit;
use crate::batch::Batch;
use crate::breaker::{BreakerLayer, Circuit};
use crate::call::{Answer, Call};
use crate::catch_up::CatchUpLayer;
use crate::compat::{CompatLayer, Memory, Strip};
use crate::connect::Stub;
use crate::deadline::DeadlineLayer;
use crate::degrade::Turns;
use crate::describe::{Acquaintance, DescribeLayer};
use crate::error::CallError;
use crate::fallback::FallbackLayer;
use crate::fence::FenceLayer;
use crate::gate::GateLayer;
use crate::host_call::HostCallBook;
use crate::observer::Observer;
use crate::options::{ClientOptions, OnEngineFailure, Policy};
use crate::order::{HostOrder, OrderLayer};
use crate::quarantine::QuarantineLayer;
use crate::retry;
use crate::settle::Settle;
use crate::sync::{Book, SyncLayer};
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
    pub(crate) circuit: Arc<Mutex<Circuit>>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) book: Arc<Book>,
    pub(crate) admit: Admit,
    pub(crate) turns: Turns,
}

impl Gauges {
    pub(crate) fn new(
        (known, order, observer): (Arc<Acquaintance>, Arc<HostOrder>, Arc<Observer>),
        options: &ClientOptions,
    ) -> Self {
        let book = Arc::new(Book::new());
        // Who asks by hand wants to see what the engine says.
        let heeds = options.policy != Policy::Direct;
        let heeded = heeds.then(|| Arc::clone(&known));
        Self {
            known,
            order,
            observer,
            circuit: Arc::new(Mutex::new(Circuit::new())),
            memory: Arc::new(Memory::new()),
            admit: Admit::new(options.call_limits, Arc::clone(&book), heeded),
            book,
            turns: Turns::new(options.policy),
        }
    }
}

/// Builds the stack over a stub.
pub(crate) fn stack(stub: Stub, gauges: &Gauges, options: &ClientOptions) -> Stack {
    let known = &gauges.known;
    let judges = options.policy != Policy::Direct;
    let strip = match options.policy {
        Policy::Guarded => Strip::Reactively,
        Policy::Lease | Policy::Direct => Strip::Never,
    };
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
        // Judges each try, and sees what the deadline above cuts off.
        .option_layer(judges.then(|| BreakerLayer::of(gauges)))
        // A bad context is a failure of its try, for everything above.
        .layer(GateLayer)
        // What an engine is decides what it is sent, and whether this host will do.
        .layer(DescribeLayer(Arc::clone(known)))
        // Sends again what a strict engine rejects, each time with lists of its own from below.
        .layer(CompatLayer::of(strip, Arc::clone(&gauges.memory)))
        // Knows what the engine holds; below it there are only wire types.
        .layer(SyncLayer::of(Arc::clone(&gauges.book), options))
        .service(Transport::new(
            stub,
            host_calls,
            Arc::clone(&gauges.observer),
        ));
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
