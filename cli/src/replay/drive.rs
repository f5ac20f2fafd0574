//! Turn by turn through a session.

use std::ops::Range;
use std::time::Duration;

use contextwire_client::{CallError, Context, EngineClient, Served, ServedBy};
use contextwire_engine::{
    Assemble, CurrentTurn, Ingest, InvalidId, Message, Session, SessionId, TokenBudget, Transcript,
};
use tokio::time::Instant;

use super::own_engine::{OwnEngine, OwnEngineError};
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
}

/// Turns during which the own engine is dead: killed before the first, started again at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage(pub Range<usize>);

/// A replay under way.
#[derive(Debug)]
pub struct Replay<'a> {
    client: &'a EngineClient,
    settings: &'a Settings,
    session: Session,
    transcript: Transcript,
    shown: Option<View>,
    writer: Option<ContextWriter>,
    outage: Option<(&'a mut OwnEngine, Outage)>,
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
        let id = recording
            .header()
            .id
            .clone()
            .unwrap_or_else(|| "replay".to_owned());
        Ok(Self {
            client,
            settings,
            session: Session::new(SessionId::new(id)?),
            transcript: Transcript::new(),
            shown: None,
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

    /// Replays every turn; `each` is told after each one.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub async fn run(
        mut self,
        recording: &Recording,
        mut each: impl FnMut(&ReplayTurn),
    ) -> Result<ReplayReport, ReplayError> {
        let turns = recording.turns(self.settings.history);
        let end = recording.view(self.settings.history);
        let mut rows = Vec::with_capacity(turns.len());
        for (index, turn) in turns.iter().enumerate() {
            self.outage(turn.number).await?;
            let row = self.turn(turn).await?;
            each(&row);
            rows.push(row);
            let next = turns.get(index + 1).map_or(&end, |next| &next.view);
            self.end_turn(turn, next, index + 1 < turns.len()).await;
            if !self.settings.pause.is_zero() {
                tokio::time::sleep(self.settings.pause).await;
            }
        }
        Ok(ReplayReport::new(rows))
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

    /// One prompt: what the host would send goes out, what the model is to see comes back.
    async fn turn(&mut self, turn: &Turn) -> Result<ReplayTurn, ReplayError> {
        self.show(&turn.view);
        let request = Assemble {
            transcript: self.transcript.clone(),
            current_turn: CurrentTurn::Included,
            token_budget: self.settings.budget,
            model: self.settings.model.clone(),
            ..Assemble::default()
        };
        let started = Instant::now();
        let served = self
            .client
            .assemble_within(&self.session, request, self.settings.deadline);
        let served = served.await.map_err(|source| ReplayError::Call {
            turn: turn.number,
            source,
        })?;
        let elapsed = started.elapsed();
        if let Some(writer) = &self.writer {
            let written = writer.write(turn.number, &served.result);
            written.map_err(|source| ReplayError::Write {
                turn: turn.number,
                source,
            })?;
        }
        Ok(self.row(turn.number, &served, elapsed))
    }

    fn row(&self, turn: usize, served: &Served<Context>, elapsed: Duration) -> ReplayTurn {
        ReplayTurn {
            turn: turn as u64,
            messages_in: self.transcript.len() as u64,
            messages_out: served.result.messages().count() as u64,
            estimated_tokens: served.result.estimated_tokens(),
            budget: self.settings.budget.map(TokenBudget::get),
            bytes_sent: served.traffic.bytes_sent(),
            bytes_received: served.traffic.bytes_received(),
            millis: Millis::from(elapsed),
            served_by: served.by.to_string(),
            reason: served
                .reason
                .as_ref()
                .map_or("", |reason| reason.code())
                .to_owned(),
        }
    }

    /// Makes the transcript what the view shows; a view that goes on costs what is new.
    fn show(&mut self, view: &View) {
        let added: Option<Vec<Message>> = self.shown.as_ref().and_then(|shown| {
            view.added_since(shown)
                .map(|new| new.map(|m| m.message().clone()).collect())
        });
        match added {
            Some(new) => self.transcript.extend(new),
            None => {
                self.transcript = view.messages().map(|m| m.message().clone()).collect();
            }
        }
        self.shown = Some(view.clone());
    }

    /// What a host does at the end of a turn for an engine without `AfterTurn`: it ingests what the
    /// turn added (HOST-SEMANTICS 2).
    async fn end_turn(&self, turn: &Turn, next: &View, next_is_a_turn: bool) {
        let Some(added) = next.added_since(&turn.view) else {
            return;
        };
        let mut added: Vec<_> = added.collect();
        if next_is_a_turn {
            added.pop();
        }
        for message in std::iter::once(&turn.user).chain(added) {
            let request = Ingest {
                message: message.message().clone(),
                is_heartbeat: false,
            };
            match self.client.ingest(&self.session, request).await {
                Ok(Served {
                    by: ServedBy::Engine(_),
                    ..
                }) => {}
                // The engine is away; the next view tells it everything.
                Ok(Served {
                    by: ServedBy::InProcess,
                    ..
                })
                | Err(_) => return,
            }
        }
    }
}
