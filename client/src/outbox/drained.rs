//! Whose turns were delivered beside the conversation: their maintenance is due (HOST-SEMANTICS 8).

use contextwire_engine::{RuntimeContext, Session};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Outbox;
use super::row::StoredCall;
use crate::request::EngineRequest;

/// A session that had turns acknowledged in one drain of its lane.
#[derive(Clone, Debug)]
pub(crate) struct DrainedSession {
    /// The engine that has them.
    pub(crate) engine: String,
    /// The session, as of the newest turn.
    pub(crate) session: Session,
    /// The newest turn's facts.
    pub(crate) runtime_context: Option<RuntimeContext>,
}

impl DrainedSession {
    pub(super) fn of(engine: String, stored: StoredCall) -> Self {
        let runtime_context = if let EngineRequest::CommitTurn(turn) = stored.request {
            turn.runtime_context
        } else {
            None
        };
        Self {
            engine,
            session: stored.session,
            runtime_context,
        }
    }
}

impl Outbox {
    /// The sessions that the background delivery drains from now on. What is drained before a run is
    /// none of them. The first caller has them all.
    pub(crate) fn drained(&self) -> UnboundedReceiver<DrainedSession> {
        let (tell, told) = unbounded_channel();
        // Whoever asked first keeps them; this receiver is at its end then.
        let _kept = self.0.drained.set(tell);
        told
    }

    pub(super) fn tell_drained(&self, newest: Option<DrainedSession>) {
        if let (Some(tell), Some(newest)) = (self.0.drained.get(), newest) {
            // Nobody listens once the host is gone.
            let _gone = tell.send(newest);
        }
    }
}
