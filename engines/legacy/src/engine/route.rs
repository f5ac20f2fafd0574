//! Where a compaction runs (R1.2): with the host, or here over the host's log.

use std::time::Duration;

use contextwire_engine::{
    Compact, Compacted, CompactionTarget, EngineError, HookContext, Transcript,
};

use super::{CompactionSite, LegacyEngine, log};
use crate::compact::{CompactOptions, LastEntry, compact_log, counted};
use crate::compaction::{Compaction, NO_ID};
use crate::error::CompactionError;

const UNAVAILABLE: &str = "HOST_CALL_UNAVAILABLE";
/// When a host that compacts a session twice at once may ask again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl LegacyEngine {
    pub(super) async fn route(
        &self,
        cx: &HookContext,
        request: Compact,
    ) -> Result<Compacted, EngineError> {
        if let Some(answer) = self.remembered.answered(&cx.session.id, cx.hook_id) {
            return Ok(answer);
        }
        let work = async {
            match self.options.site {
                CompactionSite::Host => match delegate(cx, &request).await {
                    Some(answer) => Ok(answer),
                    None => match self.with_log(cx, &request).await {
                        Some(answer) => answer,
                        None => Ok(nobody()),
                    },
                },
                CompactionSite::Engine => match self.with_log(cx, &request).await {
                    Some(answer) => answer,
                    None => Ok(delegate(cx, &request).await.unwrap_or_else(nobody)),
                },
            }
        };
        // A host that was told to stop waits for no answer of a call back either.
        tokio::select! {
            biased;
            () = cx.cancellation.cancelled() => Err(EngineError::cancelled()),
            answer = work => answer,
        }
    }

    /// Compacts here; none where the log cannot be had.
    async fn with_log(
        &self,
        cx: &HookContext,
        request: &Compact,
    ) -> Option<Result<Compacted, EngineError>> {
        let log = log::read(cx).await?;
        Some(self.here(cx, &log, request.clone()).await)
    }

    async fn here(
        &self,
        cx: &HookContext,
        log: &Transcript,
        request: Compact,
    ) -> Result<Compacted, EngineError> {
        let has_ids = log.iter().any(|message| !message.entry_id().is_empty());
        if !log.is_empty() && !has_ids {
            return answer(Err(CompactionError::InvalidSession(NO_ID)));
        }
        let Some(turn) = self.remembered.begin(&cx.session.id) else {
            return Err(EngineError::in_progress(RETRY_AFTER));
        };
        let options = CompactOptions {
            settings: self.options.settings.clone(),
            request,
            earlier: self.remembered.earlier(&cx.session, log),
            last_entry: LastEntry::Message,
        };
        let done = compact_log(cx, log, &options, &*self.options.summarizer).await;
        let kept = match &done {
            Ok(Compaction::Done(done)) => Some(done.clone()),
            Ok(Compaction::Nothing { .. }) | Err(_) => None,
        };
        let answer = answer(done.and_then(Compaction::into_answer))?;
        if let Some(kept) = kept.filter(|_| answer.compacted) {
            turn.remember(cx.hook_id, log, &kept, &answer);
        }
        Ok(answer)
    }
}

/// The host's own compaction, with what a delegate passes on (HOST-SEMANTICS 10.4); none where the
/// host serves none.
async fn delegate(cx: &HookContext, request: &Compact) -> Option<Compacted> {
    let request = Compact {
        current_token_count: counted(request),
        target: CompactionTarget::default(),
        ..request.clone()
    };
    match cx.host.delegate_compaction(request).await {
        Ok((compacted, _)) => Some(compacted),
        Err(error) if error.is_unserved() => None,
        Err(error) => Some(Compacted::declined(format!(
            "{}: {}",
            error.reason, error.message
        ))),
    }
}

/// Neither the log nor a host that compacts.
fn nobody() -> Compacted {
    Compacted::declined(format!(
        "{UNAVAILABLE}: this host neither shows its log nor compacts itself"
    ))
}

/// A failed compaction is an answer; one that nobody waits for is none (R1.5).
fn answer(done: Result<Compacted, CompactionError>) -> Result<Compacted, EngineError> {
    match done {
        Ok(compacted) => Ok(compacted),
        Err(CompactionError::Aborted | CompactionError::TimedOut) => Err(EngineError::cancelled()),
        Err(error) => Ok(Compacted::declined(error.reason())),
    }
}
