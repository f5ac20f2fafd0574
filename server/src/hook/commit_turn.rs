//! `CommitTurn`: a closed turn, stored atomically.

use contextwire_engine::{AnyEngine, ContextEngine, EngineError, Hook, HookContext};
use contextwire_proto::convert::{CommitTurnRequest, CommitTurnResponse};
use contextwire_proto::{CallContext, v1};

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
