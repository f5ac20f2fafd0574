//! Driving a recorded session through an engine, as a host would.

mod drive;
mod own_engine;
mod write;

pub use drive::{Outage, Replay, ReplayError, Settings};
pub use own_engine::{OwnEngine, OwnEngineError};
pub use write::ContextWriter;
