//! Where an engine keeps its rows, whatever they are kept in.

use std::future::Future;
use std::sync::Arc;

use contextwire_engine::durable::{Ledger, UnixMillis};
use contextwire_engine::{EngineError, HookContext};

use crate::log::LogRows;

/// What comes of work on rows.
pub type Outcome<T> = Result<T, EngineError>;

/// The wall clock of an engine.
pub type Clock = Arc<dyn Fn() -> UnixMillis + Send + Sync>;

/// The system's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the rim: everything below takes the time as a value"
)]
pub fn system_clock() -> UnixMillis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    UnixMillis(0).after(since.unwrap_or_default())
}

/// Rows with transactions: all of one call's work or none of it.
///
/// Work is a function of rows and never awaits, so a store may run it on a thread of its own, as one
/// on SQLite does and one on a server of databases can.
pub trait Store: Send + Sync + 'static {
    /// The rows as one transaction sees them.
    type Rows: LogRows + Ledger + 'static;

    /// Runs `act` in a transaction that writes. An `Ok` comes back only after the commit survives a
    /// loss of power; an `Err` leaves nothing behind. A call that is cancelled before its turn has
    /// no effect. Transactions that write do not overlap.
    fn write<T: Send + 'static>(
        &self,
        cx: &HookContext,
        act: impl FnOnce(&mut Self::Rows) -> Outcome<T> + Send + 'static,
    ) -> impl Future<Output = Outcome<T>> + Send;

    /// Hands over work that nobody waits for; it may be dropped where there is no room.
    fn submit(&self, act: impl FnOnce(&mut Self::Rows) -> Outcome<()> + Send + 'static);

    /// Runs `look` on one state of the store. Never waits for a transaction that writes.
    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self::Rows) -> Outcome<T> + Send + 'static,
    ) -> impl Future<Output = Outcome<T>> + Send;
}
