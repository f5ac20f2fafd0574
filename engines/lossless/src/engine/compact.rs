//! Compact: the host's own compaction, under a key of this engine.

use contextwire_engine::{Compact, Compacted, EngineError, HookContext, HostCallError};
use contextwire_store::{Claimed, Store};

use super::LosslessEngine;
use crate::rows::Rows;

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    pub(super) async fn make_room(
        &self,
        cx: &HookContext,
        request: Compact,
    ) -> Result<Compacted, EngineError> {
        self.hooks.attend(cx).await?;
        let attempt = self.hooks.attempt(cx, &request);
        let claim = match self.hooks.claim(cx, attempt).await? {
            Claimed::Recorded(answer) => return Ok(answer),
            Claimed::Held(claim) => claim,
        };
        let answer = match cx.host.delegate_compaction(request).await {
            Ok((compacted, _)) => compacted,
            Err(HostCallError {
                reason, message, ..
            }) => Compacted::declined(format!("{reason}: {message}")),
        };
        claim.settle(cx, |_| Ok(answer)).await
    }
}
