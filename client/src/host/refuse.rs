//! The leaf of a slot whose engine cannot be had: every call fails with why.

use std::task::{Context, Poll};

use tower::Service;

use crate::call::{Answer, Call};
use crate::error::CallError;
use crate::layer::{Pending, at_once};
use crate::registry::Downgrade;

/// Why there is nobody to call.
#[derive(Clone, Debug)]
pub(super) enum Refuse {
    /// The slot does not come to its engine.
    Downgraded { engine_id: String, why: Downgrade },
    /// The host has no engine of its own.
    NoBuiltIn,
    /// The turn began without its engine.
    Degraded { reason: String },
}

impl Refuse {
    /// The failure of a call.
    pub(super) fn error(&self) -> CallError {
        match self.clone() {
            Self::Downgraded {
                why: Downgrade::Quarantined(record),
                ..
            } => CallError::Quarantined {
                operation: record.operation,
                reason: record.reason,
            },
            Self::Downgraded {
                engine_id,
                why: Downgrade::DiscoveryOnly,
            } => CallError::DiscoveryOnly { engine_id },
            // By plan the built-in engine serves; nobody gets here.
            Self::Downgraded {
                engine_id,
                why: Downgrade::Disabled,
            } => CallError::Unsupported(format!("`{engine_id}` is switched off")),
            Self::NoBuiltIn => {
                let why = "this host has no engine of its own: give it one, or select another";
                CallError::Unsupported(why.to_owned())
            }
            Self::Degraded { reason } => CallError::TurnDegraded { reason },
        }
    }
}

impl Service<Call> for Refuse {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Call) -> Pending {
        at_once(Err(self.error()))
    }
}
