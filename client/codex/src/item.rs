//! Messages as items of a thread, and what happened in a thread as messages of the log.

mod injected;
mod told;

pub use injected::items;
pub use told::messages;
