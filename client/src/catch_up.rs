//! Layer: a list that did not arrive within its call's deadline goes on in the background (R3.4).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{Assemble, Bootstrap, SessionId, Site, Transcript, TranscriptSync};
use contextwire_proto::sync::List;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

use crate::call::Call;
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, layer};
use crate::request::EngineRequest;

/// Sends on what calls could not: a view in an Assemble that assembles nothing, a log in a
/// background Bootstrap. The next call finds the engine further on.
#[derive(Clone, Debug)]
pub(crate) struct CatchUpLayer {
    known: Arc<Acquaintance>,
    uploads: Arc<Uploads>,
}

/// Uploads that run beside the conversation; they end with the client.
#[derive(Debug)]
struct Uploads {
    running: Arc<Running>,
    ends: CancellationToken,
    _with_the_client: DropGuard,
    warned: AtomicBool,
}

/// At most one upload of a list at a time.
#[derive(Debug, Default)]
struct Running(Mutex<HashSet<(SessionId, List)>>);

impl Running {
    fn lock(&self) -> MutexGuard<'_, HashSet<(SessionId, List)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CatchUpLayer {
    pub(crate) fn new(known: Arc<Acquaintance>) -> Self {
        let ends = CancellationToken::new();
        Self {
            known,
            uploads: Arc::new(Uploads {
                running: Arc::default(),
                _with_the_client: ends.clone().drop_guard(),
                ends,
                warned: AtomicBool::new(false),
            }),
        }
    }

    fn is_full(&self) -> bool {
        let engine = self.known.current();
        engine.is_some_and(|engine| engine.info.transcript_sync == TranscriptSync::Full)
    }
}

layer!(CatchUpLayer);

impl Wrap for CatchUpLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let (layer, engine) = (self.clone(), below.clone());
        let unsent =
            carried(&call).map(|(list, transcript)| (call.session.clone(), list, transcript));
        let answer = below.call(call);
        Box::pin(async move {
            let outcome = answer.await;
            let (Err(CallError::Syncing { share }), Some((session, list, transcript))) =
                (&outcome, unsent)
            else {
                return outcome;
            };
            if layer.is_full() {
                if !layer.uploads.warned.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        messages = transcript.len(),
                        "the engine keeps no list, and this one cannot be sent in time"
                    );
                }
                return Err(CallError::SyncTooLarge { share: *share });
            }
            let request = background(list, transcript);
            let call = Call::new(session, request.clone(), request.deadline());
            layer.uploads.start(engine, call, list);
            outcome
        })
    }
}

impl Uploads {
    fn start(&self, engine: impl Below, call: Call, list: List) {
        let key = (call.session.id.clone(), list);
        if !self.running.lock().insert(key.clone()) {
            return;
        }
        let (running, ends) = (Arc::clone(&self.running), self.ends.clone());
        tokio::spawn(async move {
            let sent = ends.run_until_cancelled(engine.oneshot(call)).await;
            running.lock().remove(&key);
            if let Some(Err(error)) = sent {
                tracing::debug!(code = error.code(), "the engine has not caught up");
            }
        });
    }
}

/// The list that the call brings, or may be asked for.
fn carried(call: &Call) -> Option<(List, Transcript)> {
    match &call.request {
        EngineRequest::Assemble(request) if request.site != Site::Sync => {
            Some((List::View, request.transcript.clone()))
        }
        EngineRequest::Bootstrap(request) if !request.background => {
            Some((List::Log, request.transcript.clone()))
        }
        EngineRequest::AfterTurn(request) => Some((List::Log, request.transcript.clone())),
        EngineRequest::Compact(_) | EngineRequest::Maintain(_) => {
            call.log.clone().map(|log| (List::Log, log))
        }
        // Uploads of their own, which the next call goes on from; and what carries no list.
        EngineRequest::Assemble(_)
        | EngineRequest::Bootstrap(_)
        | EngineRequest::Ingest(_)
        | EngineRequest::IngestBatch(_)
        | EngineRequest::CommitTurn(_)
        | EngineRequest::PrepareSubagentSpawn(_)
        | EngineRequest::ResolveSubagentSpawn(_)
        | EngineRequest::EndSubagent(_)
        | EngineRequest::Dispose(_) => None,
    }
}

/// The call that does nothing but bring the list.
fn background(list: List, transcript: Transcript) -> EngineRequest {
    match list {
        List::View => Assemble {
            transcript,
            site: Site::Sync,
            ..Assemble::default()
        }
        .into(),
        List::Log => Bootstrap {
            transcript,
            background: true,
            ..Bootstrap::default()
        }
        .into(),
    }
}
