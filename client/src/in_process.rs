//! The leaf in this process: calls of an engine that needs no wire.

use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use contextwire_engine::{
    AnyEngine, ContextEngine, EngineError, ErrorKind, Hook, HookContext, HostLog, Order, Transcript,
};
use contextwire_proto::Reason;
use futures_util::FutureExt;
use tower::Service;

use crate::call::{Answer, Call, Served, ServedBy};
use crate::error::CallError;
use crate::layer::{Outcome, Pending};
use crate::neutral;
use crate::request::{EngineReply, EngineRequest};

/// What a host does without another engine; `None` without the feature `local`.
#[cfg_attr(
    feature = "local",
    expect(
        clippy::unnecessary_wraps,
        reason = "without the feature there is no engine here"
    )
)]
pub(crate) fn built_in() -> Option<AnyEngine> {
    #[cfg(feature = "local")]
    return Some(AnyEngine::new(contextwire_legacy::LegacyEngine::default()));
    #[cfg(not(feature = "local"))]
    return None;
}

/// Calls an engine of this process. A method that it lacks is absent, a panic is its failure.
#[derive(Clone, Debug)]
pub(crate) struct InProcess(pub(crate) AnyEngine);

impl Service<Call> for InProcess {
    type Response = Answer;
    type Error = CallError;
    type Future = Pending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Pending {
        let engine = self.0.clone();
        Box::pin(async move { serve(&engine, call).await })
    }
}

async fn serve(engine: &AnyEngine, call: Call) -> Outcome {
    let hook = call.hook();
    if !engine.info().methods.contains(&hook) {
        return neutral::absent(&call);
    }
    let cx = context(&call);
    let traffic = call.traffic;
    let answer = AssertUnwindSafe(answer(engine, &cx, call.request));
    let result = match answer.catch_unwind().await {
        Ok(answer) => answer.map_err(|error| failed(hook, &error))?,
        Err(_) => return Err(refused(Reason::EngineFailure, &format!("{hook} panicked"))),
    };
    Ok(Served {
        result,
        by: ServedBy::InProcess,
        reason: None,
        said: cx.take_reply(),
        traffic,
    })
}

/// What accompanies the hook.
fn context(call: &Call) -> HookContext {
    let mut cx = HookContext::of_hook(call.hook_id, call.session.clone(), call.share());
    cx.attempt = call.attempt;
    cx.scope = call.scope.clone();
    cx.operation.clone_from(&call.operation);
    cx.log_head = call.log.as_ref().map(Transcript::state);
    cx.order = call.order;
    cx.abandoned_hooks.clone_from(&call.abandoned_hooks);
    cx.host = call.host.clone();
    cx.log = call.log.clone().map(HostLog::new).unwrap_or_default();
    cx
}

async fn answer(
    engine: &AnyEngine,
    cx: &HookContext,
    request: EngineRequest,
) -> Result<EngineReply, EngineError> {
    use EngineReply as R;
    use EngineRequest as Q;
    Ok(match request {
        Q::Bootstrap(request) => R::Bootstrapped(engine.bootstrap(cx, request).await?),
        Q::Ingest(request) => R::Ingested(engine.ingest(cx, request).await?),
        Q::IngestBatch(request) => R::IngestedBatch(engine.ingest_batch(cx, request).await?),
        Q::Assemble(request) => R::Assembled(engine.assemble(cx, request).await?),
        Q::Compact(request) => R::Compacted(engine.compact(cx, request).await?),
        Q::AfterTurn(request) => R::TurnNoted(engine.after_turn(cx, request).await?),
        Q::CommitTurn(request) => R::TurnCommitted(engine.commit_turn(cx, *request).await?),
        Q::Maintain(request) => R::Maintained(engine.maintain(cx, request).await?),
        Q::PrepareSubagentSpawn(request) => {
            R::SpawnPrepared(engine.prepare_subagent_spawn(cx, request).await?)
        }
        Q::ResolveSubagentSpawn(request) => {
            R::SpawnResolved(engine.resolve_subagent_spawn(cx, request).await?)
        }
        Q::EndSubagent(request) => R::SubagentEnded(engine.end_subagent(cx, request).await?),
        Q::Dispose(request) => R::Disposed(engine.dispose(cx, request).await?),
    })
}

/// The failure that the same error would be across a wire.
fn failed(hook: Hook, error: &EngineError) -> CallError {
    let reason = match error.kind() {
        ErrorKind::Unsupported => return CallError::Absent { hook },
        ErrorKind::GenerationConflict { recorded } => {
            let recorded = Order {
                host_epoch: recorded.host_epoch,
                session_seq: Some(recorded.session_seq),
            };
            return CallError::Overtaken { recorded };
        }
        ErrorKind::Transient => Reason::DependencyUnavailable,
        ErrorKind::Rejected => Reason::InvalidRequest,
        ErrorKind::Cancelled => Reason::Cancelled,
        ErrorKind::IdempotencyConflict => Reason::IdempotencyConflict,
        ErrorKind::InProgress { .. } => Reason::InProgress,
        ErrorKind::HookClosed => Reason::HookClosed,
        ErrorKind::PreparationExpired => Reason::PreparationExpired,
        ErrorKind::Failure | _ => Reason::EngineFailure,
    };
    refused(reason, error.message())
}

fn refused(reason: Reason, message: &str) -> CallError {
    CallError::Refused {
        reason,
        message: message.to_owned(),
        retry_after: None,
        violations: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::testing::{Script, ScriptedEngine};
    use contextwire_engine::{Assemble, Maintain};
    use tower::ServiceExt;

    use super::*;
    use crate::script::call;

    async fn outcomes(script: Vec<Script>) -> Vec<Result<ServedBy, &'static str>> {
        let engine = InProcess(AnyEngine::new(ScriptedEngine::new(script)));
        let mut outcomes = Vec::new();
        for request in [
            Assemble::default().into(),
            EngineRequest::from(Maintain::default()),
        ] {
            let outcome = engine.clone().oneshot(call(request)).await;
            outcomes.push(outcome.map(|it| it.by).map_err(|error| error.code()));
        }
        outcomes
    }

    #[tokio::test]
    async fn an_engine_of_this_process_fails_in_the_words_of_the_wire() {
        let busy = EngineError::transient("the disk is busy");
        let rows = [
            (Script::Keep, Ok(ServedBy::InProcess)),
            (Script::Panic, Err("ENGINE_FAILURE")),
            (Script::Fail(busy), Err("DEPENDENCY_UNAVAILABLE")),
        ];
        for (script, expected) in rows {
            let absent = Ok(ServedBy::InProcess);
            assert_eq!(outcomes(vec![script]).await, [expected, absent]);
        }
    }

    #[tokio::test]
    async fn a_hook_here_has_what_it_has_across_the_wire() {
        let mut call = call(Assemble::default());
        call.operation = Some("agent-run".to_owned());
        call.log = Some(Transcript::new());
        let cx = context(&call);
        assert_eq!(cx.hook_id, call.hook_id);
        assert_eq!(cx.operation.as_deref(), Some("agent-run"));
        assert_eq!(cx.log.fetch().await, Some(Transcript::new()));
        assert!(cx.remaining() > Duration::from_secs(1));
    }
}
