//! Requests that are right; a check spoils one thing of one.

use bytes::Bytes;
use contextwire_proto::v1;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use uuid::Uuid;

use crate::list;

/// A field that nobody has.
pub const FOREIGN: u32 = 99;

/// A Describe of this suite.
pub fn describe() -> v1::DescribeRequest {
    v1::DescribeRequest {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 3 }),
        host: Some(v1::HostIdentity {
            id: "contextwire-conformance".to_owned(),
            label: "Conformance suite".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        host_instance: Uuid::now_v7().to_string(),
        host_capabilities: Vec::new(),
        runtime_settings_versions: vec![1],
        limits: None,
    }
}

/// A call of a session, with a hook id of its own and without a place in the order.
pub fn call(session: v1::Session) -> v1::CallContext {
    v1::CallContext {
        hook_id: Uuid::now_v7().to_string(),
        attempt: 1,
        budget_ms: 8_000,
        session: Some(session),
        ..v1::CallContext::default()
    }
}

/// The second try of a call.
#[must_use]
pub fn again(call: &v1::CallContext) -> v1::CallContext {
    v1::CallContext {
        attempt: call.attempt + 1,
        ..call.clone()
    }
}

/// A call at this place of the order.
#[must_use]
pub fn at(call: v1::CallContext, epoch: u64, seq: u64) -> v1::CallContext {
    v1::CallContext {
        host_epoch: epoch,
        session_seq: Some(seq),
        ..call
    }
}

/// An Ingest of one message.
pub fn ingest(session: v1::Session, message: v1::Message) -> v1::IngestRequest {
    v1::IngestRequest {
        call: Some(call(session)),
        message: Some(message),
        is_heartbeat: false,
    }
}

/// An Ingest of several.
pub fn ingest_batch(session: v1::Session, messages: &[v1::Message]) -> v1::IngestBatchRequest {
    v1::IngestBatchRequest {
        call: Some(call(session)),
        messages: messages.to_vec(),
        is_heartbeat: false,
    }
}

/// An Assemble of the whole list.
pub fn assemble(session: v1::Session, messages: &[v1::Message]) -> v1::AssembleStart {
    assemble_of(session, list::full(v1::TranscriptList::View, 1, messages))
}

/// An Assemble of this update.
pub fn assemble_of(session: v1::Session, update: v1::TranscriptUpdate) -> v1::AssembleStart {
    v1::AssembleStart {
        call: Some(call(session)),
        transcript: Some(update),
        current_turn: v1::CurrentTurn::Included.into(),
        site: v1::AssembleSite::BeforePrompt.into(),
        ..v1::AssembleStart::default()
    }
}

/// A Compact that is forced or not.
pub fn compact(session: v1::Session, force: bool) -> v1::CompactStart {
    v1::CompactStart {
        call: Some(call(session)),
        token_budget: Some(2_000),
        force,
        compaction_target: v1::CompactionTarget::Budget.into(),
        ..v1::CompactStart::default()
    }
}

/// A Bootstrap of the whole log.
pub fn bootstrap(session: v1::Session, log: &[v1::Message]) -> v1::BootstrapStart {
    v1::BootstrapStart {
        call: Some(call(session)),
        transcript: Some(list::full(v1::TranscriptList::Log, 1, log)),
        ..v1::BootstrapStart::default()
    }
}

/// The end of a turn, with the whole log.
pub fn after_turn(session: v1::Session, log: &[v1::Message]) -> v1::AfterTurnStart {
    v1::AfterTurnStart {
        call: Some(call(session)),
        transcript: Some(list::full(v1::TranscriptList::Log, 1, log)),
        ..v1::AfterTurnStart::default()
    }
}

/// A Maintain after a turn.
pub fn maintain(session: v1::Session) -> v1::MaintainStart {
    v1::MaintainStart {
        call: Some(call(session)),
        reason: v1::MaintainReason::Turn.into(),
        ..v1::MaintainStart::default()
    }
}

/// A turn of these messages, admitted by the first and closed by the last.
pub fn commit(session: v1::Session, key: &str, turn: &[v1::Message]) -> v1::CommitTurnRequest {
    let anchor = |message: Option<&v1::Message>, at: usize| v1::EntryAnchor {
        agent_id: "agent".to_owned(),
        session_id: session.session_id.clone(),
        session_key: session.session_key.clone().unwrap_or_default(),
        store_path: "store".to_owned(),
        generation: "1".to_owned(),
        entry_id: message.map(|it| it.entry_id.clone()).unwrap_or_default(),
        raw_seq: i64::try_from(at).unwrap_or_default(),
        active_message_position: i64::try_from(at).unwrap_or_default(),
        ..v1::EntryAnchor::default()
    };
    v1::CommitTurnRequest {
        advancement_key: key.to_owned(),
        admission: Some(v1::TurnAdmission {
            anchor: Some(anchor(turn.first(), 0)),
            logical_turn_id: format!("turn of {key}"),
            role: "user".to_owned(),
        }),
        terminal: Some(anchor(turn.last(), turn.len().saturating_sub(1))),
        messages: turn.to_vec(),
        call: Some(call(session)),
        ..v1::CommitTurnRequest::default()
    }
}

/// The preparation of a child.
pub fn prepare(session: v1::Session, spawn_id: &str) -> v1::PrepareSubagentSpawnRequest {
    v1::PrepareSubagentSpawnRequest {
        spawn_id: spawn_id.to_owned(),
        parent_session_key: session.session_key.clone().unwrap_or_default(),
        child_session_key: format!("child of {spawn_id}"),
        context_mode: Some(v1::ContextMode::Isolated.into()),
        ttl_ms: Some(60_000),
        call: Some(call(session)),
        ..v1::PrepareSubagentSpawnRequest::default()
    }
}

/// What became of a child.
pub fn resolve(
    session: v1::Session,
    spawn_id: &str,
    outcome: v1::SpawnOutcome,
) -> v1::ResolveSubagentSpawnRequest {
    v1::ResolveSubagentSpawnRequest {
        call: Some(call(session)),
        spawn_id: spawn_id.to_owned(),
        outcome: outcome.into(),
    }
}

/// The end of a child.
pub fn end(session: v1::Session, child_key: &str, reason: &str) -> v1::EndSubagentRequest {
    v1::EndSubagentRequest {
        call: Some(call(session)),
        spawn_id: None,
        child_session_key: child_key.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The message and a field that nobody has.
pub fn with_foreign_field(message: &impl Message) -> Bytes {
    with_field(message, FOREIGN)
}

/// The message and a number in this field.
pub fn with_field(message: &impl Message, number: u32) -> Bytes {
    let mut bytes = message.encode_to_vec();
    encode_key(number, WireType::Varint, &mut bytes);
    encode_varint(1, &mut bytes);
    bytes.into()
}

/// Settings of the only version.
pub fn settings() -> v1::RuntimeSettings {
    v1::RuntimeSettings {
        schema_version: 1,
        runtime: Some(v1::SettingsRuntime {
            host: "conformance".to_owned(),
            mode: v1::RuntimeMode::Normal.into(),
            harness_id: Some("h".to_owned()),
            runtime_id: Some("r".to_owned()),
        }),
        model: Some(v1::SettingsModel {
            requested: Some("m".to_owned()),
            resolved: Some("m".to_owned()),
            provider: Some("p".to_owned()),
            family: Some("f".to_owned()),
        }),
        context_engine_selection: Some(v1::SettingsEngineSelection {
            selected_id: Some("e".to_owned()),
            source: v1::SelectionSource::Configured.into(),
        }),
        execution_host: Some(v1::SettingsExecutionHost {
            id: Some("x".to_owned()),
            label: Some("X".to_owned()),
        }),
        limits: Some(v1::SettingsLimits {
            prompt_token_budget: Some(100_000),
            max_output_tokens: Some(4_000),
        }),
        diagnostics: Some(v1::SettingsDiagnostics {
            fallback_reason: Some(v1::ReasonCode::RateLimited.into()),
            degraded_reason: None,
        }),
    }
}

/// A context with every typed field.
pub fn context() -> v1::RuntimeContext {
    v1::RuntimeContext {
        cwd: Some("/work".to_owned()),
        allow_deferred_compaction_execution: Some(true),
        token_budget: Some(100_000),
        agent_harness_id: Some("h".to_owned()),
        current_token_count: Some(10),
        provider: Some("p".to_owned()),
        model_id: Some("m".to_owned()),
        model_context_window: Some(200_000),
        prompt_cache: Some(Bytes::from_static(b"{\"retention\":\"short\"}")),
        transcript_storage: Some("file".to_owned()),
        trigger: Some("manual".to_owned()),
        force_reason: Some("x-reason".to_owned()),
        preflight_trigger: Some("x-trigger".to_owned()),
        attempt: Some(1),
        max_attempts: Some(2),
        extra: [("k".to_owned(), Bytes::from_static(b"{\"a\":1}"))].into(),
    }
}
