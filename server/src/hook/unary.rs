//! The life of a unary hook: convert, work under a budget, answer.

use std::future::Future;

use contextwire_engine::{AnyEngine, EngineError, Hook, HookContext};
use contextwire_proto::{CallContext, ConvertError, Reason, reason_of};
use tokio::time::timeout_at;
use tonic::{Request, Response, Status};

use crate::admit::{self, Admitted};
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
    mut request: Request<H::RequestWire>,
) -> Result<Response<H::ResponseWire>, Status> {
    let _room = Admitted::of(&mut request)?;
    let header = budget::header_deadline(request.metadata())?;
    let request = H::Request::try_from(request.into_inner()).map_err(ConvertError::into_status)?;
    H::check(&request)?;
    let call = H::call(&request);
    let _session = admit::enter_session(shared, &call.session.id)?;
    let mut cx = call.hook_context(H::HOOK.profile().deadline);
    budget::clamp(&mut cx, header);
    // Boxed, or each wrapper around it would hold it twice.
    let work = Box::pin(H::run(&shared.engine, &cx, request));
    let work = engine_call::unary(H::HOOK, shared.pace.run(work));
    let outcome = timeout_at(cx.deadline, work).await;
    let response = match outcome {
        Ok(Ok(response)) => response,
        // Nobody can tell a unary hook to stop: an engine that did so had run out of time.
        Ok(Err(status)) if reason_of(&status) == Some(Reason::Cancelled) => {
            return Err(refuse::deadline(H::HOOK));
        }
        Ok(Err(status)) => return Err(status),
        Err(_) => return Err(refuse::deadline(H::HOOK)),
    };
    Ok(Response::new(response.into()))
}
