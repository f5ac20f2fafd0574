//! The order of a host's calls at the engine: a delayed packet loses, a live host gets on (R7.9).

use super::ledger::Ledger;
use crate::context::HookContext;
use crate::error::EngineError;
use crate::order::Order;

/// A place in the order of a session: first by host process, then by hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Start of the host's process.
    pub host_epoch: u64,
    /// Counts its mutating foreground hooks of this session.
    pub session_seq: u64,
}

impl Pair {
    /// The pair of a call; `None` for an unordered one.
    pub fn of(order: Option<Order>) -> Option<Self> {
        let Order {
            host_epoch,
            session_seq,
        } = order?;
        Some(Self {
            host_epoch,
            session_seq: session_seq?,
        })
    }
}

/// What a LOG that came with a call may do to the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// Only continue it.
    Extend,
    /// Continue, replace or shorten it.
    Replace,
}

/// What the LOG of this call may do: replace only where the call's pair is not lower than the
/// recorded one. Right before the effect and inside it, in a read as well.
///
/// # Errors
/// The store's.
pub fn log_change(
    ledger: &(impl Ledger + ?Sized),
    cx: &HookContext,
) -> Result<LogChange, EngineError> {
    let Some(pair) = Pair::of(cx.order) else {
        return Ok(LogChange::Extend);
    };
    let recorded = ledger.highest_pair(&cx.session.id)?;
    Ok(if Some(pair) < recorded {
        LogChange::Extend
    } else {
        LogChange::Replace
    })
}

/// Refuses a call whose pair is lower than the recorded one.
pub(super) fn check(ledger: &(impl Ledger + ?Sized), cx: &HookContext) -> Result<(), EngineError> {
    let (Some(pair), Some(recorded)) = (Pair::of(cx.order), ledger.highest_pair(&cx.session.id)?)
    else {
        return Ok(());
    };
    if pair < recorded {
        return Err(EngineError::generation_conflict(recorded));
    }
    Ok(())
}

/// Raises the recorded pair to the one of this call.
pub(super) fn raise(
    ledger: &mut (impl Ledger + ?Sized),
    cx: &HookContext,
) -> Result<(), EngineError> {
    let Some(pair) = Pair::of(cx.order) else {
        return Ok(());
    };
    if ledger.highest_pair(&cx.session.id)? < Some(pair) {
        ledger.put_highest_pair(&cx.session.id, pair)?;
    }
    Ok(())
}
