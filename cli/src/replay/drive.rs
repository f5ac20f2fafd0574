//! Turn by turn through a session.

use std::ops::Range;
use std::time::Duration;

use contextwire_client::store::StoreError;
use contextwire_client::{CallError, Context, EngineClient, Served, Traffic};
use contextwire_engine::{
    Assemble, CurrentTurn, Hook, InvalidId, Session, SessionId, TokenBudget, Transcript,
};
use tokio::time::Instant;

use super::anchor::Anchors;
use super::followed::Followed;
use super::host::{ClosedTurn, Host};
use super::own_engine::{OwnEngine, OwnEngineError};
use super::stored::Stored;
use super::write::ContextWriter;
use crate::report::{Millis, ReplayReport, ReplayTurn};
use crate::session::{HistoryView, Session as Recording, Turn, View};

/// Why a replay stopped. A failing engine is no reason: its turns are served in-process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The session's id cannot be used.
    #[error("the session's id cannot be used")]
    SessionId(#[from] InvalidId),
    /// Nobody answered; only while failures are not substituted.
    #[error("turn {turn} failed")]
    Call {
        /// Which turn.
        turn: usize,
        /// Why.
        #[source]
        source: CallError,
    },
    /// The engine process of one's own could not be handled.
    #[error(transparent)]
    OwnEngine(#[from] OwnEngineError),
    /// A recorded message could not be stored.
    #[error("the session cannot be stored")]
    Store(#[from] StoreError),
    /// A context could not be written.
    #[error("the context of turn {turn} cannot be written")]
    Write {
        /// Which turn.
        turn: usize,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// How to replay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Ceiling of each context in tokens.
    pub budget: Option<TokenBudget>,
    /// When each Assemble must be answered.
    pub deadline: Duration,
    /// The model that contexts are for.
    pub model: Option<String>,
    /// Which history the engine is shown.
    pub history: HistoryView,
    /// Wait between turns.
    pub pause: Duration,
    /// First turn that is played, from 1; what came before it is the log that the engine is
    /// bootstrapped with.
    pub resume: usize,
    /// When a context over the budget is compacted.
    pub compact: CompactRule,
}

impl Default for Settings {
    /// The whole history from the first turn, without a budget, within the hook's own deadline.
    fn default() -> Self {
        Self {
            budget: None,
            deadline: Hook::Assemble.profile().deadline,
            model: None,
            history: HistoryView::Full,
            pause: Duration::ZERO,
            resume: 1,
            compact: CompactRule::Owned,
        }
    }
}

/// What a host does when the assembled context exceeds the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactRule {
    /// Asks an engine that owns compaction.
    #[default]
    Owned,
    /// Asks any engine, as the overflow check of a host does (HOST-SEMANTICS 11).
    Always,
    /// Uses the context as it is.
    Never,
}

/// Turns during which the own engine is dead: killed before the first, started again at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage(pub Range<usize>);

/// A replay under way.
#[derive(Debug)]
pub struct Replay<'a> {
    settings: &'a Settings,
    host: Host<'a>,
    shown: Followed,
    stored: Followed,
    writer: Option<ContextWriter>,
    outage: Option<(&'a mut OwnEngine, Outage)>,
}

/// A turn as the model's view and as the stored log have it: with every history the same user
/// message, with different pasts.
struct Step<'a> {
    shown: &'a Turn,
    stored: &'a Turn,
    /// The stored log at the end of the turn, and whether it ends with the next user message.
    next: (&'a View, bool),
}

impl<'a> Replay<'a> {
    /// A replay of this recording.
    ///
    /// # Errors
    /// When the recording's session id cannot be used.
    pub fn new(
        client: &'a EngineClient,
        recording: &Recording,
        settings: &'a Settings,
    ) -> Result<Self, ReplayError> {
        let id = recording.header().id.as_deref().unwrap_or("replay");
        let session = Session::new(SessionId::new(id)?);
        let anchors = Anchors::of(recording, id);
        let whole = recording.view(HistoryView::Full);
        let stored = Stored::new(whole.messages().map(|message| message.message()));
        Ok(Self {
            settings,
            host: Host::new(client, settings, session, (anchors, stored)),
            shown: Followed::default(),
            stored: Followed::default(),
            writer: None,
            outage: None,
        })
    }

    /// Writes each context.
    #[must_use]
    pub fn writing(self, writer: Option<ContextWriter>) -> Self {
        Self { writer, ..self }
    }

    /// Kills and restarts the own engine on the way.
    #[must_use]
    pub fn with_outage(self, outage: Option<(&'a mut OwnEngine, Outage)>) -> Self {
        Self { outage, ..self }
    }

    /// Replays every turn from [`Settings::resume`] on; `each` is told after each one.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub async fn run(
        mut self,
        recording: &Recording,
        mut each: impl FnMut(&ReplayTurn),
    ) -> Result<ReplayReport, ReplayError> {
        let shown = recording.turns(self.settings.history);
        // The log is what was stored, whatever the model is shown of it.
        let stored = recording.turns(HistoryView::Full);
        let end = recording.view(HistoryView::Full);
        let mut rows = Vec::with_capacity(shown.len());
        let turns = shown.iter().zip(&stored).enumerate();
        for (index, (shown, stored_turn)) in turns.skip(self.settings.resume.max(1) - 1) {
            let next = stored.get(index + 1);
            let step = Step {
                shown,
                stored: stored_turn,
                next: next.map_or((&end, false), |next| (&next.view, true)),
            };
            self.outage(shown.number).await?;
            let row = self.turn(&step).await?;
            each(&row);
            rows.push(row);
            if !self.settings.pause.is_zero() {
                tokio::time::sleep(self.settings.pause).await;
            }
        }
        // An engine that came back after the last turn still gets the turns that it missed.
        self.host.finish().await;
        Ok(ReplayReport {
            turns_not_stored: self.host.not_stored() as u64,
            ..ReplayReport::new(rows)
        })
    }

    async fn outage(&mut self, turn: usize) -> Result<(), ReplayError> {
        let Some((engine, Outage(turns))) = &mut self.outage else {
            return Ok(());
        };
        if turn == turns.start {
            engine.kill().await?;
        }
        if turn == turns.end {
            engine.restart().await?;
        }
        Ok(())
    }

    /// One turn: what the host would send goes out, what the model is to see comes back, and what
    /// was said is stored.
    async fn turn(&mut self, step: &Step<'_>) -> Result<ReplayTurn, ReplayError> {
        let view = self.shown.follow(&step.shown.view);
        let log = self.stored.follow(&step.stored.view);
        let before = log.prefix(log.len().saturating_sub(1));
        let is_first = step.shown.number == self.settings.resume && !before.is_empty();
        self.host.store(&before).await?;
        if is_first && self.settings.resume > 1 {
            self.host.bootstrap().await?;
        }
        let row = self.prompt(step.shown.number, &view).await?;
        self.close(step, log).await?;
        Ok(row)
    }

    /// Asks for the context; where it exceeds the budget, compacts and asks again.
    async fn prompt(&mut self, turn: usize, view: &Transcript) -> Result<ReplayTurn, ReplayError> {
        let started = Instant::now();
        let mut shown = self.host.view(view).await?;
        let messages_in = shown.len();
        let mut served = self.assemble(turn, &shown).await?;
        let mut moved = vec![served.traffic.clone()];
        let compacted = self.host.compact(tokens_of(&served)).await;
        let compacted = compacted.map(|(count, traffic)| {
            moved.push(traffic);
            count
        });
        if compacted.is_some_and(|count| count > 0) {
            shown = self.host.view(view).await?;
            served = self.assemble(turn, &shown).await?;
            moved.push(served.traffic.clone());
        }
        let elapsed = started.elapsed();
        if let Some(writer) = &self.writer {
            let written = writer.write(turn, &served.result);
            written.map_err(|source| ReplayError::Write { turn, source })?;
        }
        let sum = |bytes: fn(&Traffic) -> u64| moved.iter().map(bytes).sum();
        Ok(ReplayTurn {
            turn: turn as u64,
            messages_in: messages_in as u64,
            messages_out: served.result.messages().count() as u64,
            estimated_tokens: served.result.estimated_tokens(),
            budget: self.settings.budget.map(TokenBudget::get),
            compacted,
            bytes_sent: sum(Traffic::bytes_sent),
            bytes_received: sum(Traffic::bytes_received),
            millis: Millis::from(elapsed),
            served_by: served.by.to_string(),
            reason: served
                .reason
                .as_ref()
                .map_or("", |reason| reason.code())
                .to_owned(),
        })
    }

    async fn assemble(
        &self,
        turn: usize,
        view: &Transcript,
    ) -> Result<Served<Context>, ReplayError> {
        let request = Assemble {
            transcript: view.clone(),
            current_turn: CurrentTurn::Included,
            token_budget: self.settings.budget,
            model: self.settings.model.clone(),
            ..Assemble::default()
        };
        let client = self.host.client().await;
        let served = client.assemble_within(&self.host.session, request, self.settings.deadline);
        served
            .await
            .map_err(|source| ReplayError::Call { turn, source })
    }

    /// The turn is over: its messages are stored and the engine hears of them.
    async fn close(&mut self, step: &Step<'_>, mut log: Transcript) -> Result<(), ReplayError> {
        let (next, ends_with_next_user) = step.next;
        let mut messages: Vec<_> = step.stored.view.recorded_until(next).collect();
        if ends_with_next_user {
            messages.pop();
        }
        log.extend(messages.iter().map(|message| message.message().clone()));
        messages.insert(0, &step.stored.user);
        let turn = ClosedTurn {
            number: step.shown.number,
            messages: messages.into_iter().map(AsRef::as_ref).collect(),
            log,
        };
        self.host.close(turn).await?;
        Ok(())
    }
}

/// What the engine's context costs. One that is too large for the host is answered by another, and
/// is what the compaction is for all the same.
fn tokens_of(served: &Served<Context>) -> u64 {
    match served.reason.as_deref() {
        Some(CallError::OverBudget { estimated, .. }) => *estimated,
        Some(_) | None => served.result.estimated_tokens(),
    }
}
