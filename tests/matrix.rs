//! Every hook against every fault, between real processes: what the host makes of it, why, that no
//! other session notices, and that the engine serves again when it can. `docs/faults.md` is the
//! table of these rows.

mod answers;
mod child;
mod deaths;
mod engine;
mod hooks;
mod network;
mod raw;

use std::time::Duration;

/// For faults that only a deadline ends. Nothing that has to go well gets so little.
const SHORT: Duration = Duration::from_secs(1);
