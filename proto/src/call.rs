//! What accompanies a call on the wire: who, which attempt, in which order.

use std::time::Duration;

use contextwire_engine::{HookContext, HookId, Scope, Session, SessionTarget, TranscriptState};

/// The order of calls from one host (R7.9); engines compare pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Start of the host's process, strictly increasing over restarts; never zero.
    pub host_epoch: u64,
    /// Counts the mutating foreground hooks of a session; absent in unordered calls.
    pub session_seq: Option<u64>,
}

/// What every call about a session says about itself; the wire form of a [`HookContext`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// Identity of the logical invocation, equal in all attempts.
    pub hook_id: HookId,
    /// Counts the attempts, from 1.
    pub attempt: u32,
    /// The engine's share of the deadline in whole milliseconds; absent where the host named none.
    pub budget: Option<Duration>,
    /// Whose call it is.
    pub session: Session,
    /// Paths that must not be ignored (R5.4).
    pub must_understand: Vec<String>,
    /// Where the host's operation runs.
    pub scope: Scope,
    /// Which requirement applied; for records only.
    pub operation: Option<String>,
    /// Place in the host's order; absent for a host of an older minor.
    pub order: Option<Order>,
    /// Hooks whose effect must not happen any more (R7.2).
    pub abandoned_hooks: Vec<HookId>,
    /// State of the host's log (R3.3).
    pub log_head: Option<TranscriptState>,
}

impl CallContext {
    /// A first attempt that says no more than it must.
    pub fn new(hook_id: HookId, session: Session) -> Self {
        Self {
            hook_id,
            attempt: 1,
            budget: None,
            session,
            must_understand: Vec::new(),
            scope: Scope::default(),
            operation: None,
            order: None,
            abandoned_hooks: Vec::new(),
            log_head: None,
        }
    }

    /// What an engine sees of the call; `default_budget` holds where the host named none.
    pub fn hook_context(&self, default_budget: Duration) -> HookContext {
        let budget = self.budget.unwrap_or(default_budget);
        let mut cx = HookContext::of_hook(self.hook_id, self.session.clone(), budget);
        cx.attempt = self.attempt;
        cx.scope = self.scope.clone();
        cx.operation.clone_from(&self.operation);
        cx.log_head = self.log_head;
        cx
    }
}

/// A hook that was abandoned after its effect had happened (R7.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateHook {
    /// Its id.
    pub hook_id: HookId,
    /// Name of its RPC.
    pub method: String,
    /// Successor session that it made.
    pub session_target: Option<SessionTarget>,
}

/// What every response says beside its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Abandoned hooks whose effect had happened.
    pub late: Vec<LateHook>,
    /// The engine's stored log; absent where it stores none.
    pub log_state: Option<TranscriptState>,
}

#[cfg(test)]
mod tests {
    use contextwire_engine::SessionId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_engine_sees_the_budget_that_was_sent_or_the_default() {
        let session = Session::new(SessionId::new("s").unwrap());
        let mut call = CallContext::new(HookId::mint(), session);
        call.attempt = 3;
        let default = Duration::from_secs(9);
        let cx = call.hook_context(default);
        assert_eq!(
            (cx.hook_id, cx.attempt, cx.remaining()),
            (call.hook_id, 3, default)
        );
        call.budget = Some(Duration::from_secs(2));
        assert_eq!(
            call.hook_context(default).remaining(),
            Duration::from_secs(2)
        );
    }
}
