//! A session's host as engines call it back: its store, its model, its own compaction (R1.6, R1.7).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use contextwire_engine::{
    AnyEngine, Compact, Compacted, ContextEngine, EngineError, EntryId, ErrorKind, Hook,
    HookContext, Host, HostAnswer, HostCall, HostCallError, HostCalls, HostLog, HostReply,
    LlmComplete, LlmCompleted, Message, RewriteEntries, Session, Transcript, TranscriptState,
};

#[cfg(feature = "local")]
use contextwire_legacy::SafetyWindow;

use crate::store::{AnyStore, Compaction, EntryBody, NewEntry, RewriteTerms, TranscriptStore};
use crate::wall_clock::now_ms;

/// The answer of a model, in time.
pub type ModelAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<LlmCompleted, HostCallError>> + Send + 'a>>;

/// The host's model, for an engine that wants text.
///
/// Which agent and which credentials is the host's affair; a wish for another model than the run's
/// is refused without a policy that allows it (HOST-SEMANTICS 2).
pub trait HostModel: Send + Sync {
    /// Asks the model. A failure is a value for the engine; its text never holds a key.
    fn complete(&self, request: LlmComplete) -> ModelAnswer<'_>;
}

/// Serves the host calls of one session's engine. None of them triggers a hook of the session.
#[derive(Clone)]
pub struct SessionHost {
    session: Session,
    store: AnyStore,
    model: Option<Arc<dyn HostModel>>,
    compaction: Option<AnyEngine>,
    pending_inputs: Vec<EntryId>,
    #[cfg(feature = "local")]
    window: Option<Arc<SafetyWindow>>,
    #[cfg(feature = "outbox")]
    lineage: Option<crate::outbox::SessionLineage>,
}

impl SessionHost {
    /// A host that rewrites and reads this transcript, and does nothing else.
    pub fn new(session: Session, store: AnyStore) -> Self {
        Self {
            session,
            store,
            model: None,
            compaction: None,
            pending_inputs: Vec::new(),
            #[cfg(feature = "local")]
            window: None,
            #[cfg(feature = "outbox")]
            lineage: None,
        }
    }

    /// Gives each delegated compaction the whole of this window, and its engine afterwards what it had
    /// left of it ([`CompactionRun::window`](crate::compaction::CompactionRun)).
    #[cfg(feature = "local")]
    #[must_use]
    pub fn with_window(self, window: Arc<SafetyWindow>) -> Self {
        Self {
            window: Some(window),
            ..self
        }
    }

    /// Lets the engine ask this model.
    #[must_use]
    pub fn with_model(self, model: impl HostModel + 'static) -> Self {
        Self {
            model: Some(Arc::new(model)),
            ..self
        }
    }

    /// Serves delegated compactions with an engine of this process; its summaries are appended to
    /// the store.
    #[must_use]
    pub fn with_compaction(self, engine: AnyEngine) -> Self {
        Self {
            compaction: Some(engine),
            ..self
        }
    }

    /// Inputs of running turns, which no rewrite may drop or exchange.
    #[must_use]
    pub fn with_pending_inputs(self, pending_inputs: Vec<EntryId>) -> Self {
        Self {
            pending_inputs,
            ..self
        }
    }

    /// Writes down in the host's outbox which entries a rewrite gave new ids, before the engine hears
    /// of the rewrite (R2.3). Not needed for a store whose own file says so, such as
    /// [`JsonlStore`](crate::store::JsonlStore).
    #[cfg(feature = "outbox")]
    #[must_use]
    pub fn with_lineage(self, lineage: crate::outbox::SessionLineage) -> Self {
        Self {
            lineage: Some(lineage),
            ..self
        }
    }

    async fn rewrite(&self, request: RewriteEntries) -> Result<HostReply, HostCallError> {
        let terms = RewriteTerms {
            pending_inputs: self.pending_inputs.clone(),
            ..RewriteTerms::at(stored_at())
        };
        let done = self.store.rewrite(request, terms).await?;
        #[cfg(feature = "outbox")]
        if let Some(lineage) = &self.lineage {
            // Also where nothing changed now: an earlier rewrite may not have got this far.
            let kept = lineage.record_store(&self.store).await;
            kept.map_err(|error| HostCallError {
                retryable: true,
                ..HostCallError::new("FAILED", error.to_string())
            })?;
        }
        Ok(HostReply::Rewritten(done))
    }

    async fn complete(&self, request: LlmComplete) -> Result<HostReply, HostCallError> {
        match &self.model {
            Some(model) => model.complete(request).await.map(HostReply::Completed),
            None => Err(unsupported("this host lets no engine ask its model")),
        }
    }

    async fn compact(&self, request: Compact) -> Result<HostReply, HostCallError> {
        let Some(engine) = &self.compaction else {
            return Err(unsupported("this host has no compaction of its own"));
        };
        let log = self.named_log().await?;
        let deadline = Hook::Compact.profile().deadline;
        let mut cx = HookContext::new(self.session.clone(), deadline);
        cx.log_head = Some(log.state());
        cx.log = HostLog::new(log);
        // A compaction that delegated once more would never end.
        cx.host = Host::new(Arc::new(Self {
            compaction: None,
            ..self.clone()
        }));
        #[cfg(feature = "local")]
        let _stage = self.window.as_deref().map(StageOf::begin);
        let compacted = engine
            .compact(&cx, request)
            .await
            .map_err(|error| failed(&error))?;
        let head = self.take_in(&compacted).await?;
        Ok(HostReply::Compacted(compacted, head))
    }

    /// The log under ids, whatever goes over a wire: a compaction has to name what it keeps.
    async fn named_log(&self) -> Result<Transcript, HostCallError> {
        let (log, ids) = (self.store.log().await?, self.store.log_ids().await?);
        let is_named = |message: &Message| !message.entry_id().as_str().is_empty();
        if log.iter().all(is_named) {
            return Ok(log);
        }
        let named = log.iter().zip(ids);
        Ok(named
            .map(|(message, id)| message.clone().with_entry_id(id))
            .collect())
    }

    /// Appends the summary of a compaction, where there is one; gives the log afterwards.
    async fn take_in(&self, compacted: &Compacted) -> Result<TranscriptState, HostCallError> {
        let result = compacted.result.as_ref();
        let done = result.filter(|_| compacted.ok && compacted.compacted);
        if let Some(result) = done
            && let Some(summary) = &result.summary
        {
            let entry = NewEntry::new(
                EntryBody::Compaction(Compaction {
                    summary: summary.clone(),
                    first_kept: result.first_kept_entry_id.clone(),
                    tokens_before: result.tokens_before,
                    details: result.details.clone(),
                    from_hook: false,
                }),
                stored_at(),
            );
            self.store.append(vec![entry]).await?;
        }
        Ok(self.store.log().await?.state())
    }
}

/// A stage of a delegated compaction, for as long as it runs.
#[cfg(feature = "local")]
struct StageOf<'a>(&'a SafetyWindow);

#[cfg(feature = "local")]
impl<'a> StageOf<'a> {
    fn begin(window: &'a SafetyWindow) -> Self {
        window.stage_began();
        Self(window)
    }
}

#[cfg(feature = "local")]
impl Drop for StageOf<'_> {
    fn drop(&mut self) {
        self.0.stages_ended();
    }
}

impl HostCalls for SessionHost {
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        Box::pin(async move {
            match call {
                HostCall::Rewrite(request) => self.rewrite(request).await,
                HostCall::Complete(request) => self.complete(request).await,
                HostCall::ReadTranscript(request) => {
                    Ok(HostReply::Page(self.store.read(request).await?))
                }
                HostCall::DelegateCompaction(request) => self.compact(request).await,
            }
        })
    }
}

impl std::fmt::Debug for SessionHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHost")
            .field("session", &self.session.id)
            .finish_non_exhaustive()
    }
}

/// Entries carry the time as a signed number.
fn stored_at() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}

fn unsupported(message: &str) -> HostCallError {
    HostCallError::new("UNSUPPORTED", message)
}

fn failed(error: &EngineError) -> HostCallError {
    HostCallError {
        retryable: error.kind() == ErrorKind::Transient,
        ..HostCallError::new("FAILED", error.message())
    }
}
