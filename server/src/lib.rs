//! Serves any context engine over gRPC.
//!
//! An engine author implements one trait and gets the rest: frames, mirrors that keep the wire cost
//! at what changed, budgets and cancellation that stop the work, panics that end one call only,
//! health, reflection, private sockets, drain.
//!
//! ```no_run
#![doc = include_str!("../examples/minimal.rs")]
//! ```

mod admin;
mod admit;
mod budget;
mod computing;
mod drain;
mod engine_call;
mod frames;
mod hook;
mod host_call;
mod intake;
mod listen;
mod load;
mod log;
mod metered;
mod methods;
mod mirror;
mod options;
mod refuse;
mod server;
mod service;
mod shared;
mod signal;
mod size;

pub use contextwire_engine as engine;
pub use contextwire_proto::edge::UnknownFields;
pub use listen::{Listen, ListenError};
pub use options::ServerOptions;
pub use server::{BoundServer, ServeError, Server};
pub use signal::{stop_signal, survive_file_limit};
