//! Work that no turn waits for: the index of texts, and counting before an import.

use std::sync::Arc;

use contextwire_engine::{
    Compact, CompactionTarget, EngineError, ErrorKind, HookContext, Maintain, Maintained, Message,
    Transcript,
};
use contextwire_store::Store;

use super::LosslessEngine;
use crate::rows::{Indexed, Rows, weigh};

/// Entries that go into the index in one transaction, so that no turn waits long for its own.
const BATCH: u64 = 64;
/// Messages that one thread counts at a time.
const CHUNK: usize = 2_048;

/// Counts all messages, on other threads where there are many.
pub(super) async fn count(log: &Transcript) -> Result<(), EngineError> {
    if log.len() <= CHUNK {
        log.iter().for_each(|message| {
            weigh(message);
        });
        return Ok(());
    }
    let starts = (0..log.len()).step_by(CHUNK);
    let counting: Vec<_> = starts
        .map(|start| {
            let part: Vec<Message> = log.range(start..start + CHUNK).cloned().collect();
            tokio::task::spawn_blocking(move || {
                for message in &part {
                    weigh(message);
                    message.digest();
                }
            })
        })
        .collect();
    for counted in counting {
        counted.await.map_err(|error| {
            EngineError::new(ErrorKind::Failure, "counting ended early").with_source(error)
        })?;
    }
    Ok(())
}

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    /// Lets the index take a few entries in when the store has nothing better to do.
    pub(super) fn index_soon(&self) {
        let redaction = Arc::clone(&self.compactor.redaction);
        self.hooks
            .store()
            .submit(move |rows| rows.index(BATCH, &redaction).map(drop));
    }

    /// Compacts where the host lets that happen beside the conversation, and brings the index up to
    /// date as far as time reaches.
    pub(super) async fn tidy(
        &self,
        cx: &HookContext,
        request: Maintain,
    ) -> Result<Maintained, EngineError> {
        self.hooks.attend(cx).await?;
        let compacted = self.compact_beside(cx, &request).await?;
        let mut added = 0;
        let behind = loop {
            let redaction = Arc::clone(&self.compactor.redaction);
            let index = move |rows: &mut S::Rows| rows.index(BATCH, &redaction);
            let step = self.hooks.store().write(cx, index);
            let Indexed { added: now, behind } = step.await?;
            added += now;
            if behind == 0 || now == 0 || cx.remaining() < std::time::Duration::from_secs(1) {
                break behind;
            }
        };
        let attempt = self.hooks.attempt(cx, &request);
        let done = Maintained {
            reason: Some(format!(
                "indexed {added} entries, {behind} are behind{}",
                compacted.map_or_else(String::new, |reason| format!("; {reason}"))
            )),
            ..Maintained::default()
        };
        self.hooks.act(attempt, |_, _| Ok(done)).await
    }

    /// A compaction to the threshold, and better texts for provisional ones; what came of it.
    async fn compact_beside(
        &self,
        cx: &HookContext,
        request: &Maintain,
    ) -> Result<Option<String>, EngineError> {
        let context = request.runtime_context.as_ref();
        let may_compact = context
            .is_some_and(|context| context.allow_deferred_compaction_execution == Some(true));
        if !request.background || !may_compact {
            return Ok(None);
        }
        let asked = Compact {
            runtime_settings: request.runtime_settings.clone(),
            runtime_context: request.runtime_context.clone(),
            target: CompactionTarget::Threshold,
            ..Compact::default()
        };
        Ok(self.compacted(cx, &asked).await?.reason)
    }
}
