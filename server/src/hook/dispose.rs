//! Dispose: a host goes away.

use contextwire_engine::{AnyEngine, ContextEngine, EngineError, Hook, HookContext};
use contextwire_proto::convert::{DisposeRequest, DisposeResponse};
use contextwire_proto::{CallContext, v1};

use super::UnaryHook;

#[derive(Debug)]
pub(crate) struct DisposeHook;

impl UnaryHook for DisposeHook {
    const HOOK: Hook = Hook::Dispose;
    type RequestWire = v1::DisposeRequest;
    type Request = DisposeRequest;
    type ResponseWire = v1::DisposeResponse;
    type Response = DisposeResponse;

    fn call(request: &DisposeRequest) -> &CallContext {
        &request.call
    }

    async fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        DisposeRequest { call: _, request }: DisposeRequest,
    ) -> Result<DisposeResponse, EngineError> {
        engine.dispose(cx, request).await?;
        let reply = cx.take_reply();
        Ok(DisposeResponse { reply })
    }
}
