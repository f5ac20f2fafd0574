//! Between the tool rounds of a turn: an engine that owns compaction is told of each round, and asked
//! what the model is to see of it (HOST-SEMANTICS 2.2).

use std::sync::Arc;

use contextwire_engine::{Assemble, Session, Site, Transcript, TranscriptState};

use super::delivery::{TurnDelta, deliver};
use crate::call::ServedBy;
use crate::context::Context;
use crate::error::CallError;
use crate::hooks::Hooks;

/// What the model sees in a round.
#[derive(Clone, Debug)]
pub enum LoopView {
    /// The host's own list: the engine does not own compaction, or there is nothing to ask it.
    Own,
    /// The host's own list, since the engine failed; it is told of this round with the next one.
    Failed(Arc<CallError>),
    /// What the engine says.
    Assembled(Context),
    /// What it said last: nothing is new.
    Unchanged(Context),
}

/// How far an engine was told of a turn that is still going on.
#[derive(Clone, Debug)]
pub struct ToolLoop {
    /// Nobody else is asked between rounds.
    owns_compaction: bool,
    /// Where the turn began.
    before_prompt: usize,
    /// The log as far as the engine was told of it.
    told: TranscriptState,
    view: Option<Context>,
}

impl ToolLoop {
    /// A turn that begins behind the first `before_prompt` messages of this log, with an engine that
    /// owns compaction or not. One that was never reached counts as one that does (R7.12).
    pub fn new(log: &Transcript, before_prompt: usize, owns_compaction: bool) -> Self {
        Self {
            owns_compaction,
            before_prompt,
            told: state_of(log, before_prompt),
            view: None,
        }
    }

    /// How many messages the engine was told of: where the `told` of a [`TurnDelta`] begins at the
    /// end of the turn.
    pub fn told(&self) -> usize {
        usize::try_from(self.told.count).unwrap_or(usize::MAX)
    }

    /// What the model sees before it is asked again. `round` is the log with what the round added;
    /// its `told` is ignored. `request` is what the model would see otherwise; a prompt and tools
    /// are left out of it.
    pub async fn round(
        &mut self,
        hooks: &Hooks,
        session: &Session,
        round: TurnDelta,
        request: Assemble,
    ) -> LoopView {
        if !self.owns_compaction {
            return LoopView::Own;
        }
        if !round.log.starts_with(&self.told) {
            self.told = state_of(&round.log, self.before_prompt);
            self.view = None;
        }
        if round.log.state() == self.told {
            return self.view.clone().map_or(LoopView::Own, LoopView::Unchanged);
        }
        match self.ask(hooks, session, &round, request).await {
            Ok(context) => {
                self.told = round.log.state();
                self.view = Some(context.clone());
                LoopView::Assembled(context)
            }
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "the model sees the host's own list");
                LoopView::Failed(error)
            }
        }
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        session: &Session,
        round: &TurnDelta,
        request: Assemble,
    ) -> Result<Context, Arc<CallError>> {
        let delta = TurnDelta {
            told: self.told(),
            ..round.clone()
        };
        let (_, failures) = deliver(hooks, session, &delta).await;
        if let Some(error) = failures.into_iter().next() {
            return Err(error);
        }
        let request = Assemble {
            prompt: None,
            available_tools: None,
            site: Site::ToolLoop,
            ..request
        };
        let served = hooks.assemble(session, request).await?;
        match served.reason {
            Some(reason) if served.by == ServedBy::InProcess => Err(reason),
            Some(_) | None => Ok(served.result),
        }
    }
}

fn state_of(log: &Transcript, len: usize) -> TranscriptState {
    log.state_at(len.min(log.len())).unwrap_or(log.state())
}
