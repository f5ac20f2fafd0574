//! Runtime settings and runtime context.

use std::collections::BTreeMap;

use bytes::Bytes;
use contextwire_engine::{
    ReasonCode, RuntimeContext, RuntimeMode, RuntimeSettings, SelectionSource, TokenBudget,
};

use super::{At, ConvertError, known, shallow};
use crate::v1;

impl From<RuntimeSettings> for v1::RuntimeSettings {
    fn from(settings: RuntimeSettings) -> Self {
        let RuntimeSettings {
            schema_version,
            host,
            mode,
            harness_id,
            runtime_id,
            requested_model: requested,
            resolved_model: resolved,
            provider,
            family,
            selected_engine_id: selected_id,
            selection_source,
            execution_host_id: id,
            execution_host_label: label,
            prompt_token_budget,
            max_output_tokens,
            fallback_reason,
            degraded_reason,
        } = settings;
        let mode = mode_to_wire(mode).into();
        let source = source_to_wire(selection_source).into();
        let prompt_token_budget = prompt_token_budget.map(TokenBudget::get);
        let code = |reason: Option<ReasonCode>| reason.map(|code| reason_to_wire(code).into());
        Self {
            schema_version,
            runtime: Some(v1::SettingsRuntime {
                host,
                mode,
                harness_id,
                runtime_id,
            }),
            model: Some(v1::SettingsModel {
                requested,
                resolved,
                provider,
                family,
            }),
            context_engine_selection: Some(v1::SettingsEngineSelection {
                selected_id,
                source,
            }),
            execution_host: Some(v1::SettingsExecutionHost { id, label }),
            limits: Some(v1::SettingsLimits {
                prompt_token_budget,
                max_output_tokens,
            }),
            diagnostics: Some(v1::SettingsDiagnostics {
                fallback_reason: code(fallback_reason),
                degraded_reason: code(degraded_reason),
            }),
        }
    }
}

impl From<v1::RuntimeSettings> for RuntimeSettings {
    /// Never fails: no field is required, and a number that is not known has a meaning (R4.2, R4.3).
    fn from(wire: v1::RuntimeSettings) -> Self {
        let v1::RuntimeSettings {
            schema_version,
            runtime,
            model,
            context_engine_selection,
            execution_host,
            limits,
            diagnostics,
        } = wire;
        let absent = v1::SettingsRuntime {
            mode: v1::RuntimeMode::Normal.into(),
            ..v1::SettingsRuntime::default()
        };
        let v1::SettingsRuntime {
            host,
            mode: mode_number,
            harness_id,
            runtime_id,
        } = runtime.unwrap_or(absent);
        let v1::SettingsModel {
            requested,
            resolved,
            provider,
            family,
        } = model.unwrap_or_default();
        let v1::SettingsEngineSelection {
            selected_id,
            source: source_number,
        } = context_engine_selection.unwrap_or_default();
        let v1::SettingsExecutionHost { id, label } = execution_host.unwrap_or_default();
        let v1::SettingsLimits {
            prompt_token_budget,
            max_output_tokens,
        } = limits.unwrap_or_default();
        let v1::SettingsDiagnostics {
            fallback_reason,
            degraded_reason,
        } = diagnostics.unwrap_or_default();
        Self {
            schema_version,
            host,
            mode: mode(mode_number),
            harness_id,
            runtime_id,
            requested_model: requested,
            resolved_model: resolved,
            provider,
            family,
            selected_engine_id: selected_id,
            selection_source: source(source_number),
            execution_host_id: id,
            execution_host_label: label,
            prompt_token_budget: prompt_token_budget.and_then(TokenBudget::new),
            max_output_tokens,
            fallback_reason: fallback_reason.and_then(reason),
            degraded_reason: degraded_reason.and_then(reason),
        }
    }
}

fn mode(wire: i32) -> RuntimeMode {
    match known(wire) {
        Some(v1::RuntimeMode::Normal) => RuntimeMode::Normal,
        Some(v1::RuntimeMode::Fallback) => RuntimeMode::Fallback,
        Some(v1::RuntimeMode::Degraded | v1::RuntimeMode::Unspecified) | None => {
            RuntimeMode::Degraded
        }
    }
}

fn mode_to_wire(mode: RuntimeMode) -> v1::RuntimeMode {
    match mode {
        RuntimeMode::Normal => v1::RuntimeMode::Normal,
        RuntimeMode::Fallback => v1::RuntimeMode::Fallback,
        RuntimeMode::Degraded => v1::RuntimeMode::Degraded,
    }
}

fn source(wire: i32) -> SelectionSource {
    match known(wire) {
        Some(v1::SelectionSource::Configured) => SelectionSource::Configured,
        Some(v1::SelectionSource::Default) => SelectionSource::Default,
        Some(v1::SelectionSource::Unknown | v1::SelectionSource::Unspecified) | None => {
            SelectionSource::Unknown
        }
    }
}

fn source_to_wire(source: SelectionSource) -> v1::SelectionSource {
    match source {
        SelectionSource::Configured => v1::SelectionSource::Configured,
        SelectionSource::Default => v1::SelectionSource::Default,
        SelectionSource::Unknown => v1::SelectionSource::Unknown,
    }
}

fn reason(wire: i32) -> Option<ReasonCode> {
    match known(wire) {
        Some(v1::ReasonCode::Unspecified) => None,
        Some(v1::ReasonCode::ProviderTimeout) => Some(ReasonCode::ProviderTimeout),
        Some(v1::ReasonCode::ProviderUnavailable) => Some(ReasonCode::ProviderUnavailable),
        Some(v1::ReasonCode::RateLimited) => Some(ReasonCode::RateLimited),
        Some(v1::ReasonCode::ContextOverflow) => Some(ReasonCode::ContextOverflow),
        Some(v1::ReasonCode::RuntimeUnavailable) => Some(ReasonCode::RuntimeUnavailable),
        Some(v1::ReasonCode::Unknown) | None => Some(ReasonCode::Unknown),
    }
}

fn reason_to_wire(reason: ReasonCode) -> v1::ReasonCode {
    match reason {
        ReasonCode::ProviderTimeout => v1::ReasonCode::ProviderTimeout,
        ReasonCode::ProviderUnavailable => v1::ReasonCode::ProviderUnavailable,
        ReasonCode::RateLimited => v1::ReasonCode::RateLimited,
        ReasonCode::ContextOverflow => v1::ReasonCode::ContextOverflow,
        ReasonCode::RuntimeUnavailable => v1::ReasonCode::RuntimeUnavailable,
        ReasonCode::Unknown => v1::ReasonCode::Unknown,
    }
}

impl From<RuntimeContext> for v1::RuntimeContext {
    fn from(context: RuntimeContext) -> Self {
        let RuntimeContext {
            cwd,
            allow_deferred_compaction_execution,
            token_budget,
            agent_harness_id,
            current_token_count,
            provider,
            model_id,
            model_context_window,
            prompt_cache,
            transcript_storage,
            trigger,
            force_reason,
            preflight_trigger,
            attempt,
            max_attempts,
            extra,
        } = context;
        Self {
            cwd,
            allow_deferred_compaction_execution,
            token_budget,
            agent_harness_id,
            current_token_count,
            provider,
            model_id,
            model_context_window,
            prompt_cache,
            transcript_storage,
            trigger,
            force_reason,
            preflight_trigger,
            attempt,
            max_attempts,
            extra,
        }
    }
}

impl TryFrom<v1::RuntimeContext> for RuntimeContext {
    type Error = ConvertError;

    fn try_from(wire: v1::RuntimeContext) -> Result<Self, ConvertError> {
        let v1::RuntimeContext {
            cwd,
            allow_deferred_compaction_execution,
            token_budget,
            agent_harness_id,
            current_token_count,
            provider,
            model_id,
            model_context_window,
            prompt_cache,
            transcript_storage,
            trigger,
            force_reason,
            preflight_trigger,
            attempt,
            max_attempts,
            extra,
        } = wire;
        check_json(prompt_cache.as_ref(), &extra)?;
        Ok(Self {
            cwd,
            allow_deferred_compaction_execution,
            token_budget,
            agent_harness_id,
            current_token_count,
            provider,
            model_id,
            model_context_window,
            prompt_cache,
            transcript_storage,
            trigger,
            force_reason,
            preflight_trigger,
            attempt,
            max_attempts,
            extra,
        })
    }
}

fn check_json(cache: Option<&Bytes>, extra: &BTreeMap<String, Bytes>) -> Result<(), ConvertError> {
    if let Some(cache) = cache {
        shallow(cache).at("prompt_cache")?;
    }
    extra
        .values()
        .try_for_each(|value| shallow(value).at("extra"))
}
