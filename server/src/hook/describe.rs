//! Describe: what the engine is; no session, no side effects.

use std::time::Duration;

use contextwire_engine::{ContextEngine, EngineInfo};
use contextwire_proto::handshake::{EngineDescription, EngineState, HostDescription, Limits};
use contextwire_proto::{ConvertError, Reason, Refusal, limits, v1};
use tonic::{Request, Response, Status};

use crate::shared::Shared;

/// How long hosts may rely on an answer.
const TTL: Duration = Duration::from_mins(1);

pub(crate) fn describe(
    shared: &Shared,
    request: Request<v1::DescribeRequest>,
) -> Result<Response<v1::DescribeResponse>, Status> {
    let host: HostDescription = request
        .into_inner()
        .try_into()
        .map_err(ConvertError::into_status)?;
    if host.protocol.major != limits::PROTOCOL.major {
        return Err(unsupported(host.protocol.major));
    }
    let info = shared.engine.info();
    let state = if shared.drain.is_draining() {
        EngineState::Draining
    } else {
        EngineState::Ready
    };
    let described = EngineDescription {
        protocol: limits::PROTOCOL,
        info: EngineInfo {
            build: if info.build.is_empty() {
                shared.options.build.clone()
            } else {
                info.build
            },
            ..info
        },
        instance_id: shared.instance_id.clone(),
        honours_must_understand: true,
        runtime_settings_versions: limits::RUNTIME_SETTINGS_VERSIONS.to_vec(),
        limits: Limits {
            max_message_bytes: Some(shared.options.max_message_bytes as u64),
            max_mirror_bytes: Some(shared.options.mirror_bytes),
            max_streams: Some(shared.options.max_streams),
            max_concurrent_hooks: Some(shared.options.max_hooks),
            // Whoever may connect is the one tenant that there is.
            max_tenant_bytes: Some(shared.options.max_bytes_in_flight),
            ..Limits::default()
        },
        state,
        ttl: TTL,
    };
    Ok(Response::new(described.into()))
}

fn unsupported(theirs: u32) -> Status {
    let ours = limits::PROTOCOL;
    let supported = format!("{}.0 to {}.{}", ours.major, ours.major, ours.minor);
    Refusal::new(
        Reason::VersionUnsupported,
        format!("the host speaks protocol {theirs}, this engine speaks {supported}"),
    )
    .with("requested", &theirs)
    .with("supported", &supported)
    .with("major", &ours.major)
    .with("minor", &ours.minor)
    .into_status()
}
