//! A host.

pub mod app_server;
mod approval;
mod error;
pub mod item;
mod process;
mod protocol;
pub mod rpc;
mod tools;
mod wall_clock;

pub use error::CodexError;
