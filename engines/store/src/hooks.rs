//! The hooks that feed a log, the same for every engine that keeps one.

mod claim;
mod feed;

use std::fmt;

use contextwire_engine::durable::{self, Attempt, Debt, Keyed, UnixMillis};
use contextwire_engine::{
    EndSubagent, EngineError, HookContext, PrepareSubagentSpawn, ResolveSubagentSpawn,
    SpawnPrepared,
};

use crate::log;
use crate::store::{Clock, Outcome, Store};

pub use claim::{Claim, Claimed};

/// What an engine does at the end of each transaction in which its log may have changed.
type Settle<R> = fn(&mut R, &HookContext) -> Outcome<()>;

/// The hooks over a store: each effect once a key, in the host's order, with the log as the host
/// has it.
pub struct LogHooks<S: Store> {
    store: S,
    clock: Clock,
    settle: Settle<S::Rows>,
}

impl<S: Store> LogHooks<S> {
    /// The hooks of an engine that keeps nothing beside the log.
    pub fn new(store: S, clock: Clock) -> Self {
        Self {
            store,
            clock,
            settle: |_, _| Ok(()),
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
        self.store.write(&cx, work).await
    }

    /// What every hook sees to that brings no LOG of its own: an engine whose log is behind the
    /// host's catches up (R3.3), and what a read owes is recorded before its answer (R7.2).
    ///
    /// # Errors
    /// The store's.
    pub async fn attend(&self, cx: &HookContext) -> Result<(), EngineError> {
        let seen = cx.clone();
        let looked = self.store.read(move |rows| {
            log::tell(rows, &seen, seen.log_head)?;
            Ok((durable::notice(rows, &seen)?, log::is_behind(rows, &seen)?))
        });
        let (debt, behind) = looked.await?;
        let log = if behind { cx.log.fetch().await } else { None };
        if debt == Debt::None && log.is_none() {
            return Ok(());
        }
        let (now, owing, settle) = (self.now(), cx.clone(), self.settle);
        let work = move |rows: &mut S::Rows| {
            durable::read(rows, &owing, now)?;
            if let Some(log) = log {
                let change = durable::log_change(rows, &owing)?;
                log::update(rows, &owing, &owing.session.id, &log, change)?;
                settle(rows, &owing)?;
            }
            log::tell(rows, &owing, owing.log_head)
        };
        self.store.write(cx, work).await
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
        self.store.write(cx, work).await
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
        self.store.write(cx, work).await
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
