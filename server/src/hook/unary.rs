//! The life of a unary hook: admit, convert, work under a budget, answer.

use std::future::Future;

use contextwire_engine::{AnyEngine, EngineError, Hook, HookContext};
use contextwire_proto::{CallContext, ConvertError};
use tokio::time::timeout_at;
use tonic::{Request, Response, Status};

use crate::shared::Shared;
use crate::{budget, engine_call, refuse};

/// One unary hook: its types on the wire and what it does.
pub(crate) trait UnaryHook {
    /// Which one.
    const HOOK: Hook;
    /// The request on the wire.
    type RequestWire;
    /// The request.
    type Request: TryFrom<Self::RequestWire, Error = ConvertError>;
    /// The answer on the wire.
    type ResponseWire: From<Self::Response>;
    /// The answer.
    type Response;

    /// The call's own description.
    fn call(request: &Self::Request) -> &CallContext;

    /// Refuses what converts and still must not reach an engine.
    fn check(_: &Self::Request) -> Result<(), Status> {
        Ok(())
    }

    /// The hook's work.
    fn run(
        engine: &AnyEngine,
        cx: &HookContext,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Response, EngineError>> + Send;
}

/// Answers a unary hook.
pub(crate) async fn answer<H: UnaryHook>(
    shared: &Shared,
    request: Request<H::RequestWire>,
) -> Result<Response<H::ResponseWire>, Status> {
    let permit = shared.drain.admit().ok_or_else(refuse::draining)?;
    let header = budget::header_deadline(request.metadata())?;
    let request = H::Request::try_from(request.into_inner()).map_err(ConvertError::into_status)?;
    H::check(&request)?;
    let mut cx = H::call(&request).hook_context(H::HOOK.profile().deadline);
    budget::clamp(&mut cx, header);
    let work = engine_call::unary(H::HOOK, H::run(&shared.engine, &cx, request));
    let response = tokio::select! {
        outcome = timeout_at(cx.deadline, work) => {
            outcome.map_err(|_| refuse::deadline(H::HOOK))??
        }
        () = permit.stopping() => return Err(refuse::draining()),
    };
    Ok(Response::new(response.into()))
}
