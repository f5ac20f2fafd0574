//! A running `codex app-server`, with a method for each request that a host makes.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::error::CodexError;
use crate::process::{Process, Program};
use crate::protocol::{
    Capabilities, ClientInfo, Event, Initialize, Initialized, InjectItems, Input, OfThread,
    RunTerms, Thread, ThreadAnswer, ThreadResume, ThreadStart, TurnAnswer, TurnInterrupt,
    TurnStart, is_followed,
};
use crate::rpc::{Answers, Notification, Rpc, RpcError};

/// How long an answer may take. Turns are not waited for by it: their start is answered at once.
const CALL_LIMIT: Duration = Duration::from_mins(1);
/// The key under which Codex shows what an engine adds to the instructions of a turn.
const ADDITION: &str = "context-engine";

/// The app-server. Dropping it kills the process; [`AppServer::close`] lets it end by itself.
#[derive(Debug)]
pub struct AppServer {
    rpc: Rpc,
    process: Process,
    events: mpsc::Receiver<Notification>,
    initialized: Initialized,
}

impl AppServer {
    /// Starts it and says who we are.
    ///
    /// # Errors
    /// [`CodexError::Start`], [`CodexError::AppServer`].
    pub async fn start(program: &Program, answers: Arc<dyn Answers>) -> Result<Self, CodexError> {
        let started = Process::start(program).map_err(|source| CodexError::Start {
            program: program.path.display().to_string(),
            source,
        });
        let (process, input, output) = started?;
        let (rpc, events) = Rpc::new(output, input, is_followed, answers);
        let mut server = Self {
            rpc,
            process,
            events,
            initialized: Initialized::default(),
        };
        let hello = Initialize {
            client_info: ClientInfo {
                name: "contextwire",
                title: "Contextwire",
                version: env!("CARGO_PKG_VERSION"),
            },
            capabilities: Capabilities {
                experimental_api: true,
                request_attestation: false,
            },
        };
        server.initialized = server.call("initialize", hello).await?;
        let told = server.rpc.notify("initialized").await;
        told.map_err(|source| server.failure(source))?;
        Ok(server)
    }

    /// What it said of itself.
    pub fn initialized(&self) -> &Initialized {
        &self.initialized
    }

    /// Why it is gone; `None` while it is there.
    pub fn gone_because(&self) -> Option<String> {
        self.rpc.closed_because()
    }

    /// Begins a thread.
    ///
    /// # Errors
    /// [`CodexError::AppServer`].
    pub async fn start_thread(&self, start: &ThreadStart) -> Result<Thread, CodexError> {
        let answer: ThreadAnswer = self.call("thread/start", start).await?;
        Ok(answer.thread)
    }

    /// Goes on with a thread of an earlier process.
    ///
    /// # Errors
    /// [`CodexError::AppServer`], also where there is no such thread any more.
    pub async fn resume_thread(
        &self,
        thread_id: &str,
        terms: &RunTerms,
    ) -> Result<Thread, CodexError> {
        let resume = ThreadResume {
            thread_id,
            terms,
            exclude_turns: true,
        };
        let answer: ThreadAnswer = self.call("thread/resume", resume).await?;
        Ok(answer.thread)
    }

    /// Puts items of the Responses API behind a thread's history, as they are.
    ///
    /// # Errors
    /// [`CodexError::AppServer`]; where the answer is missing it is unknown whether they are there.
    pub async fn inject(&self, thread_id: &str, items: &[Value]) -> Result<(), CodexError> {
        let inject = InjectItems { thread_id, items };
        let _answer: Value = self.call("thread/inject_items", inject).await?;
        Ok(())
    }

    /// Begins a turn; gives its id. `addition` is shown as a developer's message before the text.
    ///
    /// # Errors
    /// [`CodexError::AppServer`].
    pub async fn start_turn(
        &self,
        thread_id: &str,
        text: &str,
        addition: Option<&str>,
    ) -> Result<String, CodexError> {
        let entry = |value| json!({ ADDITION: { "kind": "application", "value": value } });
        let start = TurnStart {
            thread_id,
            input: [Input {
                kind: "text",
                text,
                text_elements: [],
            }],
            additional_context: addition.map(entry),
        };
        let answer: TurnAnswer = self.call("turn/start", start).await?;
        Ok(answer.turn.id)
    }

    /// Stops a turn.
    ///
    /// # Errors
    /// [`CodexError::AppServer`].
    pub async fn interrupt(&self, thread_id: &str, turn_id: &str) -> Result<(), CodexError> {
        let turn = TurnInterrupt { thread_id, turn_id };
        let _answer: Value = self.call("turn/interrupt", turn).await?;
        Ok(())
    }

    /// Begins Codex's own compaction of a thread, which is a turn of its own.
    ///
    /// # Errors
    /// [`CodexError::AppServer`].
    pub async fn start_compaction(&self, thread_id: &str) -> Result<(), CodexError> {
        let thread = OfThread { thread_id };
        let _answer: Value = self.call("thread/compact/start", thread).await?;
        Ok(())
    }

    /// The next event.
    ///
    /// # Errors
    /// [`CodexError::AppServer`] once it is gone.
    pub async fn event(&mut self) -> Result<Event, CodexError> {
        while let Some(told) = self.events.recv().await {
            if let Some(event) = Event::of(&told) {
                return Ok(event);
            }
        }
        let why = self.rpc.closed_because().unwrap_or_default();
        Err(self.failure(RpcError::Closed { why }))
    }

    /// An event that has come already.
    pub fn ready_event(&mut self) -> Option<Event> {
        while let Ok(told) = self.events.try_recv() {
            if let Some(event) = Event::of(&told) {
                return Some(event);
            }
        }
        None
    }

    /// Closes its input and waits until it has ended.
    pub async fn close(self) {
        let Self { rpc, process, .. } = self;
        drop(rpc);
        process.end().await;
    }

    async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
    ) -> Result<R, CodexError> {
        let answer = self.rpc.call(method, params, CALL_LIMIT).await;
        answer.map_err(|source| self.failure(source))
    }

    fn failure(&self, source: RpcError) -> CodexError {
        CodexError::AppServer {
            complaints: self.process.complaints(),
            source,
        }
    }
}
