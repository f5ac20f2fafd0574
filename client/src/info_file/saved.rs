//! A description as JSON. What holds for one connection only is not kept: limits and state.

use std::collections::BTreeMap;
use std::time::Duration;

use contextwire_engine::{
    EngineInfo, Hook, HostRequirement, MaintenanceMode, TranscriptSemantics, TranscriptSync,
};
use contextwire_proto::handshake::{EngineDescription, Protocol};
use serde::{Deserialize, Serialize};

/// Version of the file; another one is not read.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    version: u32,
    protocol: (u32, u32),
    honours_must_understand: bool,
    runtime_settings_versions: Vec<u32>,
    engine: SavedEngine,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedEngine {
    id: String,
    name: String,
    version: String,
    build: String,
    methods: Vec<String>,
    owns_compaction: bool,
    maintains_in_background: bool,
    host_requirements: BTreeMap<String, (Vec<String>, Option<String>)>,
    accepted_host_params: Option<Vec<String>>,
    /// Fence of the current turn, promise of the advancement.
    transcript_semantics: Option<(Option<String>, Option<String>)>,
    keeps_mirrors: bool,
    max_silence_ms: Option<u64>,
    projection_version: Option<String>,
}

impl Saved {
    pub(super) fn of(engine: &EngineDescription) -> Self {
        Self {
            version: VERSION,
            protocol: (engine.protocol.major, engine.protocol.minor),
            honours_must_understand: engine.honours_must_understand,
            runtime_settings_versions: engine.runtime_settings_versions.clone(),
            engine: SavedEngine::of(engine.info.clone()),
        }
    }

    /// The description; nothing where the file is of another version or breaks the contract.
    pub(super) fn into_description(self) -> Option<EngineDescription> {
        let (major, minor) = self.protocol;
        let described = EngineDescription {
            protocol: Protocol { major, minor },
            info: self.engine.into_info(),
            honours_must_understand: self.honours_must_understand,
            runtime_settings_versions: self.runtime_settings_versions,
            ..EngineDescription::default()
        };
        let is_good = self.version == VERSION && described.info.problems().is_empty();
        is_good.then_some(described)
    }
}

impl SavedEngine {
    fn of(info: EngineInfo) -> Self {
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
        let requirement = |it: HostRequirement| (it.capabilities, it.unsupported_message);
        let requirements = host_requirements.into_iter();
        let semantics =
            |it: TranscriptSemantics| (it.current_turn_fence, it.turn_advancement_idempotency);
        Self {
            id,
            name,
            version,
            build,
            methods: methods.iter().map(|hook| hook.name().to_owned()).collect(),
            owns_compaction,
            maintains_in_background: turn_maintenance_mode == MaintenanceMode::Background,
            host_requirements: requirements
                .map(|(operation, it)| (operation, requirement(it)))
                .collect(),
            accepted_host_params,
            transcript_semantics: transcript_semantics.map(semantics),
            keeps_mirrors: transcript_sync == TranscriptSync::Delta,
            max_silence_ms: max_silence.and_then(|it| u64::try_from(it.as_millis()).ok()),
            projection_version,
        }
    }

    fn into_info(self) -> EngineInfo {
        let requirements = self.host_requirements.into_iter();
        let requirement = |(operation, (capabilities, unsupported_message))| {
            let requirement = HostRequirement {
                capabilities,
                unsupported_message,
            };
            (operation, requirement)
        };
        let semantics = |(current_turn_fence, turn_advancement_idempotency)| TranscriptSemantics {
            current_turn_fence,
            turn_advancement_idempotency,
        };
        let methods = self.methods.iter();
        EngineInfo {
            id: self.id,
            name: self.name,
            version: self.version,
            build: self.build,
            methods: methods.filter_map(|name| Hook::from_name(name)).collect(),
            owns_compaction: self.owns_compaction,
            turn_maintenance_mode: if self.maintains_in_background {
                MaintenanceMode::Background
            } else {
                MaintenanceMode::Foreground
            },
            host_requirements: requirements.map(requirement).collect(),
            accepted_host_params: self.accepted_host_params,
            transcript_semantics: self.transcript_semantics.map(semantics),
            transcript_sync: if self.keeps_mirrors {
                TranscriptSync::Delta
            } else {
                TranscriptSync::Full
            },
            max_silence: self.max_silence_ms.map(Duration::from_millis),
            projection_version: self.projection_version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_12_every_declaration_survives_the_file() {
        let requirement = HostRequirement {
            capabilities: vec!["compact".to_owned()],
            unsupported_message: Some("use another host".to_owned()),
        };
        let info = EngineInfo {
            build: "b7".to_owned(),
            methods: Hook::ALL.to_vec(),
            owns_compaction: true,
            turn_maintenance_mode: MaintenanceMode::Background,
            host_requirements: [("agent-run".to_owned(), requirement)].into(),
            accepted_host_params: Some(vec!["prompt".to_owned()]),
            transcript_semantics: Some(TranscriptSemantics {
                current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
                turn_advancement_idempotency: None,
            }),
            transcript_sync: TranscriptSync::Full,
            max_silence: Some(Duration::from_millis(1500)),
            projection_version: Some("p1".to_owned()),
            ..EngineInfo::new("e", "E", "1")
        };
        let engine = EngineDescription {
            protocol: Protocol { major: 1, minor: 2 },
            info,
            honours_must_understand: true,
            runtime_settings_versions: vec![1],
            ..EngineDescription::default()
        };
        let json = serde_json::to_string(&Saved::of(&engine)).unwrap();
        let read: Saved = serde_json::from_str(&json).unwrap();
        assert_eq!(read.into_description(), Some(engine.clone()));
        let later = Saved {
            version: VERSION + 1,
            ..Saved::of(&engine)
        };
        assert_eq!(later.into_description(), None);
    }
}
