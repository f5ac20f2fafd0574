//! The stack that every call goes through, and why each layer is where it is.

use std::sync::Arc;

use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceBuilder};

use crate::call::{Answer, Call};
use crate::catch_up::CatchUpLayer;
use crate::connect::Stub;
use crate::deadline::DeadlineLayer;
use crate::describe::{Acquaintance, DescribeLayer};
use crate::error::CallError;
use crate::fallback::FallbackLayer;
use crate::fence::FenceLayer;
use crate::host_call::HostCallBook;
use crate::options::{ClientOptions, OnEngineFailure};
use crate::order::{HostOrder, OrderLayer};
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
    let host_calls = Arc::new(HostCallBook::new());
    let engine = ServiceBuilder::new()
        // Sees that nobody answered, deadlines included, before a substitute acts.
        .layer(FenceLayer::new(Arc::clone(&host_calls)))
        // Sees which calls ended with parts unsent, and sends the rest beside the conversation.
        .layer(CatchUpLayer::new(Arc::clone(&known)))
        // Every phase below, connecting included, is inside the engine's share.
        .layer(DeadlineLayer)
        // One place in the order for all attempts below.
        .layer(OrderLayer(order))
        // What an engine is decides what it is sent.
        .layer(DescribeLayer(known))
        // Knows what the engine holds; below it there are only wire types.
        .layer(SyncLayer::new(options.max_message_bytes))
        .service(Transport::new(stub, host_calls));
    match options.on_engine_failure {
        // Sees every failure below, and records who answered above.
        OnEngineFailure::Substitute => {
            Stack::new(TraceLayer.layer(FallbackLayer::default().layer(engine)))
        }
        OnEngineFailure::Fail => Stack::new(TraceLayer.layer(engine)),
    }
}
