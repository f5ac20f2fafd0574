//! What the requests say: each field that can be set together with the others, or what has to be.

use bytes::Bytes;
use contextwire_engine::{Hook, HookId};
use contextwire_proto::v1;
use prost::Message as _;

use super::super::{message, transcript};
use super::{assemble, call};

fn text() -> String {
    "x".to_owned()
}

/// A request of a hook without its frame: with everything, or the smallest that means something.
pub(crate) fn body(hook: Hook, everything: bool) -> Vec<u8> {
    let says = Says { everything };
    match hook {
        Hook::Describe => describe(everything).encode_to_vec(),
        Hook::Bootstrap => says.bootstrap().encode_to_vec(),
        Hook::Ingest => says.ingest().encode_to_vec(),
        Hook::IngestBatch => says.ingest_batch().encode_to_vec(),
        Hook::Assemble => says.assemble().encode_to_vec(),
        Hook::Compact => says.compact().encode_to_vec(),
        Hook::AfterTurn => says.after_turn().encode_to_vec(),
        Hook::CommitTurn => says.commit_turn().encode_to_vec(),
        Hook::Maintain => says.maintain().encode_to_vec(),
        Hook::PrepareSubagentSpawn => says.prepare_subagent_spawn().encode_to_vec(),
        Hook::ResolveSubagentSpawn => says.resolve_subagent_spawn().encode_to_vec(),
        Hook::EndSubagent => says.end_subagent().encode_to_vec(),
        Hook::Dispose => says.dispose().encode_to_vec(),
    }
}

/// Whether what is optional is said.
#[derive(Clone, Copy, Debug)]
struct Says {
    everything: bool,
}

impl Says {
    fn call(self) -> v1::CallContext {
        if self.everything { full_call() } else { call() }
    }

    fn settings(self) -> Option<v1::RuntimeSettings> {
        self.everything.then(settings)
    }

    fn context(self) -> Option<v1::RuntimeContext> {
        self.everything.then(context)
    }

    fn text(self) -> Option<String> {
        self.everything.then(text)
    }

    fn message(self) -> v1::Message {
        let message = message(0).into();
        if !self.everything {
            return message;
        }
        v1::Message {
            timestamp_ms: Some(1),
            tool_call_ids: vec!["t1".to_owned()],
            tool_result_for: Some("t0".to_owned()),
            estimated_tokens: Some(3),
            log_entry_id: Some("e0".to_owned()),
            synthetic: true,
            ..message
        }
    }

    fn ingest(self) -> v1::IngestRequest {
        v1::IngestRequest {
            call: Some(self.call()),
            message: Some(self.message()),
            is_heartbeat: self.everything,
        }
    }

    fn ingest_batch(self) -> v1::IngestBatchRequest {
        v1::IngestBatchRequest {
            call: Some(self.call()),
            messages: vec![self.message()],
            is_heartbeat: self.everything,
        }
    }

    fn bootstrap(self) -> v1::BootstrapStart {
        v1::BootstrapStart {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            transcript: Some(log()),
            background: self.everything,
        }
    }

    fn assemble(self) -> v1::AssembleStart {
        v1::AssembleStart {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            token_budget: self.everything.then_some(9000),
            available_tools: self.everything.then(|| v1::ToolSet {
                names: vec!["read".to_owned()],
            }),
            citations_mode: self.text(),
            model: self.text(),
            prompt: self.text(),
            memory_prompt: self.text(),
            known_projection: self.everything.then(|| v1::KnownProjection {
                epoch: text(),
                fingerprint: Some(text()),
            }),
            ..assemble()
        }
    }

    fn compact(self) -> v1::CompactStart {
        v1::CompactStart {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            token_budget: self.everything.then_some(9000),
            force: self.everything,
            current_token_count: self.everything.then_some(8000),
            compaction_target: v1::CompactionTarget::Threshold.into(),
            custom_instructions: self.text(),
        }
    }

    fn after_turn(self) -> v1::AfterTurnStart {
        v1::AfterTurnStart {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            transcript: Some(log()),
            background: self.everything,
            pre_prompt_message_count: self.everything.into(),
            auto_compaction_summary: self.text(),
            is_heartbeat: self.everything,
            token_budget: self.everything.then_some(9000),
        }
    }

    fn commit_turn(self) -> v1::CommitTurnRequest {
        v1::CommitTurnRequest {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            advancement_key: text(),
            admission: Some(v1::TurnAdmission {
                anchor: Some(anchor()),
                logical_turn_id: text(),
                role: text(),
            }),
            terminal: Some(anchor()),
            messages: vec![self.message()],
            is_heartbeat: self.everything,
        }
    }

    fn maintain(self) -> v1::MaintainStart {
        v1::MaintainStart {
            call: Some(self.call()),
            runtime_settings: self.settings(),
            runtime_context: self.context(),
            reason: v1::MaintainReason::Turn.into(),
            background: self.everything,
        }
    }

    fn prepare_subagent_spawn(self) -> v1::PrepareSubagentSpawnRequest {
        let mode = v1::ContextMode::Fork.into();
        v1::PrepareSubagentSpawnRequest {
            call: Some(self.call()),
            spawn_id: text(),
            parent_session_key: text(),
            child_session_key: text(),
            context_mode: self.everything.then_some(mode),
            parent_session_id: self.text(),
            parent_locator: self.text(),
            child_session_id: self.text(),
            child_locator: self.text(),
            ttl_ms: self.everything.then_some(60_000),
        }
    }

    fn resolve_subagent_spawn(self) -> v1::ResolveSubagentSpawnRequest {
        v1::ResolveSubagentSpawnRequest {
            call: Some(self.call()),
            spawn_id: text(),
            outcome: v1::SpawnOutcome::Started.into(),
        }
    }

    fn end_subagent(self) -> v1::EndSubagentRequest {
        v1::EndSubagentRequest {
            call: Some(self.call()),
            spawn_id: self.text(),
            child_session_key: text(),
            reason: text(),
        }
    }

    fn dispose(self) -> v1::DisposeRequest {
        v1::DisposeRequest {
            call: Some(self.call()),
            host_instance: text(),
        }
    }
}

/// A list of one message, as the host stores it.
fn log() -> v1::TranscriptUpdate {
    v1::TranscriptUpdate {
        list: v1::TranscriptList::Log.into(),
        ..assemble().transcript.unwrap()
    }
}

fn anchor() -> v1::EntryAnchor {
    v1::EntryAnchor {
        agent_id: text(),
        session_id: text(),
        session_key: text(),
        store_path: text(),
        generation: text(),
        entry_id: text(),
        raw_seq: 1,
        effective_parent_id: Some(text()),
        active_message_position: 1,
        idempotency_key: Some(text()),
    }
}

fn describe(everything: bool) -> v1::DescribeRequest {
    let protocol = Some(v1::ProtocolVersion { major: 1, minor: 0 });
    if !everything {
        return v1::DescribeRequest {
            protocol,
            ..v1::DescribeRequest::default()
        };
    }
    v1::DescribeRequest {
        protocol,
        host: Some(v1::HostIdentity {
            id: text(),
            label: text(),
            version: text(),
        }),
        host_instance: text(),
        host_capabilities: vec!["bootstrap".to_owned()],
        runtime_settings_versions: vec![1],
        limits: Some(v1::Limits {
            max_message_bytes: Some(1 << 20),
            max_metadata_bytes: Some(8192),
            max_json_depth: Some(64),
            max_open_host_calls: Some(4),
            max_mirror_states: Some(4),
            max_mirror_bytes: Some(1 << 20),
            max_streams: Some(100),
            max_concurrent_hooks: Some(10),
            max_tenant_bytes: Some(1 << 20),
        }),
    }
}

fn full_call() -> v1::CallContext {
    let text = || Some(text());
    let target = v1::SessionTarget {
        agent_id: text(),
        session_id: text(),
        session_key: text(),
        store_path: text(),
        thread_id: text(),
    };
    v1::CallContext {
        hook_id: HookId::mint().to_string(),
        attempt: 2,
        budget_ms: 30_000,
        session: Some(v1::Session {
            session_id: "raw".to_owned(),
            previous_id: text(),
            session_key: text(),
            agent_id: text(),
            target: Some(target),
            locator: text(),
        }),
        must_understand: vec!["call.session".to_owned()],
        scope: Some(v1::Scope {
            agent_dir: text(),
            workspace_dir: text(),
        }),
        operation: text(),
        host_epoch: 7,
        session_seq: Some(1),
        abandoned_hooks: vec![HookId::mint().to_string()],
        log_head: Some(transcript(1).state().into()),
    }
}

/// Runtime settings with every field.
pub(crate) fn settings() -> v1::RuntimeSettings {
    let text = || Some(text());
    v1::RuntimeSettings {
        schema_version: 1,
        runtime: Some(v1::SettingsRuntime {
            host: "host".to_owned(),
            mode: v1::RuntimeMode::Fallback.into(),
            harness_id: text(),
            runtime_id: text(),
        }),
        model: Some(v1::SettingsModel {
            requested: text(),
            resolved: text(),
            provider: text(),
            family: text(),
        }),
        context_engine_selection: Some(v1::SettingsEngineSelection {
            selected_id: text(),
            source: v1::SelectionSource::Configured.into(),
        }),
        execution_host: Some(v1::SettingsExecutionHost {
            id: text(),
            label: text(),
        }),
        limits: Some(v1::SettingsLimits {
            prompt_token_budget: Some(9000),
            max_output_tokens: Some(1000),
        }),
        diagnostics: Some(v1::SettingsDiagnostics {
            fallback_reason: Some(v1::ReasonCode::RateLimited.into()),
            degraded_reason: Some(v1::ReasonCode::Unknown.into()),
        }),
    }
}

fn context() -> v1::RuntimeContext {
    let text = || Some(text());
    v1::RuntimeContext {
        cwd: text(),
        allow_deferred_compaction_execution: Some(true),
        token_budget: Some(9000),
        agent_harness_id: text(),
        current_token_count: Some(8000),
        provider: text(),
        model_id: text(),
        model_context_window: Some(200_000),
        prompt_cache: Some(Bytes::from_static(b"{}")),
        transcript_storage: text(),
        trigger: text(),
        force_reason: text(),
        preflight_trigger: text(),
        attempt: Some(1),
        max_attempts: Some(2),
        extra: [("k".to_owned(), Bytes::from_static(b"1"))].into(),
    }
}
