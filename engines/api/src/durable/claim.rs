//! Work that outlasts a transaction: the key is claimed, then the answer recorded (R7.10).
//!
//! A compaction that asks a model for minutes claims its key in one transaction, works, and settles
//! in another. Meanwhile the same key answers `IN_PROGRESS`. A claim whose holder died counts until
//! the lease is over, then the next attempt takes it.

use std::time::Duration;

use super::effect::{self, Admission, Attempt};
use super::fingerprint::Keyed;
use super::ledger::{KeyRecord, KeyState, Ledger, UnixMillis};
use super::{fence, order};
use crate::error::EngineError;
use crate::ids::HookId;

/// Shortest and longest wait that a repeated call is told.
const WAIT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// How long a claim counts at most, whatever its call's budget: a compaction's own deadline and as
/// much again. A clock that was set back makes no claim last longer either.
pub const LONGEST_LEASE: Duration = Duration::from_mins(6);

/// Who works on a key, and for how long at most.
#[derive(Clone, Debug)]
pub struct Lease {
    holder: String,
    length: Duration,
}

impl Lease {
    /// A lease that nobody else holds. Longer than the work can take: the rest of the call's budget
    /// and some more, up to [`LONGEST_LEASE`].
    pub fn new(length: Duration) -> Self {
        Self {
            holder: HookId::mint().to_string(),
            length: length.min(LONGEST_LEASE),
        }
    }
}

/// What [`begin`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun<A> {
    /// The effect happened before; this is its answer.
    Recorded(A),
    /// The key is this lease's: work, then [`finish`] or [`release`].
    Claimed,
}

/// Claims the key for work outside a transaction. Judges the same as [`effect::effect`] and
/// changes nothing but the claim.
///
/// # Errors
/// As [`effect::effect`].
pub fn begin<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
    lease: &Lease,
) -> Result<Begun<R::Answer>, EngineError> {
    match effect::admit(ledger, attempt)? {
        Admission::Recorded(answer) => Ok(Begun::Recorded(answer)),
        Admission::Open => {
            let record = KeyRecord {
                fingerprint: attempt.fingerprint,
                state: KeyState::Running {
                    holder: lease.holder.clone(),
                    until: attempt.now.after(lease.length),
                },
            };
            ledger.put_key(&attempt.name, &record)?;
            Ok(Begun::Claimed)
        }
    }
}

/// Runs `act`, the effect of the work, and records its answer; unless the hook was abandoned
/// meanwhile, the session went on without it, or another attempt took the key over.
///
/// # Errors
/// As [`effect::effect`]; on an error [`release`] lets the next attempt begin at once.
pub fn finish<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
    lease: &Lease,
    act: impl FnOnce(&mut L) -> Result<R::Answer, EngineError>,
) -> Result<R::Answer, EngineError> {
    match ledger.key(&attempt.name)?.map(|record| record.state) {
        Some(KeyState::Done(answer)) => return effect::recorded(&answer),
        Some(KeyState::Running { holder, .. }) if holder == lease.holder => {}
        Some(KeyState::Running { .. }) | None => return Err(EngineError::in_progress(WAIT.0)),
    }
    fence::check(ledger, &attempt.cx)?;
    order::check(ledger, &attempt.cx)?;
    order::raise(ledger, &attempt.cx)?;
    let answer = act(ledger)?;
    effect::settle(ledger, attempt, &answer)?;
    Ok(answer)
}

/// Gives the key back without an effect; nothing where somebody else holds it or it is settled.
///
/// # Errors
/// The store's.
pub fn release<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
    lease: &Lease,
) -> Result<(), EngineError> {
    match ledger.key(&attempt.name)?.map(|record| record.state) {
        Some(KeyState::Running { holder, .. }) if holder == lease.holder => {
            ledger.remove_key(&attempt.name)
        }
        Some(KeyState::Running { .. } | KeyState::Done(_)) | None => Ok(()),
    }
}

/// Refuses an attempt while another one's claim counts.
pub(super) fn refuse_while_running(until: UnixMillis, now: UnixMillis) -> Result<(), EngineError> {
    let left = until.since(now);
    if left.is_zero() || left > LONGEST_LEASE {
        return Ok(());
    }
    Err(EngineError::in_progress(left.clamp(WAIT.0, WAIT.1)))
}
