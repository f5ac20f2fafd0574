//! What every hook sees to that brings no LOG of its own: tombstones, and a store that is behind.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use contextwire_engine::durable::{self, Debt};
use contextwire_engine::{EngineError, ErrorKind, HookContext, Transcript};
use tokio::time::Instant;

use super::LogHooks;
use crate::log;
use crate::store::{Outcome, Store};

/// How long after a LOG that could not be stored the next one is asked for; doubled each time.
const WAIT: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(10));

/// When a store that could not take a LOG is offered the next one: while its disk is full, no turn
/// pays for an upload that leads to nothing.
#[derive(Debug, Default)]
pub(super) struct CatchingUp(Mutex<Option<(Instant, Duration)>>);

impl CatchingUp {
    fn is_due(&self) -> bool {
        let paused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paused.is_none_or(|(until, _)| Instant::now() >= until)
    }

    /// The store takes LOGs.
    pub(super) fn succeeded(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn failed(&self) {
        let mut paused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = paused.map_or(WAIT.0, |(_, wait)| wait.saturating_mul(2).min(WAIT.1));
        *paused = Some((Instant::now() + wait, wait));
    }
}

impl<S: Store> LogHooks<S> {
    /// What every hook sees to that brings no LOG of its own: what a read owes is recorded before
    /// its answer (R7.2), and an engine whose log is behind the host's catches up, or goes on with
    /// what it has where the store does not take the LOG (R3.3).
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
        if debt == Debt::Owed {
            let (now, owing) = (self.now(), cx.clone());
            let work = move |rows: &mut S::Rows| durable::read(rows, &owing, now);
            self.store.write(&cx.aside(), work).await?;
        }
        if !behind || !self.catching_up.is_due() {
            return Ok(());
        }
        let Some(log) = cx.log.fetch().await else {
            return Ok(());
        };
        match self.catch_up(cx, log).await {
            Ok(()) => self.catching_up.succeeded(),
            Err(error) if error.kind() == ErrorKind::Transient => {
                self.catching_up.failed();
                tracing::warn!(%error, "the host's log could not be stored; going on without it");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn catch_up(&self, cx: &HookContext, log: Transcript) -> Outcome<()> {
        let (owing, settle) = (cx.clone(), self.settle);
        let work = move |rows: &mut S::Rows| {
            let change = durable::log_change(rows, &owing)?;
            log::update(rows, &owing, &owing.session.id, &log, change)?;
            settle(rows, &owing)?;
            log::tell(rows, &owing, owing.log_head)
        };
        self.store.write(&cx.aside(), work).await
    }

    /// A hook that brings the LOG itself.
    pub(super) async fn bring<T: Send + 'static>(
        &self,
        cx: &HookContext,
        work: impl FnOnce(&mut S::Rows) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let done = self.take_effect(cx, work).await;
        if done.is_ok() {
            self.catching_up.succeeded();
        }
        done
    }
}
