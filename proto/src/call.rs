//! What accompanies a call on the wire: who, which attempt, in which order.

use std::time::Duration;

use contextwire_engine::{
    HookContext, HookId, InvalidId, Order, Scope, Session, SessionId, TranscriptState,
};

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

    /// A call about no session (Dispose). An engine sees one named like the host's instance, which
    /// it has never heard of in any other call; it does not travel.
    ///
    /// # Errors
    /// [`InvalidId`] when the instance is empty or longer than an id.
    pub fn of_host(hook_id: HookId, host_instance: &str) -> Result<Self, InvalidId> {
        Ok(Self::new(
            hook_id,
            Session::new(SessionId::new(host_instance)?),
        ))
    }

    /// What an engine sees of the call; `default_budget` holds where the host named none.
    pub fn hook_context(&self, default_budget: Duration) -> HookContext {
        let budget = self.budget.unwrap_or(default_budget);
        let mut cx = HookContext::of_hook(self.hook_id, self.session.clone(), budget);
        cx.attempt = self.attempt;
        cx.scope = self.scope.clone();
        cx.operation.clone_from(&self.operation);
        cx.log_head = self.log_head;
        cx.order = self.order;
        cx.abandoned_hooks.clone_from(&self.abandoned_hooks);
        cx
    }
}

#[cfg(test)]
mod tests {
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
    #[tokio::test(start_paused = true)]
    async fn r7_9_and_r7_2_an_engine_sees_the_order_and_what_was_abandoned() {
        let session = Session::new(SessionId::new("s").unwrap());
        let mut call = CallContext::new(HookId::mint(), session);
        let order = Order {
            host_epoch: 7,
            session_seq: Some(3),
        };
        call.order = Some(order);
        call.abandoned_hooks = vec![HookId::mint()];
        let cx = call.hook_context(Duration::from_secs(9));
        assert_eq!(cx.order, Some(order));
        assert_eq!(cx.abandoned_hooks, call.abandoned_hooks);
    }
}
