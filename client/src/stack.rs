//! The stack that every call goes through, and why each layer is where it is.

use std::sync::Arc;

use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceBuilder};

use crate::breaker::BreakerLayer;
use crate::call::{Answer, Call};
use crate::catch_up::CatchUpLayer;
use crate::compat::{CompatLayer, Strip};
use crate::connect::Stub;
use crate::deadline::DeadlineLayer;
use crate::describe::{Acquaintance, DescribeLayer};
use crate::error::CallError;
use crate::fallback::FallbackLayer;
use crate::fence::FenceLayer;
use crate::gate::GateLayer;
use crate::host_call::HostCallBook;
use crate::options::{ClientOptions, OnEngineFailure, Policy};
use crate::order::{HostOrder, OrderLayer};
use crate::quarantine::QuarantineLayer;
use crate::retry;
use crate::sync::SyncLayer;
use crate::trace::TraceLayer;
use crate::transport::Transport;

/// A service of calls.
pub(crate) type Stack = BoxCloneSyncService<Call, Answer, CallError>;

/// Builds the stack over a stub.
pub(crate) fn stack(
    stub: Stub,
    (known, order): (Arc<Acquaintance>, Arc<HostOrder>),
    options: &ClientOptions,
) -> Stack {
    let judges = options.policy != Policy::Direct;
    let strip = match options.policy {
        Policy::Guarded => Strip::Reactively,
        Policy::Lease | Policy::Direct => Strip::Never,
    };
    let bars = options.policy == Policy::Guarded;
    let host_calls = Arc::new(HostCallBook::new());
    let engine = ServiceBuilder::new()
        // Sees that nobody answered, deadlines included, before a substitute acts.
        .layer(FenceLayer::new(Arc::clone(&host_calls)))
        // A barred engine is not waited for, and what bars one is the last word of all tries.
        .option_layer(bars.then(|| QuarantineLayer(Arc::clone(&known))))
        // Sees which calls ended with parts unsent, and sends the rest beside the conversation.
        .layer(CatchUpLayer::new(Arc::clone(&known)))
        // Every phase below, connecting included, is inside the engine's share.
        .layer(DeadlineLayer)
        // One place in the order for all tries below.
        .layer(OrderLayer(order))
        // Each try goes past the breaker, and all of them end with the deadline above.
        .option_layer(judges.then(retry::layer))
        // Judges each try, and sees what the deadline above cuts off.
        .option_layer(judges.then(|| BreakerLayer::new(Arc::clone(&known))))
        // A bad context is a failure of its try, for everything above.
        .layer(GateLayer)
        // What an engine is decides what it is sent.
        .layer(DescribeLayer(Arc::clone(&known)))
        // Sends again what a strict engine rejects, each time with lists of its own from below.
        .layer(CompatLayer::new(strip))
        // Knows what the engine holds; below it there are only wire types.
        .layer(SyncLayer::new(options.max_message_bytes))
        .service(Transport::new(stub, host_calls));
    match options.on_engine_failure {
        // Sees every failure below, and records who answered above.
        OnEngineFailure::Substitute => {
            let fallback = FallbackLayer::new(options.fallback, known);
            Stack::new(TraceLayer.layer(fallback.layer(engine)))
        }
        OnEngineFailure::Fail => Stack::new(TraceLayer.layer(engine)),
    }
}
