//! Ingest: one message for the engine's log.

use contextwire_engine::{ContextEngine, Hook};
use contextwire_proto::convert::{IngestRequest, IngestResponse};
use contextwire_proto::{ConvertError, Reason, Refusal, v1};
use tokio::time::timeout_at;
use tonic::{Request, Response, Status};

use crate::shared::Shared;
use crate::{budget, engine_call, refuse};

pub(crate) async fn ingest(
    shared: &Shared,
    request: Request<v1::IngestRequest>,
) -> Result<Response<v1::IngestResponse>, Status> {
    let permit = shared.drain.admit().ok_or_else(refuse::draining)?;
    let header = budget::header_deadline(request.metadata())?;
    let IngestRequest { call, request } = request
        .into_inner()
        .try_into()
        .map_err(ConvertError::into_status)?;
    if let Some(omitted) = request.message.omitted() {
        return Err(too_large(omitted.bytes));
    }
    let mut cx = call.hook_context(Hook::Ingest.profile().deadline);
    budget::clamp(&mut cx, header);
    let deadline = cx.deadline;
    let work = engine_call::unary(Hook::Ingest, shared.engine.ingest(&cx, request));
    let ingested = tokio::select! {
        outcome = timeout_at(deadline, work) => {
            outcome.map_err(|_| refuse::deadline(Hook::Ingest))??
        }
        () = permit.stopping() => return Err(refuse::draining()),
    };
    Ok(Response::new(
        IngestResponse {
            ingested,
            ..IngestResponse::default()
        }
        .into(),
    ))
}

/// Only a stub of the message travelled: there is nothing to store (R2.5).
fn too_large(bytes: u64) -> Status {
    Refusal::new(
        Reason::MessageTooLarge,
        format!("a message of {bytes} bytes cannot be ingested"),
    )
    .with("bytes", &bytes)
    .into_status()
}
