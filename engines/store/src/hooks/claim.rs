//! Work that outlasts a transaction: its key is claimed, and settled or given back.

use std::time::Duration;

use contextwire_engine::durable::{self, Attempt, Begun, Keyed, Lease};
use contextwire_engine::{EngineError, HookContext};

use super::LogHooks;
use crate::log;
use crate::store::{Outcome, Store};

/// How much longer than the call its claim lasts.
const MARGIN: Duration = Duration::from_secs(5);

/// What asking for a key found.
#[derive(Debug)]
pub enum Claimed<'h, S: Store, R: Keyed + 'static> {
    /// The effect happened before; this is its answer.
    Recorded(R::Answer),
    /// The key is this call's.
    Held(Claim<'h, S, R>),
}

/// A claimed key; dropped unsettled, as when the host stops waiting, it is given back.
#[derive(Debug)]
pub struct Claim<'h, S: Store, R: Keyed + 'static> {
    hooks: &'h LogHooks<S>,
    held: Option<Box<(Attempt<R>, Lease)>>,
}

impl<S: Store> LogHooks<S> {
    /// Claims the key of a call for as long as the call can take and a little more.
    ///
    /// # Errors
    /// As [`durable::begin`].
    pub async fn claim<R: Keyed + 'static>(
        &self,
        cx: &HookContext,
        attempt: Attempt<R>,
    ) -> Outcome<Claimed<'_, S, R>>
    where
        R::Answer: Send + 'static,
    {
        let lease = Lease::new(cx.remaining().saturating_add(MARGIN));
        let (begin, held) = (attempt.clone(), lease.clone());
        let claiming = cx.aside();
        let begun = self.look_after(&claiming, move |rows| {
            let begun = durable::begin(rows, &begin, &held)?;
            log::tell(rows, begin.context(), begin.context().log_head)?;
            Ok(begun)
        });
        Ok(match begun.await? {
            Begun::Recorded(answer) => Claimed::Recorded(answer),
            Begun::Claimed => Claimed::Held(Claim {
                hooks: self,
                held: Some(Box::new((attempt, lease))),
            }),
        })
    }
}

impl<S: Store, R: Keyed + 'static> Claim<'_, S, R>
where
    R::Answer: Send + 'static,
{
    /// Runs `act`, the effect of the work, and records its answer.
    ///
    /// # Errors
    /// As [`durable::finish`]; the key is given back then.
    pub async fn settle(
        mut self,
        cx: &HookContext,
        act: impl FnOnce(&mut S::Rows) -> Outcome<R::Answer> + Send + 'static,
    ) -> Outcome<R::Answer> {
        let Some((attempt, lease)) = self.held.as_deref().cloned() else {
            return Err(EngineError::transient("the claim is settled"));
        };
        let work = move |rows: &mut S::Rows| durable::finish(rows, &attempt, &lease, act);
        let settled = self.hooks.take_effect(cx, work).await;
        if settled.is_ok() {
            self.held = None;
        }
        settled
    }
}

impl<S: Store, R: Keyed + 'static> Drop for Claim<'_, S, R> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let (attempt, lease) = *held;
            let give_back = move |rows: &mut S::Rows| durable::release(rows, &attempt, &lease);
            self.hooks.store.submit(give_back);
        }
    }
}
