//! Subagents: what a child inherits, whether it started, and its end.

use std::time::Duration;

use contextwire_engine::{
    ContextMode, EndSubagent, PrepareSubagentSpawn, Reply, ResolveSubagentSpawn, SpawnOutcome,
    SpawnPrepared,
};

use super::call::reply_to_wire;
use super::{At, ConvertError, Problem, identifier, known, millis, optional, required};
use crate::call::CallContext;
use crate::v1;

/// A `PrepareSubagentSpawn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareSubagentSpawnRequest {
    /// The call, of the parent's session.
    pub call: CallContext,
    /// The request; neither the spawn's id nor the child's key is empty.
    pub request: PrepareSubagentSpawn,
}

/// The answer to a `PrepareSubagentSpawn`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrepareSubagentSpawnResponse {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub prepared: SpawnPrepared,
}

/// A `ResolveSubagentSpawn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveSubagentSpawnRequest {
    /// The call, of the parent's session.
    pub call: CallContext,
    /// The request; the spawn's id is never empty.
    pub request: ResolveSubagentSpawn,
}

/// The answer to a `ResolveSubagentSpawn`: done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolveSubagentSpawnResponse {
    /// Beside the answer.
    pub reply: Reply,
}

/// An `EndSubagent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndSubagentRequest {
    /// The call, of the child's session.
    pub call: CallContext,
    /// The request; the child's key is never empty, nor is a spawn's id that is there.
    pub request: EndSubagent,
}

/// The answer to an `EndSubagent`: done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndSubagentResponse {
    /// Beside the answer.
    pub reply: Reply,
}

impl From<PrepareSubagentSpawnRequest> for v1::PrepareSubagentSpawnRequest {
    fn from(PrepareSubagentSpawnRequest { call, request }: PrepareSubagentSpawnRequest) -> Self {
        let PrepareSubagentSpawn {
            spawn_id,
            parent_session_key,
            child_session_key,
            context_mode,
            parent_session_id,
            parent_locator,
            child_session_id,
            child_locator,
            ttl,
        } = request;
        Self {
            call: Some(call.into()),
            spawn_id,
            parent_session_key,
            child_session_key,
            context_mode: context_mode.map(|mode| mode_to_wire(mode).into()),
            parent_session_id,
            parent_locator,
            child_session_id,
            child_locator,
            // Zero on the wire says that there is none.
            ttl_ms: ttl.map(|ttl| millis(ttl).max(1)),
        }
    }
}

impl TryFrom<v1::PrepareSubagentSpawnRequest> for PrepareSubagentSpawnRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::PrepareSubagentSpawnRequest) -> Result<Self, ConvertError> {
        let v1::PrepareSubagentSpawnRequest {
            call,
            spawn_id,
            parent_session_key,
            child_session_key,
            context_mode,
            parent_session_id,
            parent_locator,
            child_session_id,
            child_locator,
            ttl_ms,
        } = wire;
        let request = PrepareSubagentSpawn {
            spawn_id: identifier(spawn_id).at("spawn_id")?,
            parent_session_key,
            child_session_key: identifier(child_session_key).at("child_session_key")?,
            context_mode: context_mode.and_then(mode),
            parent_session_id,
            parent_locator,
            child_session_id,
            child_locator,
            ttl: ttl_ms.filter(|ms| *ms > 0).map(Duration::from_millis),
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

fn mode(wire: i32) -> Option<ContextMode> {
    match known(wire) {
        Some(v1::ContextMode::Unspecified) => None,
        Some(v1::ContextMode::Fork) => Some(ContextMode::Fork),
        Some(v1::ContextMode::Isolated) | None => Some(ContextMode::Isolated),
    }
}

fn mode_to_wire(mode: ContextMode) -> v1::ContextMode {
    match mode {
        ContextMode::Isolated => v1::ContextMode::Isolated,
        ContextMode::Fork => v1::ContextMode::Fork,
    }
}

impl From<PrepareSubagentSpawnResponse> for v1::PrepareSubagentSpawnResponse {
    fn from(
        PrepareSubagentSpawnResponse { reply, prepared }: PrepareSubagentSpawnResponse,
    ) -> Self {
        let SpawnPrepared {
            prepared,
            system_prompt_addition,
        } = prepared;
        Self {
            reply: reply_to_wire(reply),
            prepared,
            system_prompt_addition,
        }
    }
}

impl TryFrom<v1::PrepareSubagentSpawnResponse> for PrepareSubagentSpawnResponse {
    type Error = ConvertError;

    fn try_from(wire: v1::PrepareSubagentSpawnResponse) -> Result<Self, ConvertError> {
        let v1::PrepareSubagentSpawnResponse {
            reply,
            prepared,
            system_prompt_addition,
        } = wire;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            prepared: SpawnPrepared {
                prepared,
                system_prompt_addition,
            },
        })
    }
}

impl From<ResolveSubagentSpawnRequest> for v1::ResolveSubagentSpawnRequest {
    fn from(ResolveSubagentSpawnRequest { call, request }: ResolveSubagentSpawnRequest) -> Self {
        let ResolveSubagentSpawn { spawn_id, outcome } = request;
        let outcome = match outcome {
            SpawnOutcome::Started => v1::SpawnOutcome::Started,
            SpawnOutcome::RolledBack => v1::SpawnOutcome::RolledBack,
        };
        Self {
            call: Some(call.into()),
            spawn_id,
            outcome: outcome.into(),
        }
    }
}

impl TryFrom<v1::ResolveSubagentSpawnRequest> for ResolveSubagentSpawnRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::ResolveSubagentSpawnRequest) -> Result<Self, ConvertError> {
        let v1::ResolveSubagentSpawnRequest {
            call,
            spawn_id,
            outcome: number,
        } = wire;
        let request = ResolveSubagentSpawn {
            spawn_id: identifier(spawn_id).at("spawn_id")?,
            outcome: outcome(number).at("outcome")?,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

fn outcome(wire: i32) -> Result<SpawnOutcome, Problem> {
    match known(wire) {
        Some(v1::SpawnOutcome::Started) => Ok(SpawnOutcome::Started),
        Some(v1::SpawnOutcome::RolledBack) => Ok(SpawnOutcome::RolledBack),
        Some(v1::SpawnOutcome::Unspecified) | None => Err(Problem::UnknownNumber(wire)),
    }
}

impl From<ResolveSubagentSpawnResponse> for v1::ResolveSubagentSpawnResponse {
    fn from(ResolveSubagentSpawnResponse { reply }: ResolveSubagentSpawnResponse) -> Self {
        Self {
            reply: reply_to_wire(reply),
        }
    }
}

impl TryFrom<v1::ResolveSubagentSpawnResponse> for ResolveSubagentSpawnResponse {
    type Error = ConvertError;

    fn try_from(wire: v1::ResolveSubagentSpawnResponse) -> Result<Self, ConvertError> {
        let v1::ResolveSubagentSpawnResponse { reply } = wire;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
        })
    }
}

impl From<EndSubagentRequest> for v1::EndSubagentRequest {
    fn from(EndSubagentRequest { call, request }: EndSubagentRequest) -> Self {
        let EndSubagent {
            spawn_id,
            child_session_key,
            reason,
        } = request;
        Self {
            call: Some(call.into()),
            spawn_id,
            child_session_key,
            reason,
        }
    }
}

impl TryFrom<v1::EndSubagentRequest> for EndSubagentRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::EndSubagentRequest) -> Result<Self, ConvertError> {
        let v1::EndSubagentRequest {
            call,
            spawn_id,
            child_session_key,
            reason,
        } = wire;
        let request = EndSubagent {
            spawn_id: spawn_id.map(identifier).transpose().at("spawn_id")?,
            child_session_key: identifier(child_session_key).at("child_session_key")?,
            reason,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

impl From<EndSubagentResponse> for v1::EndSubagentResponse {
    fn from(EndSubagentResponse { reply }: EndSubagentResponse) -> Self {
        Self {
            reply: reply_to_wire(reply),
        }
    }
}

impl TryFrom<v1::EndSubagentResponse> for EndSubagentResponse {
    type Error = ConvertError;

    fn try_from(
        v1::EndSubagentResponse { reply }: v1::EndSubagentResponse,
    ) -> Result<Self, ConvertError> {
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
        })
    }
}
