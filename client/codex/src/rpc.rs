//! JSON-RPC as the app-server speaks it: one object a line, without the `jsonrpc` member.
//!
//! A call is answered, cancelled by dropping it, or ended by its deadline. Nothing grows without
//! bound: lines, calls that wait, notifications that nobody has read and requests that are being
//! answered each have a limit, and the connection closes, or refuses, beyond it.

mod line;
mod reader;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub use line::Notification;
use line::{Refusal, outgoing};

/// Longest line, in bytes: a whole context that is injected, or a thread that is read.
const MAX_LINE_BYTES: usize = 256 << 20;
/// Calls that wait for an answer.
const MAX_CALLS: usize = 64;
/// Notifications that nobody has read.
const MAX_UNREAD: usize = 8192;
/// Lines that wait to be written.
const MAX_UNWRITTEN: usize = 64;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
    /// The app-server said no.
    #[error("the app-server refused `{method}` with code {code}: {message}")]
    Refused {
        /// What was asked.
        method: String,
        /// Its code; -32601 is a method that it does not have.
        code: i64,
        /// Its words.
        message: String,
    },
    /// There was no answer in time. Whether it was done is unknown.
    #[error("the app-server did not answer `{method}` within {seconds} s")]
    Late {
        /// What was asked.
        method: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The connection is gone. Whether it was done is unknown.
    #[error("the app-server is gone: {why}")]
    Closed {
        /// What ended it.
        why: String,
    },
    /// The answer is not what was asked for: another version of Codex.
    #[error("the answer to `{method}` cannot be read: {problem}")]
    Unreadable {
        /// What was asked.
        method: String,
        /// What is wrong.
        problem: String,
    },
    /// Too many calls wait already.
    #[error("{MAX_CALLS} calls wait for the app-server already")]
    Busy,
}

/// The answer to a request of the app-server: a result, or a code with words.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, (i64, String)>> + Send + 'a>>;

/// Answers what the app-server asks: approvals, tools.
pub trait Answers: Send + Sync + 'static {
    /// Answers one request. It may take long; others are answered meanwhile.
    fn answer(&self, method: String, params: Value) -> Answer<'_>;
}

/// One connection. Dropping it ends its tasks and closes what they hold.
#[derive(Debug)]
pub struct Rpc {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    lines: mpsc::Sender<String>,
    calls: Mutex<Calls>,
}

/// What waits, or why nothing can any more.
#[derive(Debug)]
enum Calls {
    Open {
        next: u64,
        waiting: HashMap<u64, oneshot::Sender<Result<Value, Refusal>>>,
    },
    Closed {
        why: String,
    },
}

impl Shared {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self) -> Result<(u64, oneshot::Receiver<Result<Value, Refusal>>), RpcError> {
        match &mut *self.calls() {
            Calls::Closed { why } => Err(RpcError::Closed { why: why.clone() }),
            Calls::Open { waiting, .. } if waiting.len() >= MAX_CALLS => Err(RpcError::Busy),
            Calls::Open { next, waiting } => {
                *next += 1;
                let (answered, answer) = oneshot::channel();
                waiting.insert(*next, answered);
                Ok((*next, answer))
            }
        }
    }

    /// An answer that nobody waits for any more is dropped.
    fn settle(&self, id: u64, outcome: Result<Value, Refusal>) {
        if let Calls::Open { waiting, .. } = &mut *self.calls()
            && let Some(answered) = waiting.remove(&id)
        {
            let _nobody = answered.send(outcome).is_err();
        }
    }

    /// The first reason stays; whoever waits is told by the end of its channel.
    fn close(&self, why: String) {
        let mut calls = self.calls();
        if matches!(*calls, Calls::Open { .. }) {
            *calls = Calls::Closed { why };
        }
    }

    fn closed(&self) -> RpcError {
        match &*self.calls() {
            Calls::Closed { why } => RpcError::Closed { why: why.clone() },
            Calls::Open { .. } => RpcError::Closed {
                why: "it takes no more requests".to_owned(),
            },
        }
    }
}

/// Forgets a call that is not waited for any more.
struct Waiting<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Calls::Open { waiting, .. } = &mut *self.shared.calls() {
            waiting.remove(&self.id);
        }
    }
}

impl Rpc {
    /// A connection over these two ends. Notifications that `is_followed` go into the channel,
    /// others are dropped; it ends with the connection.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        is_followed: fn(&str) -> bool,
        answers: Arc<dyn Answers>,
    ) -> (Self, mpsc::Receiver<Notification>) {
        let (lines, unwritten) = mpsc::channel(MAX_UNWRITTEN);
        let (events, unread) = mpsc::channel(MAX_UNREAD);
        let shared = Arc::new(Shared {
            lines,
            calls: Mutex::new(Calls::Open {
                next: 0,
                waiting: HashMap::new(),
            }),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(write(output, unwritten, Arc::clone(&shared)));
        tasks.spawn(reader::Reader::new(&shared, events, is_followed, answers).run(input));
        let rpc = Self {
            shared,
            _tasks: tasks,
        };
        (rpc, unread)
    }

    /// Asks, and waits for the answer until `limit` has passed.
    ///
    /// # Errors
    /// [`RpcError`].
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
        limit: Duration,
    ) -> Result<R, RpcError> {
        let unreadable = |problem: serde_json::Error| RpcError::Unreadable {
            method: method.to_owned(),
            problem: problem.to_string(),
        };
        let (id, answer) = self.shared.register()?;
        let _waiting = Waiting {
            shared: &self.shared,
            id,
        };
        let line = outgoing::request(id, method, params).map_err(unreadable)?;
        let asked = async {
            let sent = self.shared.lines.send(line).await;
            sent.map_err(|_| self.shared.closed())?;
            answer.await.map_err(|_| self.shared.closed())
        };
        let outcome = tokio::time::timeout(limit, asked).await;
        let outcome = outcome.map_err(|_| RpcError::Late {
            method: method.to_owned(),
            seconds: limit.as_secs(),
        })?;
        let value = outcome?.map_err(|Refusal { code, message }| RpcError::Refused {
            method: method.to_owned(),
            code,
            message,
        })?;
        serde_json::from_value(value).map_err(unreadable)
    }

    /// Says something that has no answer.
    ///
    /// # Errors
    /// [`RpcError::Closed`].
    pub async fn notify(&self, method: &str) -> Result<(), RpcError> {
        let sent = self.shared.lines.send(outgoing::notification(method)).await;
        sent.map_err(|_| self.shared.closed())
    }

    /// Why the connection is gone; `None` while it is there.
    pub fn closed_because(&self) -> Option<String> {
        match &*self.shared.calls() {
            Calls::Closed { why } => Some(why.clone()),
            Calls::Open { .. } => None,
        }
    }
}

async fn write(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<String>,
    shared: Arc<Shared>,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            shared.close(format!("its input cannot be written: {error}"));
            return;
        }
    }
}

#[cfg(test)]
mod tests;
