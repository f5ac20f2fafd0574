//! Any description of a host or an engine.

use std::time::Duration;

use contextwire_engine::{
    EngineInfo, Hook, HostRequirement, MaintenanceMode, TranscriptSemantics, TranscriptSync,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{maybe, text};
use crate::handshake::{EngineDescription, EngineState, HostDescription, Limits, Protocol};

pub(super) fn limits() -> impl Strategy<Value = Limits> {
    (vec(of(any::<u64>()), 4), vec(of(any::<u32>()), 5)).prop_map(|(long, short)| Limits {
        max_message_bytes: long[0],
        max_metadata_bytes: long[1],
        max_json_depth: short[0],
        max_open_host_calls: short[1],
        max_mirror_states: short[2],
        max_mirror_bytes: long[2],
        max_streams: short[3],
        max_concurrent_hooks: short[4],
        max_tenant_bytes: long[3],
    })
}

pub(super) fn info() -> impl Strategy<Value = EngineInfo> {
    let requirement =
        (vec(text(), 0..3), maybe()).prop_map(|(capabilities, unsupported_message)| {
            HostRequirement {
                capabilities,
                unsupported_message,
            }
        });
    let semantics =
        (maybe(), maybe()).prop_map(|(current_turn_fence, turn_advancement_idempotency)| {
            TranscriptSemantics {
                current_turn_fence,
                turn_advancement_idempotency,
            }
        });
    let modes = (
        select(vec![
            MaintenanceMode::Foreground,
            MaintenanceMode::Background,
        ]),
        select(vec![TranscriptSync::Delta, TranscriptSync::Full]),
        any::<bool>(),
        vec(select(Hook::ALL.to_vec()), 0..4),
    );
    let silence = of((0u64..u64::MAX).prop_map(Duration::from_millis));
    let names = (text(), text(), text(), text(), maybe());
    let params = of(vec(text(), 0..3));
    (
        names,
        modes,
        btree_map(text(), requirement, 0..3),
        params,
        of(semantics),
        silence,
    )
        .prop_map(
            |(
                names,
                modes,
                host_requirements,
                accepted_host_params,
                transcript_semantics,
                silence,
            )| {
                EngineInfo {
                    id: names.0,
                    name: names.1,
                    version: names.2,
                    build: names.3,
                    methods: modes.3,
                    owns_compaction: modes.2,
                    turn_maintenance_mode: modes.0,
                    host_requirements,
                    accepted_host_params,
                    transcript_semantics,
                    transcript_sync: modes.1,
                    max_silence: silence,
                    projection_version: names.4,
                }
            },
        )
}

pub(super) fn engine() -> impl Strategy<Value = EngineDescription> {
    let state = select(vec![
        EngineState::Starting,
        EngineState::Ready,
        EngineState::Draining,
        EngineState::Degraded,
    ]);
    let protocol =
        (any::<u32>(), any::<u32>()).prop_map(|(major, minor)| Protocol { major, minor });
    let ttl = (0u64..u64::MAX).prop_map(Duration::from_millis);
    (
        protocol,
        info(),
        text(),
        any::<bool>(),
        vec(any::<u32>(), 0..3),
        limits(),
        state,
        ttl,
    )
        .prop_map(
            |(protocol, info, instance_id, honours, versions, limits, state, ttl)| {
                EngineDescription {
                    protocol,
                    info,
                    instance_id,
                    honours_must_understand: honours,
                    runtime_settings_versions: versions,
                    limits,
                    state,
                    ttl,
                }
            },
        )
}

pub(super) fn host() -> impl Strategy<Value = HostDescription> {
    let texts = (text(), text(), text(), text());
    (
        any::<(u32, u32)>(),
        texts,
        vec(text(), 0..3),
        vec(any::<u32>(), 0..3),
        limits(),
    )
        .prop_map(
            |((major, minor), texts, capabilities, runtime_settings_versions, limits)| {
                HostDescription {
                    protocol: Protocol { major, minor },
                    id: texts.0,
                    label: texts.1,
                    version: texts.2,
                    instance: texts.3,
                    capabilities,
                    runtime_settings_versions,
                    limits,
                }
            },
        )
}
