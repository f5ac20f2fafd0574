//! Whoever takes the calls of rows.

use std::future::Future;
use std::pin::Pin;

use contextwire_engine::{Hook, TurnCommitted};
use contextwire_proto::handshake::EngineState;
use tower::ServiceExt;

use super::row::Row;
use crate::call::{Answer, Call};
use crate::client::EngineClient;
use crate::error::CallError;
use crate::request::EngineReply;

/// The answer of an engine, in time.
pub type Delivering<'a> = Pin<Box<dyn Future<Output = Result<Answer, CallError>> + Send + 'a>>;

/// Whoever takes the calls of rows: an [`EngineClient`], or a double of it.
pub trait Recipient: Send + Sync {
    /// Sends the call; its key is the same in every try.
    fn deliver(&self, call: Call) -> Delivering<'_>;

    /// Whether the engine is up and has said which methods it has, so that an absent one is final.
    fn is_ready(&self) -> bool;
}

impl Recipient for EngineClient {
    fn deliver(&self, call: Call) -> Delivering<'_> {
        Box::pin(self.stack().clone().oneshot(call))
    }

    fn is_ready(&self) -> bool {
        let known = self.known();
        known.is_some_and(|engine| engine.state == EngineState::Ready)
    }
}

/// What the engine said of a turn; nothing for other calls.
pub(super) fn acknowledged(
    row: &Row,
    reply: &EngineReply,
) -> Result<Option<TurnCommitted>, CallError> {
    let other = || CallError::ContractViolation("the reply of another hook".to_owned());
    if row.hook != Hook::CommitTurn.name() {
        let told = matches!(
            reply,
            EngineReply::SpawnResolved(()) | EngineReply::SubagentEnded(())
        );
        return told.then_some(None).ok_or_else(other);
    }
    if let EngineReply::TurnCommitted(committed) = reply {
        return Ok(Some(*committed));
    }
    Err(other())
}
