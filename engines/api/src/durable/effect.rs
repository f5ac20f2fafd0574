//! One effect a key: the effect, its answer and its place in the order in one transaction.

use std::marker::PhantomData;

use super::answer::Answer;
use super::fingerprint::{Fingerprint, Keyed};
use super::ledger::{KeyName, KeyRecord, KeyState, Ledger, UnixMillis};
use super::{claim, fence, order, preparation};
use crate::context::HookContext;
use crate::error::{EngineError, ErrorKind};
use crate::hook::Hook;

/// One attempt of a mutating call: which intent, which content, when.
#[derive(Debug)]
pub struct Attempt<R> {
    pub(super) cx: HookContext,
    pub(super) name: KeyName,
    pub(super) fingerprint: Fingerprint,
    pub(super) now: UnixMillis,
    request: PhantomData<fn() -> R>,
}

impl<R> Clone for Attempt<R> {
    fn clone(&self) -> Self {
        Self {
            cx: self.cx.clone(),
            name: self.name.clone(),
            fingerprint: self.fingerprint,
            now: self.now,
            request: PhantomData,
        }
    }
}

impl<R: Keyed> Attempt<R> {
    /// The attempt that brings this request at this moment of the engine's clock.
    pub fn new(cx: &HookContext, request: &R, now: UnixMillis) -> Self {
        Self {
            name: KeyName {
                session: cx.session.id.clone(),
                hook: R::HOOK,
                key: request.key(cx),
            },
            cx: cx.clone(),
            fingerprint: request.fingerprint(),
            now,
            request: PhantomData,
        }
    }

    /// What accompanies the call.
    pub fn context(&self) -> &HookContext {
        &self.cx
    }
}

/// What the records say about an attempt that may act.
pub(super) enum Admission<A> {
    /// The effect happened before; this is its answer.
    Recorded(A),
    /// It did not, and may.
    Open,
}

/// Runs `act` unless its effect happened before, and records its answer.
///
/// In this order: tombstones for the hooks that the call names as abandoned, STARTED where the call
/// comes from a prepared child, the key, the hook's own tombstone, the order. To be committed on
/// `Ok` and rolled back on `Err`; [`refused`] follows then.
///
/// # Errors
/// [`ErrorKind::IdempotencyConflict`], [`ErrorKind::InProgress`], [`ErrorKind::HookClosed`],
/// [`ErrorKind::GenerationConflict`], [`ErrorKind::Rejected`] for an empty key; those of `act` and
/// of the store.
pub fn effect<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
    act: impl FnOnce(&mut L) -> Result<R::Answer, EngineError>,
) -> Result<R::Answer, EngineError> {
    match admit(ledger, attempt)? {
        Admission::Recorded(answer) => Ok(answer),
        Admission::Open => {
            order::raise(ledger, &attempt.cx)?;
            let answer = act(ledger)?;
            settle(ledger, attempt, &answer)?;
            Ok(answer)
        }
    }
}

/// What a call that changes nothing of its own must still see to: tombstones before the answer,
/// late hooks in it, STARTED for a prepared child.
///
/// An engine whose reads should not write asks [`notice`] first.
///
/// # Errors
/// The store's.
pub fn read<L: Ledger + ?Sized>(
    ledger: &mut L,
    cx: &HookContext,
    now: UnixMillis,
) -> Result<(), EngineError> {
    fence::close_abandoned(ledger, cx)?;
    preparation::imply_started(ledger, cx, now, None)
}

/// Records the tombstones of the hooks that a refused call names as abandoned, and names those that
/// came too late for one: in a transaction of its own, after that of the call was rolled back and
/// before the refusal is answered (R7.2).
///
/// # Errors
/// The store's.
pub fn refused<L: Ledger + ?Sized>(ledger: &mut L, cx: &HookContext) -> Result<(), EngineError> {
    fence::close_abandoned(ledger, cx)
}

/// Whether a read has something to record before it may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debt {
    /// It may answer at once.
    None,
    /// [`read`] comes first, in a transaction that writes.
    Owed,
}

/// The same as [`read`] without writing: names late hooks, and says whether anything is owed.
///
/// # Errors
/// The store's.
pub fn notice<L: Ledger + ?Sized>(ledger: &L, cx: &HookContext) -> Result<Debt, EngineError> {
    let owed = fence::is_owed(ledger, cx)? || preparation::is_owed(ledger, cx)?;
    if owed {
        return Ok(Debt::Owed);
    }
    fence::name_late(ledger, cx)?;
    Ok(Debt::None)
}

/// Everything that is judged before an effect.
pub(super) fn admit<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
) -> Result<Admission<R::Answer>, EngineError> {
    let Attempt { cx, name, .. } = attempt;
    if name.key.is_empty() {
        return Err(EngineError::rejected("the call has an empty key"));
    }
    fence::close_abandoned(ledger, cx)?;
    if R::HOOK != Hook::EndSubagent {
        preparation::imply_started(ledger, cx, attempt.now, None)?;
    }
    if let Some(record) = ledger.key(name)? {
        if record.fingerprint != attempt.fingerprint {
            return Err(EngineError::idempotency_conflict(R::HOOK));
        }
        match record.state {
            KeyState::Done(answer) => return recorded(&answer).map(Admission::Recorded),
            KeyState::Running { until, .. } => claim::refuse_while_running(until, attempt.now)?,
        }
    }
    fence::check(ledger, cx)?;
    order::check(ledger, cx)?;
    Ok(Admission::Open)
}

/// Records the answer under the key.
pub(super) fn settle<L: Ledger + ?Sized, R: Keyed>(
    ledger: &mut L,
    attempt: &Attempt<R>,
    answer: &R::Answer,
) -> Result<(), EngineError> {
    let record = KeyRecord {
        fingerprint: attempt.fingerprint,
        state: KeyState::Done(answer.to_record()),
    };
    ledger.put_key(&attempt.name, &record)
}

/// A recorded answer as a repeated call gets it.
pub(super) fn recorded<A: Answer>(record: &[u8]) -> Result<A, EngineError> {
    let broken = || EngineError::new(ErrorKind::Failure, "a recorded answer cannot be read");
    Ok(A::from_record(record).ok_or_else(broken)?.again())
}
