//! What can be wrong with an engine, a configuration or a session file, and what to do about it.

mod compaction;
mod config;
mod engine;
mod privacy;
mod session;
mod socket;
mod store;

pub use config::{examine_config, target_of};
pub use engine::examine_engine;
pub use privacy::{HostKind, leaves_the_host};
pub use session::examine_session;
