//! The hooks that feed a log, the same for every engine that keeps one.

mod attend;
mod claim;
mod feed;

use std::fmt;
use std::time::Duration;

use contextwire_engine::durable::{self, Attempt, Keyed, UnixMillis};
use contextwire_engine::{
    EndSubagent, ErrorKind, HookContext, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared,
};

use crate::log;
use crate::store::{Clock, Outcome, Store};

use attend::CatchingUp;
pub use claim::{Claim, Claimed};

/// How long recording the tombstones of a refused call may take.
const TOMBSTONES: Duration = Duration::from_secs(5);

/// What an engine does at the end of each transaction in which its log may have changed.
type Settle<R> = fn(&mut R, &HookContext) -> Outcome<()>;

/// The hooks over a store: each effect once a key, in the host's order, with the log as the host
/// has it.
pub struct LogHooks<S: Store> {
    store: S,
    clock: Clock,
    settle: Settle<S::Rows>,
    catching_up: CatchingUp,
}

impl<S: Store> LogHooks<S> {
    /// The hooks of an engine that keeps nothing beside the log.
    pub fn new(store: S, clock: Clock) -> Self {
        Self {
            store,
            clock,
            settle: |_, _| Ok(()),
            catching_up: CatchingUp::default(),
        }
    }

    /// The same for an engine that has more to bring in line in the same transaction.
    #[must_use]
    pub fn settling(self, settle: fn(&mut S::Rows, &HookContext) -> Outcome<()>) -> Self {
        Self { settle, ..self }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The time now.
    pub fn now(&self) -> UnixMillis {
        (self.clock)()
    }

    /// The attempt that brings this request now.
    pub fn attempt<R: Keyed>(&self, cx: &HookContext, request: &R) -> Attempt<R> {
        Attempt::new(cx, request, self.now())
    }

    /// One effect: `act` happens once a key, together with everything that is recorded of it.
    ///
    /// # Errors
    /// As [`durable::effect`].
    pub async fn act<R: Keyed + 'static>(
        &self,
        attempt: Attempt<R>,
        act: impl FnOnce(&mut S::Rows, &HookContext) -> Outcome<R::Answer> + Send + 'static,
    ) -> Outcome<R::Answer>
    where
        R::Answer: Send + 'static,
    {
        let cx = attempt.context().clone();
        let settle = self.settle;
        let work = move |rows: &mut S::Rows| {
            let cx = attempt.context();
            let answer = durable::effect(rows, &attempt, |rows| {
                let answer = act(rows, cx)?;
                settle(rows, cx)?;
                Ok(answer)
            })?;
            if let Some(head) = cx.log_head {
                log::confirm(rows, &cx.session.id, head)?;
            }
            log::tell(rows, cx, cx.log_head)?;
            Ok(answer)
        };
        self.take_effect(&cx, work).await
    }

    /// One transaction with the effect of the call in it. A host that takes the call back up to its
    /// commit is told that it had none (R1.5).
    async fn take_effect<T: Send + 'static>(
        &self,
        cx: &HookContext,
        work: impl FnOnce(&mut S::Rows) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let cancellation = cx.cancellation.clone();
        let committing = move |rows: &mut S::Rows| {
            let done = work(rows)?;
            cancellation.commit()?;
            Ok(done)
        };
        self.look_after(cx, committing).await
    }

    /// One transaction, and the tombstones that the call brings also where it is refused (R7.2).
    async fn look_after<T: Send + 'static>(
        &self,
        cx: &HookContext,
        work: impl FnOnce(&mut S::Rows) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let done = self.store.write(cx, work).await;
        let Err(error) = &done else { return done };
        // A store that cannot be written has room for no tombstone; the host carries it on.
        if !cx.abandoned_hooks.is_empty() && error.kind() != ErrorKind::Transient {
            let refused = cx.clone();
            let apart = HookContext::of_hook(cx.hook_id, cx.session.clone(), TOMBSTONES);
            let recorded = self
                .store
                .write(&apart, move |rows| durable::refused(rows, &refused));
            if let Err(error) = recorded.await {
                tracing::warn!(%error, "a refused call's abandoned hooks could not be recorded");
            }
        }
        done
    }

    /// Prepares a spawn: durable before the answer (R9.1). `act` is the engine's own part of it.
    ///
    /// # Errors
    /// As [`durable::prepare`].
    pub async fn prepare(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
        act: impl FnOnce(&mut S::Rows, &PrepareSubagentSpawn) -> Outcome<SpawnPrepared> + Send + 'static,
    ) -> Outcome<SpawnPrepared> {
        let (attempt, now, settle) = (self.attempt(cx, &request), self.now(), self.settle);
        let work = move |rows: &mut S::Rows| {
            durable::sweep(rows, now)?;
            let cx = attempt.context();
            let answer = durable::prepare(rows, &attempt, &request, |rows| act(rows, &request))?;
            settle(rows, cx)?;
            log::tell(rows, cx, cx.log_head)?;
            Ok(answer)
        };
        self.take_effect(cx, work).await
    }

    /// Settles a spawn.
    ///
    /// # Errors
    /// As [`durable::resolve`].
    pub async fn resolve(&self, cx: &HookContext, request: ResolveSubagentSpawn) -> Outcome<()> {
        let (attempt, now, settle) = (self.attempt(cx, &request), self.now(), self.settle);
        let work = move |rows: &mut S::Rows| {
            durable::sweep(rows, now)?;
            let cx = attempt.context();
            durable::resolve(rows, &attempt, &request)?;
            settle(rows, cx)?;
            log::tell(rows, cx, cx.log_head)
        };
        self.take_effect(cx, work).await
    }

    /// Takes note of a child's end.
    ///
    /// # Errors
    /// As [`durable::effect`].
    pub async fn end_subagent(&self, cx: &HookContext, request: EndSubagent) -> Outcome<()> {
        self.act(self.attempt(cx, &request), |_, _| Ok(())).await
    }
}

impl<S: Store> fmt::Debug for LogHooks<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogHooks").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
