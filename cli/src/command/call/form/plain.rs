//! Forms without messages.

use std::time::Duration;

use contextwire_client::EngineRequest;
use contextwire_engine as engine;
use contextwire_engine::{
    CompactionTarget, ContextMode, MaintainReason, SpawnOutcome, TokenBudget,
};
use serde::Deserialize;

use super::{Form, debug_session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Compact {
    #[serde(default = "debug_session")]
    session_id: String,
    token_budget: Option<u64>,
    #[serde(default)]
    force: bool,
    current_token_count: Option<u64>,
    #[serde(default)]
    target: Target,
    custom_instructions: Option<String>,
}

impl Form<'_> for Compact {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::Compact {
            token_budget: self.token_budget.and_then(TokenBudget::new),
            force: self.force,
            current_token_count: self.current_token_count,
            target: match self.target {
                Target::Budget => CompactionTarget::Budget,
                Target::Threshold => CompactionTarget::Threshold,
            },
            custom_instructions: self.custom_instructions,
            ..engine::Compact::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    #[default]
    Budget,
    Threshold,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Maintain {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(default)]
    reason: Reason,
    #[serde(default)]
    background: bool,
}

impl Form<'_> for Maintain {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::Maintain {
            reason: match self.reason {
                Reason::Bootstrap => MaintainReason::Bootstrap,
                Reason::Turn => MaintainReason::Turn,
                Reason::Compaction => MaintainReason::Compaction,
            },
            background: self.background,
            ..engine::Maintain::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    Bootstrap,
    #[default]
    Turn,
    Compaction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct PrepareSubagentSpawn {
    #[serde(default = "debug_session")]
    session_id: String,
    spawn_id: String,
    parent_session_key: String,
    child_session_key: String,
    child_session_id: Option<String>,
    context_mode: Option<Mode>,
    ttl_ms: Option<u64>,
}

impl Form<'_> for PrepareSubagentSpawn {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::PrepareSubagentSpawn {
            spawn_id: self.spawn_id,
            parent_session_key: self.parent_session_key,
            child_session_key: self.child_session_key,
            context_mode: self.context_mode.map(|mode| match mode {
                Mode::Isolated => ContextMode::Isolated,
                Mode::Fork => ContextMode::Fork,
            }),
            parent_session_id: Some(self.session_id.clone()),
            child_session_id: self.child_session_id,
            ttl: self.ttl_ms.map(Duration::from_millis),
            ..engine::PrepareSubagentSpawn::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Isolated,
    Fork,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ResolveSubagentSpawn {
    #[serde(default = "debug_session")]
    session_id: String,
    spawn_id: String,
    outcome: Outcome,
}

impl Form<'_> for ResolveSubagentSpawn {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::ResolveSubagentSpawn {
            spawn_id: self.spawn_id,
            outcome: match self.outcome {
                Outcome::Started => SpawnOutcome::Started,
                Outcome::RolledBack => SpawnOutcome::RolledBack,
            },
        };
        (self.session_id, request.into())
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Started,
    RolledBack,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct EndSubagent {
    #[serde(default = "debug_session")]
    session_id: String,
    spawn_id: Option<String>,
    child_session_key: String,
    reason: String,
}

impl Form<'_> for EndSubagent {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::EndSubagent {
            spawn_id: self.spawn_id,
            child_session_key: self.child_session_key,
            reason: self.reason,
        };
        (self.session_id, request.into())
    }
}

/// No session: the call is about the host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Dispose {
    host_instance: String,
}

impl Form<'_> for Dispose {
    fn request(self) -> (String, EngineRequest) {
        let host_instance = self.host_instance;
        let request = engine::Dispose {
            host_instance: host_instance.clone(),
        };
        (host_instance, request.into())
    }
}
