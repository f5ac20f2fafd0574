//! Driving a recorded session through an engine, as a host would.

mod anchor;
mod drive;
mod followed;
mod host;
mod own_engine;
mod stored;
mod write;

pub use drive::{CompactRule, Outage, Replay, ReplayError, Settings};
pub use own_engine::{OwnEngine, OwnEngineError};
pub use write::ContextWriter;

#[cfg(test)]
mod tests;
