//! A turn of a thread from its start to its end.

use std::time::Duration;

use contextwire_client::lifecycle::TurnOutcome;
use serde_json::Value;
use tokio::time::Instant;

use crate::app_server::AppServer;
use crate::error::CodexError;
use crate::item;
use crate::protocol::{Event, Tokens, Turn};
use crate::wall_clock::now_ms;

/// How long an interrupted turn may take to say that it is over.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// What is said in a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) text: &'a str,
    /// Shown as a developer's message before the text.
    pub(crate) addition: Option<&'a str>,
    /// The name of the model, for the log.
    pub(crate) model: &'a str,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    /// The turn as the app-server describes it.
    pub(crate) turn: Turn,
    /// The last thing that the model said.
    pub(crate) answer: String,
    /// For the log, in order.
    pub(crate) messages: Vec<Value>,
    pub(crate) tool_calls: u64,
    /// Of the last request to the model.
    pub(crate) tokens: Option<Tokens>,
    pub(crate) window: Option<u64>,
    /// Whether Codex compacted the thread meanwhile.
    pub(crate) is_compacted: bool,
}

impl Ran {
    /// How an engine's lifecycle calls it.
    pub(crate) fn outcome(&self) -> TurnOutcome {
        match self.turn.status.as_str() {
            "completed" => TurnOutcome::Completed,
            "interrupted" => TurnOutcome::Aborted,
            _ => TurnOutcome::PromptError,
        }
    }

    fn take(&mut self, event: Event, said: &Said<'_>) -> Option<Turn> {
        match event {
            Event::Item { thread_id, item } if thread_id == said.thread_id => {
                let messages = item::messages(&item, said.model, now_ms());
                if messages.len() > 1 {
                    self.tool_calls += 1;
                }
                if let Some(text) = item.get("text").and_then(Value::as_str)
                    && messages.len() == 1
                {
                    text.clone_into(&mut self.answer);
                }
                self.messages.extend(messages);
            }
            Event::Tokens {
                thread_id,
                last,
                window,
            } if thread_id == said.thread_id => {
                self.tokens = Some(last);
                self.window = window;
            }
            Event::Compacted { thread_id } if thread_id == said.thread_id => {
                self.is_compacted = true;
            }
            Event::Done { thread_id, turn } if thread_id == said.thread_id => return Some(turn),
            Event::Warning(text) => tracing::debug!("Codex: {text}"),
            // Another thread's: of a sub-agent, or one that was left behind.
            Event::Item { .. }
            | Event::Tokens { .. }
            | Event::Compacted { .. }
            | Event::Done { .. } => {}
        }
        None
    }
}

/// A turn that runs.
#[derive(Debug)]
pub(crate) struct Running<'a> {
    said: Said<'a>,
    turn_id: String,
    ends: Instant,
    limit: Duration,
    ran: Ran,
}

impl<'a> Running<'a> {
    /// Begins it. It has to end within `limit`.
    pub(crate) async fn start(
        server: &AppServer,
        said: Said<'a>,
        limit: Duration,
    ) -> Result<Self, CodexError> {
        let turn_id = server
            .start_turn(said.thread_id, said.text, said.addition)
            .await?;
        Ok(Self {
            said,
            turn_id,
            ends: Instant::now() + limit,
            limit,
            ran: Ran::default(),
        })
    }

    /// Waits until the thread holds what was said: its first item is the user's.
    pub(crate) async fn taken_in(&mut self, server: &mut AppServer) -> Result<bool, CodexError> {
        loop {
            let event = self.event(server).await?;
            let is_user = matches!(&event, Event::Item { thread_id, item }
                if thread_id == self.said.thread_id && item["type"] == "userMessage");
            if let Some(turn) = self.ran.take(event, &self.said) {
                self.ran.turn = turn;
                return Ok(false);
            }
            if is_user {
                return Ok(true);
            }
        }
    }

    /// Waits until it is over.
    pub(crate) async fn end(mut self, server: &mut AppServer) -> Result<Ran, CodexError> {
        while self.ran.turn.id.is_empty() {
            let event = self.event(server).await?;
            if let Some(turn) = self.ran.take(event, &self.said)
                && turn.id == self.turn_id
            {
                self.ran.turn = turn;
            }
        }
        Ok(self.ran)
    }

    async fn event(&self, server: &mut AppServer) -> Result<Event, CodexError> {
        if let Ok(event) = tokio::time::timeout_at(self.ends, server.event()).await {
            return event;
        }
        let thread_id = self.said.thread_id;
        server.interrupt(thread_id, &self.turn_id).await?;
        let over = tokio::time::timeout(LAST_WORDS, done(server, thread_id)).await;
        if let Ok(failed @ Err(_)) = over {
            failed?;
        }
        Err(CodexError::TurnTooLong {
            seconds: self.limit.as_secs(),
        })
    }
}

/// Waits for the end of whatever turn runs in a thread.
pub(crate) async fn done(server: &mut AppServer, thread_id: &str) -> Result<Turn, CodexError> {
    loop {
        if let Event::Done {
            thread_id: of,
            turn,
        } = server.event().await?
            && of == thread_id
        {
            return Ok(turn);
        }
    }
}
