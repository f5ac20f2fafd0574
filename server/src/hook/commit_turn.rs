//! `CommitTurn`: a closed turn, stored atomically.

use contextwire_engine::{AnyEngine, CommitTurn, ContextEngine, EngineError, Hook, HookContext};
use contextwire_proto::convert::{CommitTurnRequest, CommitTurnResponse};
use contextwire_proto::{CallContext, Reason, Refusal, v1};
use tonic::Status;

use super::UnaryHook;

#[derive(Debug)]
pub(crate) struct CommitTurnHook;

impl UnaryHook for CommitTurnHook {
    const HOOK: Hook = Hook::CommitTurn;
    type RequestWire = v1::CommitTurnRequest;
    type Request = CommitTurnRequest;
    type ResponseWire = v1::CommitTurnResponse;
    type Response = CommitTurnResponse;

    fn call(request: &CommitTurnRequest) -> &CallContext {
        &request.call
    }

    fn check(CommitTurnRequest { request, .. }: &CommitTurnRequest) -> Result<(), Status> {
        closed_range(request).map_err(|(field, problem)| {
            Refusal::new(Reason::InvalidRequest, format!("{field} {problem}"))
                .with("field", field)
                .violation(field, problem)
                .into_status()
        })
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        CommitTurnRequest { call: _, request }: CommitTurnRequest,
    ) -> Result<CommitTurnResponse, EngineError> {
        let committed = engine.commit_turn(cx, request).await?;
        let reply = cx.take_reply();
        Ok(CommitTurnResponse { reply, committed })
    }
}

/// A turn is its admission and what followed: stored under another's name, it could not be told from
/// a turn that was lost.
fn closed_range(turn: &CommitTurn) -> Result<(), (&'static str, &'static str)> {
    let Some(first) = turn.messages.first() else {
        return Err(("messages", "is empty"));
    };
    let admission = turn.admission.anchor.entry_id.as_str();
    // Hosts without ids have none in the messages (R2.3).
    let first = first.entry_id().as_str();
    if !first.is_empty() && !admission.is_empty() && first != admission {
        return Err((
            "admission.anchor.entry_id",
            "is not the first of the messages",
        ));
    }
    Ok(())
}
