//! What a host links: calls a context engine, never waits beyond a deadline, says who answered.
//!
//! [`Host`] has engines in a slot and everything around them; [`EngineClient`] is one engine.
//!
//! ```no_run
//! use contextwire_client::engine::{Assemble, Session, SessionId};
//! use contextwire_client::{Host, Target};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Target::unix("/run/user/1000/contextwire/engine.sock");
//! let host = Host::builder().engine("lossless", engine).build()?;
//! let session = Session::new(SessionId::new("main")?);
//! // Dead, slow or wrong, the engine cannot take this turn: somebody answers, and says so.
//! let served = host.assemble(&session, Assemble::default()).await?;
//! println!("served by {}", served.by);
//! # Ok(())
//! # }
//! ```

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
mod endpoint;
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
mod quarantine;
mod registry;
mod replicas;
mod request;
mod requirements;
mod retry;
#[cfg(test)]
mod script;
mod session_host;
mod settle;
mod spawned;
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
pub use spawned::{InvalidCommand, SpawnCommand};
pub use target::{InvalidTarget, Target};
pub use trace_parent::{InvalidTraceParent, TraceParent};
