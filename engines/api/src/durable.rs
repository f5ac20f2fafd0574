//! Durable parts for engines with a store: every effect once, in order, and never after its time.
//!
//! An engine that keeps something implements [`Ledger`] for a transaction of its own store, and runs
//! each mutating hook through [`effect`]: keys and recorded answers (R7.10), the host's order
//! (R7.9), tombstones of abandoned hooks and the names of late ones (R7.2) come with it. Work that
//! outlasts a transaction claims its key with [`begin`] and settles it with [`finish`];
//! preparations of subagents go through [`prepare`] and [`resolve`] (section 9); hooks that change
//! nothing through [`notice`] and [`read`].
//!
//! Nothing here does I/O or reads a clock. What an `Err` leaves behind is rolled back with the
//! transaction, so a refused call changes nothing; the tombstones that it brings are recorded by
//! [`refused`] after that.
//!
//! ```
//! use contextwire_engine::durable::{self, Attempt, Ledger, UnixMillis};
//! use contextwire_engine::{EngineError, HookContext, Ingest, Ingested};
//!
//! /// `tx` is a transaction of the engine's own store: committed on `Ok`, rolled back on `Err`.
//! fn ingest<L: Ledger>(
//!     tx: &mut L,
//!     cx: &HookContext,
//!     request: &Ingest,
//!     now: UnixMillis,
//! ) -> Result<Ingested, EngineError> {
//!     durable::effect(tx, &Attempt::new(cx, request, now), |_tx| {
//!         // Store the message in the same transaction.
//!         Ok(Ingested { ingested: true })
//!     })
//! }
//! ```

mod answer;
mod claim;
mod effect;
mod fence;
mod fields;
mod fingerprint;
mod ledger;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod order;
mod preparation;

pub use answer::Answer;
pub use claim::{Begun, LONGEST_LEASE, Lease, begin, finish, release};
pub use effect::{Attempt, Debt, effect, notice, read, refused};
pub use fingerprint::{Fingerprint, Keyed};
pub use ledger::{KeyName, KeyRecord, KeyState, Ledger, UnixMillis};
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryLedger;
pub use order::{LogChange, Pair, log_change};
pub use preparation::{DEFAULT_TTL, Preparation, Stage, TOMBSTONE_TTL, prepare, resolve, sweep};

#[cfg(test)]
mod tests;
