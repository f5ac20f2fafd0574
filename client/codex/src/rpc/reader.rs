//! Takes in what the app-server says: answers, notifications, and requests of its own.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::line::{Incoming, Notification, incoming, outgoing};
use super::{Answers, MAX_LINE_BYTES, MAX_UNREAD, Shared};

/// Requests of the app-server that are being answered.
const MAX_ANSWERING: usize = 32;
/// JSON-RPC's code for a failure inside of whoever answers.
const INTERNAL: i64 = -32603;

pub(super) struct Reader {
    shared: Arc<Shared>,
    events: mpsc::Sender<Notification>,
    is_followed: fn(&str) -> bool,
    answers: Arc<dyn Answers>,
    answering: JoinSet<String>,
}

impl Reader {
    pub(super) fn new(
        shared: &Arc<Shared>,
        events: mpsc::Sender<Notification>,
        is_followed: fn(&str) -> bool,
        answers: Arc<dyn Answers>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            events,
            is_followed,
            answers,
            answering: JoinSet::new(),
        }
    }

    pub(super) async fn run(mut self, input: impl AsyncRead + Unpin) {
        let codec = LinesCodec::new_with_max_length(MAX_LINE_BYTES);
        let mut lines = FramedRead::new(input, codec);
        let why = loop {
            tokio::select! {
                line = lines.next() => {
                    if let Err(why) = self.take(line) {
                        break why;
                    }
                }
                // An answer that panicked says nothing: the app-server has a limit of its own.
                Some(Ok(answer)) = self.answering.join_next() => {
                    if self.shared.lines.send(answer).await.is_err() {
                        break "its input is closed".to_owned();
                    }
                }
            }
        };
        self.shared.close(why);
    }

    /// # Errors
    /// Why the connection ends.
    fn take(&mut self, line: Option<Result<String, LinesCodecError>>) -> Result<(), String> {
        let line = line.ok_or("its output ended")?;
        let line = line.map_err(|error| format!("its output cannot be read: {error}"))?;
        match incoming(&line) {
            None => tracing::debug!(line, "the app-server printed what is no message"),
            Some(Incoming::Answer { id, outcome }) => self.shared.settle(id, outcome),
            Some(Incoming::Notification(told)) => return self.tell(told),
            Some(Incoming::Request { id, method, params }) => self.answer(id, method, params),
        }
        Ok(())
    }

    fn tell(&self, told: Notification) -> Result<(), String> {
        if !(self.is_followed)(&told.method) {
            return Ok(());
        }
        match self.events.try_send(told) {
            // Nobody listens, which is nobody's loss.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(format!("{MAX_UNREAD} of its notifications were not read"))
            }
        }
    }

    fn answer(&mut self, id: Value, method: String, params: Value) {
        let busy = self.answering.len() >= MAX_ANSWERING;
        let answers = Arc::clone(&self.answers);
        self.answering.spawn(async move {
            let outcome = if busy {
                Err((INTERNAL, "too many requests are being answered".to_owned()))
            } else {
                answers.answer(method, params).await
            };
            outgoing::answer(&id, outcome)
        });
    }
}
