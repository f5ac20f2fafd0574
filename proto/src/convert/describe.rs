//! Describe: who both sides are.

use std::collections::BTreeMap;
use std::time::Duration;

use contextwire_engine::{
    EngineInfo, Hook, HostRequirement, MaintenanceMode, TranscriptSemantics, TranscriptSync,
};

use super::{At, ConvertError, Problem, known, millis};
use crate::handshake::{EngineDescription, EngineState, HostDescription, Limits, Protocol};
use crate::v1;

impl From<Protocol> for v1::ProtocolVersion {
    fn from(Protocol { major, minor }: Protocol) -> Self {
        Self { major, minor }
    }
}

impl From<v1::ProtocolVersion> for Protocol {
    fn from(v1::ProtocolVersion { major, minor }: v1::ProtocolVersion) -> Self {
        Self { major, minor }
    }
}

impl From<HostDescription> for v1::DescribeRequest {
    fn from(host: HostDescription) -> Self {
        let HostDescription {
            protocol,
            id,
            label,
            version,
            instance,
            capabilities,
            runtime_settings_versions,
            limits,
        } = host;
        Self {
            protocol: Some(protocol.into()),
            host: Some(v1::HostIdentity { id, label, version }),
            host_instance: instance,
            host_capabilities: capabilities,
            runtime_settings_versions,
            limits: Some(limits.into()),
        }
    }
}

impl TryFrom<v1::DescribeRequest> for HostDescription {
    type Error = ConvertError;

    fn try_from(wire: v1::DescribeRequest) -> Result<Self, ConvertError> {
        let v1::DescribeRequest {
            protocol,
            host,
            host_instance,
            host_capabilities,
            runtime_settings_versions,
            limits,
        } = wire;
        let v1::HostIdentity { id, label, version } = host.unwrap_or_default();
        Ok(Self {
            protocol: protocol.ok_or(Problem::Missing).at("protocol")?.into(),
            id,
            label,
            version,
            instance: host_instance,
            capabilities: host_capabilities,
            runtime_settings_versions,
            limits: limits.map(Into::into).unwrap_or_default(),
        })
    }
}

impl From<EngineDescription> for v1::DescribeResponse {
    fn from(engine: EngineDescription) -> Self {
        let EngineDescription {
            protocol,
            info,
            instance_id,
            honours_must_understand,
            runtime_settings_versions,
            limits,
            state,
            ttl,
        } = engine;
        Self {
            protocol: Some(protocol.into()),
            engine: Some(info_to_wire(info, instance_id)),
            honours_must_understand,
            runtime_settings_versions,
            limits: Some(limits.into()),
            state: state_to_wire(state).into(),
            ttl_ms: millis(ttl),
        }
    }
}

impl TryFrom<v1::DescribeResponse> for EngineDescription {
    type Error = ConvertError;

    fn try_from(wire: v1::DescribeResponse) -> Result<Self, ConvertError> {
        let v1::DescribeResponse {
            protocol,
            engine,
            honours_must_understand,
            runtime_settings_versions,
            limits,
            state: state_number,
            ttl_ms,
        } = wire;
        let (info, instance_id) = info(engine.ok_or(Problem::Missing).at("engine")?);
        Ok(Self {
            protocol: protocol.ok_or(Problem::Missing).at("protocol")?.into(),
            info,
            instance_id,
            honours_must_understand,
            runtime_settings_versions,
            limits: limits.map(Into::into).unwrap_or_default(),
            state: state(state_number),
            ttl: Duration::from_millis(ttl_ms),
        })
    }
}

fn info_to_wire(info: EngineInfo, instance_id: String) -> v1::EngineInfo {
    let EngineInfo {
        id,
        name,
        version,
        build,
        methods,
        owns_compaction,
        turn_maintenance_mode,
        host_requirements,
        accepted_host_params,
        transcript_semantics,
        transcript_sync,
        max_silence,
        projection_version,
    } = info;
    let requirements = host_requirements
        .into_iter()
        .map(|(operation, requirement)| {
            let HostRequirement {
                capabilities,
                unsupported_message,
            } = requirement;
            v1::HostRequirement {
                operation,
                capabilities,
                unsupported_message,
            }
        });
    v1::EngineInfo {
        id,
        name,
        version,
        build,
        instance_id,
        methods: methods
            .into_iter()
            .map(|hook| hook.name().to_owned())
            .collect(),
        owns_compaction,
        turn_maintenance_mode: maintenance_to_wire(turn_maintenance_mode).into(),
        host_requirements: requirements.collect(),
        accepted_host_params: accepted_host_params.map(|names| v1::HostParams { names }),
        transcript_semantics: transcript_semantics.map(|semantics| {
            let TranscriptSemantics {
                current_turn_fence,
                turn_advancement_idempotency,
            } = semantics;
            v1::TranscriptSemantics {
                current_turn_fence,
                turn_advancement_idempotency,
            }
        }),
        transcript_sync: sync_to_wire(transcript_sync).into(),
        max_silence_ms: max_silence.map(millis),
        projection_version,
    }
}

/// What the engine declares, and its process. Missing names are not judged here: that is the
/// contract validation's business, which names them all at once (R7.3).
fn info(wire: v1::EngineInfo) -> (EngineInfo, String) {
    let v1::EngineInfo {
        id,
        name,
        version,
        build,
        instance_id,
        methods,
        owns_compaction,
        turn_maintenance_mode,
        host_requirements,
        accepted_host_params,
        transcript_semantics,
        transcript_sync,
        max_silence_ms,
        projection_version,
    } = wire;
    let info = EngineInfo {
        id,
        name,
        version,
        build,
        methods: methods
            .iter()
            .filter_map(|name| Hook::from_name(name))
            .collect(),
        owns_compaction,
        turn_maintenance_mode: maintenance(turn_maintenance_mode),
        host_requirements: requirements(host_requirements),
        accepted_host_params: accepted_host_params.map(|v1::HostParams { names }| names),
        transcript_semantics: transcript_semantics.map(|semantics| {
            let v1::TranscriptSemantics {
                current_turn_fence,
                turn_advancement_idempotency,
            } = semantics;
            TranscriptSemantics {
                current_turn_fence,
                turn_advancement_idempotency,
            }
        }),
        transcript_sync: sync(transcript_sync),
        max_silence: max_silence_ms.map(Duration::from_millis),
        projection_version,
    };
    (info, instance_id)
}

fn requirements(wire: Vec<v1::HostRequirement>) -> BTreeMap<String, HostRequirement> {
    let entries = wire.into_iter().map(|requirement| {
        let v1::HostRequirement {
            operation,
            capabilities,
            unsupported_message,
        } = requirement;
        (
            operation,
            HostRequirement {
                capabilities,
                unsupported_message,
            },
        )
    });
    entries.collect()
}

fn state(wire: i32) -> EngineState {
    match known(wire) {
        Some(v1::EngineState::Starting) => EngineState::Starting,
        Some(v1::EngineState::Draining) => EngineState::Draining,
        Some(v1::EngineState::Degraded) => EngineState::Degraded,
        Some(v1::EngineState::Ready | v1::EngineState::Unspecified) | None => EngineState::Ready,
    }
}

fn state_to_wire(state: EngineState) -> v1::EngineState {
    match state {
        EngineState::Starting => v1::EngineState::Starting,
        EngineState::Ready => v1::EngineState::Ready,
        EngineState::Draining => v1::EngineState::Draining,
        EngineState::Degraded => v1::EngineState::Degraded,
    }
}

fn maintenance(wire: i32) -> MaintenanceMode {
    use v1::TurnMaintenanceMode as Wire;
    match known(wire) {
        Some(Wire::Background) => MaintenanceMode::Background,
        Some(Wire::Foreground | Wire::Unspecified) | None => MaintenanceMode::Foreground,
    }
}

fn maintenance_to_wire(mode: MaintenanceMode) -> v1::TurnMaintenanceMode {
    match mode {
        MaintenanceMode::Foreground => v1::TurnMaintenanceMode::Foreground,
        MaintenanceMode::Background => v1::TurnMaintenanceMode::Background,
    }
}

fn sync(wire: i32) -> TranscriptSync {
    match known(wire) {
        Some(v1::TranscriptSync::Delta) => TranscriptSync::Delta,
        Some(v1::TranscriptSync::Full | v1::TranscriptSync::Unspecified) | None => {
            TranscriptSync::Full
        }
    }
}

fn sync_to_wire(sync: TranscriptSync) -> v1::TranscriptSync {
    match sync {
        TranscriptSync::Delta => v1::TranscriptSync::Delta,
        TranscriptSync::Full => v1::TranscriptSync::Full,
    }
}

impl From<Limits> for v1::Limits {
    fn from(limits: Limits) -> Self {
        let Limits {
            max_message_bytes,
            max_metadata_bytes,
            max_json_depth,
            max_open_host_calls,
            max_mirror_states,
            max_mirror_bytes,
            max_streams,
            max_concurrent_hooks,
            max_tenant_bytes,
        } = limits;
        Self {
            max_message_bytes,
            max_metadata_bytes,
            max_json_depth,
            max_open_host_calls,
            max_mirror_states,
            max_mirror_bytes,
            max_streams,
            max_concurrent_hooks,
            max_tenant_bytes,
        }
    }
}

impl From<v1::Limits> for Limits {
    fn from(wire: v1::Limits) -> Self {
        let v1::Limits {
            max_message_bytes,
            max_metadata_bytes,
            max_json_depth,
            max_open_host_calls,
            max_mirror_states,
            max_mirror_bytes,
            max_streams,
            max_concurrent_hooks,
            max_tenant_bytes,
        } = wire;
        Self {
            max_message_bytes,
            max_metadata_bytes,
            max_json_depth,
            max_open_host_calls,
            max_mirror_states,
            max_mirror_bytes,
            max_streams,
            max_concurrent_hooks,
            max_tenant_bytes,
        }
    }
}
