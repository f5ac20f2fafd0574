//! What can be wrong with an engine or a session file, and what to do about it.

mod compaction;
mod engine;
mod privacy;
mod session;
mod socket;

pub use engine::examine_engine;
pub use privacy::{HostKind, leaves_the_host};
pub use session::examine_session;
