//! What a host links: calls a context engine, never waits beyond a deadline, says who answered.
//!
//! [`Host`] has engines in a slot and everything around them, and an example of it all;
//! [`EngineClient`] is one engine.

mod admin;
mod admit;
mod affinity;
mod atomic_file;
mod batch;
mod breaker;
mod call;
mod catch_up;
mod classify;
mod client;
mod compat;
mod connect;
mod context;
mod deadline;
mod degrade;
mod describe;
mod error;
mod fallback;
mod fence;
mod gate;
mod hooks;
mod host;
mod host_call;
mod in_process;
mod info_file;
mod layer;
pub mod lifecycle;
#[cfg(feature = "local")]
mod local;
mod metrics;
mod neutral;
mod observer;
mod options;
mod order;
#[cfg(feature = "outbox")]
pub mod outbox;
mod quarantine;
mod registry;
mod request;
mod requirements;
mod retry;
#[cfg(test)]
mod script;
mod session_host;
mod settle;
mod stack;
pub mod status;
pub mod store;
mod sync;
mod target;
mod trace;
mod trace_parent;
mod transport;
mod tries;
mod wall_clock;

pub use admin::AdminClient;
pub use call::{Answer, Call, Served, ServedBy, Traffic};
pub use client::EngineClient;
pub use context::Context;
pub use contextwire_engine as engine;
pub use contextwire_proto::handshake;
pub use error::{CallError, FailureClass};
pub use hooks::Hooks;
pub use host::{Admission, BuildError, Host, HostBuilder, Turn, TurnEngine, TurnError, TurnMode};
#[cfg(feature = "outbox")]
pub use host::{Recorded, RecordedEnd};
pub use metrics::{Label, Metrics};
pub use options::{
    CallLimits, ClientOptions, CompactFallback, FallbackEngine, OnEngineFailure, Policy,
    QuarantineOptions, QuarantineRelease, QuarantineScope,
};
pub use quarantine::{QuarantineRecord, Quarantines};
pub use registry::{
    Downgrade, EngineRegistry, Lifecycle, Registration, RegistrationError, Resolution,
};
pub use request::{EngineReply, EngineRequest};
pub use requirements::{HostProfile, UnmetRequirement};
pub use session_host::{HostModel, ModelAnswer, SessionHost};
pub use target::{InvalidTarget, Target};
pub use trace_parent::{InvalidTraceParent, TraceParent};
