//! Assemble: the current plan, read as it is now, fitted into the budget.

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, ContextProjection, EngineError, HookContext,
    ProjectionMode, SessionId, Site, TokenBudget, Transcript, Unchanged,
};
use contextwire_store::{LogRows, Store};
use contextwire_windowed::Window;

use super::LosslessEngine;
use super::held::{self, Held, Shown};
use super::matching::Extent;
use crate::entry::Log;
use crate::fit::{Fit, Fitted, View};
use crate::plan::Plan;
use crate::rows::Rows;
use crate::snapshot::{Nodes, Snapshot};
use crate::span::Span;

/// How often bodies may turn out to be missing before what is there has to do.
const ROUNDS: usize = 64;
/// How often the log may change between two looks at it.
const LOOKS: usize = 4;
/// Bodies at the head of the log: instructions stand there.
const HEAD: u64 = 4;

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    pub(super) async fn fit(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.hooks.attend(cx).await?;
        if request.site == Site::Sync {
            return Ok(AssembleReply::default().into());
        }
        let window = Window::of(&request);
        let inherited = self.inherited(cx, &request.transcript, &window).await?;
        let taken = inherited.as_ref().map_or(0, |fitted| fitted.tokens);
        let own = Window {
            budget: less(window.budget, taken),
            ..window
        };
        let slot = self.sessions.slot(&cx.session.id);
        let mut held = slot.lock().await;
        let fitted = self
            .fit_session(&cx.session.id, &mut held, &request.transcript, own)
            .await?;
        self.sessions.weigh(&cx.session.id, &mut held);
        drop(held);
        let fitted = match inherited {
            Some(parent) => super::fork::behind(parent, fitted),
            None => fitted,
        };
        Ok(answer(&request, &fitted))
    }

    /// One session's part, after a look at what changed in the store.
    async fn fit_session(
        &self,
        name: &SessionId,
        held: &mut Held,
        view: &Transcript,
        window: Window<'_>,
    ) -> Result<Fitted, EngineError> {
        self.refresh(name, held).await?;
        self.preload(name, held, &window).await?;
        for _ in 0..ROUNDS {
            let extent = {
                let Held { seen, log, .. } = &mut *held;
                seen.look(view, log);
                seen.extent(log)
            };
            let missed = held.log.take_missed();
            if !missed.is_empty() {
                held.seen.forget();
                self.load(name, held, missed).await?;
                continue;
            }
            let fitted = fitted(held, view, &extent, window);
            let missed = held.log.take_missed();
            if missed.is_empty() {
                return Ok(fitted);
            }
            self.load(name, held, missed).await?;
        }
        let extent = held.seen.extent(&held.log);
        Ok(fitted(held, view, &extent, window))
    }

    /// The session's held state, as the store has it now.
    pub(super) async fn refresh(
        &self,
        name: &SessionId,
        held: &mut Held,
    ) -> Result<(), EngineError> {
        let (state, wanted) = (held.state(), name.clone());
        let looked = self
            .hooks
            .store()
            .read(move |rows| held::look(rows, &wanted, &state));
        held.apply(looked.await?);
        Ok(())
    }

    /// The bodies that a budget asks for in any case.
    async fn preload(
        &self,
        name: &SessionId,
        held: &mut Held,
        window: &Window<'_>,
    ) -> Result<(), EngineError> {
        let tokens = window.budget.map_or(u64::MAX, TokenBudget::get);
        let from = held.log.place_before_end(tokens).max(held.plan.end());
        let mut missing = held.log.missing_in(Span::new(0, HEAD));
        missing.extend(held.log.missing_in(Span::new(from, held.log.end())));
        self.load(name, held, missing).await
    }

    /// Reads bodies, as long as the log is the one that is held.
    pub(super) async fn load(
        &self,
        name: &SessionId,
        held: &mut Held,
        mut spans: Vec<Span>,
    ) -> Result<(), EngineError> {
        for _ in 0..LOOKS {
            let Some(session) = held.session.filter(|_| !spans.is_empty()) else {
                return Ok(());
            };
            let (total, wanted) = (held.total, spans);
            let read = self.hooks.store().read(move |rows| {
                let last = total.count.saturating_sub(1);
                if total.count == 0 || rows.chain_at(session, last)? != total.chain {
                    return Ok((None, wanted));
                }
                let mut messages = Vec::new();
                for span in &wanted {
                    messages.extend(rows.messages(session, *span)?);
                }
                Ok((Some(messages), wanted))
            });
            let (messages, wanted) = read.await?;
            if let Some(messages) = messages {
                held.log.fill(messages);
                return Ok(());
            }
            self.refresh(name, held).await?;
            let wanted = wanted.into_iter();
            spans = wanted.flat_map(|span| held.log.missing_in(span)).collect();
        }
        Ok(())
    }
}

fn fitted(held: &Held, view: &Transcript, extent: &Extent, window: Window<'_>) -> Fitted {
    let plan = held.plan.up_to(extent.end);
    let parts = Parts {
        held,
        plan: &plan,
        nodes: &held.nodes,
        extent,
    };
    parts.fit(view, window)
}

/// What a fit is made of.
pub(super) struct Parts<'a> {
    pub(super) held: &'a Held,
    pub(super) plan: &'a Plan,
    pub(super) nodes: &'a dyn Nodes,
    pub(super) extent: &'a Extent,
}

impl Parts<'_> {
    pub(super) fn fit(&self, view: &Transcript, window: Window<'_>) -> Fitted {
        let log = Shown {
            log: &self.held.log,
            end: self.extent.end,
            held_back: &self.extent.held_back,
        };
        let places = self.held.seen.places().iter().copied();
        let view = View::new(view, places, log.end());
        let fit = Fit {
            snapshot: Snapshot {
                plan: self.plan,
                nodes: self.nodes,
                log: &log,
                pins: &self.held.pins,
            },
            view: &view,
            window,
            corrections: &self.held.corrections,
        };
        fit.run()
    }
}

/// What remains of a budget.
fn less(budget: Option<TokenBudget>, taken: u64) -> Option<TokenBudget> {
    let left = budget?.get().saturating_sub(taken).max(1);
    TokenBudget::new(left)
}

/// The hook's answer; short where a thread shows the same already (R10.2).
fn answer(request: &Assemble, fitted: &Fitted) -> AssembleOutcome {
    let projection = ContextProjection {
        mode: ProjectionMode::ThreadBootstrap,
        epoch: Some(fitted.epoch.clone()),
        fingerprint: Some(fitted.fingerprint.clone()),
    };
    let is_shown = request.known_projection.as_ref().is_some_and(|known| {
        known.epoch == fitted.epoch && known.fingerprint.as_ref() == Some(&fitted.fingerprint)
    });
    if is_shown {
        return AssembleOutcome::Unchanged(Unchanged {
            estimated_tokens: fitted.tokens,
            prompt_authority: Some(fitted.authority),
            system_prompt_addition: None,
        });
    }
    AssembleOutcome::Messages(AssembleReply {
        context_projection: Some(projection),
        ..fitted.reply()
    })
}
