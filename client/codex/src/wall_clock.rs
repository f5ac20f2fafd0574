//! The wall clock: for stored entries, and for nothing that is waited for.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 on a clock before it.
#[expect(
    clippy::disallowed_methods,
    reason = "the rim: stored entries carry the time of day"
)]
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}
