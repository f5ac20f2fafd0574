//! Making room, by the engine or by Codex.

use contextwire_client::ServedBy;
use contextwire_client::engine::{Compact, CompactionTarget, RuntimeContext};

use super::CodexHost;
use crate::error::CodexError;
use crate::report::CompactionReport;
use crate::running::done;

const MANUAL: &str = "manual";

impl CodexHost {
    /// Asks the engine to make room. A thread whose epoch stays is kept; any other begins anew with
    /// the next turn. An engine that does not is in the report.
    ///
    /// # Errors
    /// [`CodexError::Log`], [`CodexError::Binding`].
    pub async fn compact(
        &mut self,
        instructions: Option<&str>,
    ) -> Result<CompactionReport, CodexError> {
        let host = self.host.with_log(self.log.transcript().await?);
        let host = host.with_host(self.log.calls());
        let request = Compact {
            runtime_context: Some(RuntimeContext {
                trigger: Some(MANUAL.to_owned()),
                force_reason: Some(MANUAL.to_owned()),
                ..RuntimeContext::default()
            }),
            token_budget: self.settings.token_budget,
            force: true,
            current_token_count: self.native_tokens,
            target: CompactionTarget::Threshold,
            custom_instructions: instructions.map(str::to_owned),
            ..Compact::default()
        };
        let session = &self.settings.session;
        let served = match host.compact(session, request).await {
            Ok(served) => served,
            Err(error) => {
                return Ok(CompactionReport {
                    by: "nobody".to_owned(),
                    reason: Some(format!("{} ({error})", error.code())),
                    ..CompactionReport::default()
                });
            }
        };
        let done = served.result;
        let is_done = done.ok && done.compacted;
        if is_done
            && let ServedBy::Engine(_) = served.by
            && let Some(bound) = self.bindings.get(session)?
            && bound.after_engine_compaction().is_none()
        {
            self.bindings.remove(session)?;
        }
        let result = done.result;
        Ok(CompactionReport {
            compacted: is_done,
            by: served.by.to_string(),
            reason: done.reason,
            tokens_before: result.as_ref().map(|result| result.tokens_before),
            tokens_after: result.and_then(|result| result.tokens_after),
        })
    }

    /// Lets Codex compact its thread. What was injected counts as lost from before it begins.
    ///
    /// # Errors
    /// [`CodexError`]: Codex cannot be had.
    pub async fn compact_natively(&mut self) -> Result<CompactionReport, CodexError> {
        let by = "Codex".to_owned();
        let _bound = self.ready().await?;
        let Some(thread_id) = self.loaded.as_ref().map(|thread| thread.id.clone()) else {
            return Ok(CompactionReport {
                by,
                reason: Some("the session has no thread yet".to_owned()),
                ..CompactionReport::default()
            });
        };
        self.forget_projection(&thread_id)?;
        let limit = self.settings.turn_limit;
        let server = self.server()?;
        server.start_compaction(&thread_id).await?;
        let turn = tokio::time::timeout(limit, done(server, &thread_id)).await;
        let turn = turn.map_err(|_| CodexError::TurnTooLong {
            seconds: limit.as_secs(),
        })??;
        Ok(CompactionReport {
            compacted: turn.status == "completed",
            by,
            reason: turn.error.map(|error| error.message),
            ..CompactionReport::default()
        })
    }
}
