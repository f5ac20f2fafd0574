//! Compact: this engine has no model, so the host's own compaction does it (R1.2).

use std::time::Duration;

use contextwire_engine::durable::{self, Attempt, Begun, Lease};
use contextwire_engine::{Compact, Compacted, EngineError, HookContext, HostCallError};

use super::{LedgerEngine, tell_log};
use crate::store::Tx;

/// How much longer than the call its claim lasts.
const MARGIN: Duration = Duration::from_secs(5);

impl LedgerEngine {
    pub(super) async fn delegate(
        &self,
        cx: &HookContext,
        request: Compact,
    ) -> Result<Compacted, EngineError> {
        self.attend(cx).await?;
        let attempt = self.attempt(cx, &request);
        let lease = Lease::new(cx.remaining().saturating_add(MARGIN));
        let (begin, held) = (attempt.clone(), lease.clone());
        let begun = self.writer.run(cx, move |tx| {
            let begun = durable::begin(tx, &begin, &held)?;
            tell_log(tx, begin.context(), begin.context().log_head)?;
            Ok(begun)
        });
        if let Begun::Recorded(answer) = begun.await? {
            return Ok(answer);
        }
        let mut claim = Claim {
            engine: self,
            held: Some((attempt, lease)),
        };
        let answer = match cx.host.delegate_compaction(request).await {
            Ok((compacted, _)) => compacted,
            Err(error) => declined(&error),
        };
        claim.settle(cx, answer).await
    }
}

/// A failed call back is an answer, never the failure of the hook.
fn declined(error: &HostCallError) -> Compacted {
    let HostCallError {
        reason,
        message,
        retryable: _,
    } = error;
    Compacted::declined(format!("{reason}: {message}"))
}

/// A claimed key; dropped unsettled, as when the host stops waiting, it is given back.
struct Claim<'e> {
    engine: &'e LedgerEngine,
    held: Option<(Attempt<Compact>, Lease)>,
}

impl Claim<'_> {
    async fn settle(
        &mut self,
        cx: &HookContext,
        answer: Compacted,
    ) -> Result<Compacted, EngineError> {
        let Some((attempt, lease)) = self.held.clone() else {
            return Ok(answer);
        };
        let work = move |tx: &mut Tx<'_>| durable::finish(tx, &attempt, &lease, |_| Ok(answer));
        let settled = self.engine.writer.run(cx, work).await;
        if settled.is_ok() {
            self.held = None;
        }
        settled
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some((attempt, lease)) = self.held.take() {
            self.engine
                .writer
                .submit(move |tx| durable::release(tx, &attempt, &lease));
        }
    }
}
