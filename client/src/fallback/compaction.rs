//! The compaction that runs in the place of an engine's (PROTOCOL 7).

use contextwire_engine::{AnyEngine, Hook, HookId};
use contextwire_proto::Reason;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::call::Call;
use crate::error::{CallError, FailureClass};
use crate::in_process::InProcess;
use crate::options::{ClientOptions, CompactFallback};
use crate::request::EngineReply;

/// Whether and by whom.
#[derive(Clone, Debug)]
pub(super) struct CompactionInPlace {
    wish: CompactFallback,
    built_in: Option<AnyEngine>,
}

impl CompactionInPlace {
    pub(super) fn new(options: &ClientOptions) -> Self {
        Self {
            wish: options.compact_fallback,
            built_in: options.built_in.clone(),
        }
    }

    /// Runs it, within a deadline of its own; nothing where nobody compacts, or it fails too.
    /// `owned` says whether the engine owns compaction, where somebody knows.
    pub(super) async fn run(
        &self,
        call: Call,
        owned: Option<bool>,
        error: &CallError,
    ) -> Option<EngineReply> {
        let wanted = self.is_wanted(owned, error);
        let engine = self.built_in.clone().filter(|_| wanted)?;
        let deadline = Hook::Compact.profile().deadline;
        let own = Call {
            // The engine's hook is abandoned: whatever comes of it has no effect any more.
            hook_id: HookId::mint(),
            turn: call.turn.clone(),
            trace: call.trace,
            host: call.host,
            scope: call.scope,
            log: call.log,
            operation: call.operation,
            ..Call::new(call.session, call.request, deadline)
        };
        tracing::info!(code = error.code(), "the built-in engine compacts");
        match timeout(deadline, InProcess(engine).oneshot(own)).await {
            Ok(Ok(served)) => Some(served.result),
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), %error, "the built-in compaction failed");
                None
            }
            Err(_) => {
                tracing::warn!(?deadline, "the built-in compaction did not end in time");
                None
            }
        }
    }

    fn is_wanted(&self, owned: Option<bool>, error: &CallError) -> bool {
        // HOST-SEMANTICS 3.4: a barred engine is replaced in every hook.
        if matches!(error, CallError::Quarantined { .. }) {
            return true;
        }
        if error.class() == FailureClass::Engine || is_the_hosts_fault(error) {
            return false;
        }
        match self.wish {
            CompactFallback::Rethrow => false,
            CompactFallback::Legacy => true,
            CompactFallback::UnlessOwned => owned == Some(false),
        }
    }
}

/// Failures after which nobody acts for this call: another one did, or the host contradicts itself.
fn is_the_hosts_fault(error: &CallError) -> bool {
    if let CallError::Refused { reason, .. } = error {
        let reasons = [Reason::IdempotencyConflict, Reason::HookClosed];
        return reasons.contains(reason);
    }
    matches!(
        error,
        CallError::Overtaken { .. } | CallError::Abandoned | CallError::TurnOver
    )
}

#[cfg(test)]
mod tests {
    use contextwire_proto::Reason;

    use super::*;
    use crate::script::{broken, refused};

    fn wanted(wish: CompactFallback, owned: Option<bool>, error: &CallError) -> bool {
        let options = ClientOptions {
            compact_fallback: wish,
            ..ClientOptions::default()
        };
        CompactionInPlace::new(&options).is_wanted(owned, error)
    }

    #[test]
    fn by_default_nobody_compacts_for_an_engine_that_owns_it_or_was_never_seen() {
        let unless_owned = |owned| wanted(CompactFallback::UnlessOwned, owned, &broken());
        assert_eq!(
            [Some(false), Some(true), None].map(unless_owned),
            [true, false, false]
        );
        assert!(wanted(CompactFallback::Legacy, Some(true), &broken()));
        assert!(!wanted(CompactFallback::Rethrow, Some(false), &broken()));
    }

    #[test]
    fn c037_c038_the_failing_call_is_rethrown_and_a_barred_engine_replaced() {
        let failed = refused(Reason::EngineFailure);
        assert!(!wanted(CompactFallback::Legacy, Some(false), &failed));
        let barred = CallError::Quarantined {
            operation: "compact".to_owned(),
            reason: "bug".to_owned(),
        };
        assert!(wanted(CompactFallback::Rethrow, Some(true), &barred));
    }

    #[test]
    fn what_another_call_did_is_not_done_twice() {
        let closed = refused(Reason::HookClosed);
        assert!(!wanted(CompactFallback::Legacy, Some(false), &closed));
    }
}
