//! What a host links: calls a context engine, never waits beyond a deadline, says who answered.
//!
//! ```no_run
//! use contextwire_client::{EngineClient, Target};
//! use contextwire_engine::{Assemble, Message, Session, SessionId, Transcript};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let target: Target = "unix:/run/user/1000/contextwire/engine.sock".parse()?;
//! let client = EngineClient::new(&target)?;
//! let session = Session::new(SessionId::new("main")?);
//!
//! let mut transcript = Transcript::new();
//! transcript.push(Message::from_payload(r#"{"role":"user","content":"hello"}"#));
//! let request = Assemble { transcript, ..Assemble::default() };
//!
//! // Dead, slow or wrong, the engine cannot take this turn: somebody answers and says so.
//! let served = client.assemble(&session, request).await?;
//! println!("{} messages by {}", served.result.messages().count(), served.by);
//! # Ok(())
//! # }
//! ```

mod admin;
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
mod describe;
mod error;
mod fallback;
mod fence;
mod gate;
mod host_call;
#[cfg(feature = "local")]
mod local;
mod neutral;
mod options;
mod order;
mod quarantine;
mod registry;
mod request;
mod requirements;
mod retry;
#[cfg(test)]
mod script;
mod session_host;
mod stack;
mod status;
pub mod store;
mod sync;
mod target;
mod trace;
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
pub use options::{
    ClientOptions, FallbackEngine, OnEngineFailure, Policy, QuarantineOptions, QuarantineRelease,
    QuarantineScope,
};
pub use quarantine::{QuarantineRecord, Quarantines};
pub use registry::{
    Downgrade, EngineRegistry, Lifecycle, Registration, RegistrationError, Resolution,
};
pub use request::{EngineReply, EngineRequest};
pub use requirements::{HostProfile, UnmetRequirement};
pub use session_host::{HostModel, ModelAnswer, SessionHost};
pub use target::{InvalidTarget, Target};
