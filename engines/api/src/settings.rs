//! `RuntimeSettings`, schema version 1, and the one builder that normalises them
//! (HOST-SEMANTICS 1.4, R4.1).

use crate::budget::TokenBudget;

/// How the run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeMode {
    /// As asked.
    #[default]
    Normal,
    /// On another model than asked.
    Fallback,
    /// With something missing; also what an unknown number means (R4.3).
    Degraded,
}

/// Why this engine is the selected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectionSource {
    /// By configuration.
    Configured,
    /// Nothing was configured.
    Default,
    /// Not known; also what an unknown number means.
    #[default]
    Unknown,
}

/// Why a run fell back or is degraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// The provider took too long.
    ProviderTimeout,
    /// The provider is away.
    ProviderUnavailable,
    /// The provider refused for its limits.
    RateLimited,
    /// The context did not fit.
    ContextOverflow,
    /// The runtime is away.
    RuntimeUnavailable,
    /// Something else; also what an unknown number means.
    Unknown,
}

impl ReasonCode {
    /// The code of a free text, the first match in a fixed order; `None` for an empty text.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        Some(match text.as_str() {
            "" => return None,
            "provider_timeout" => Self::ProviderTimeout,
            "provider_unavailable" => Self::ProviderUnavailable,
            "rate_limited" => Self::RateLimited,
            "context_overflow" => Self::ContextOverflow,
            "runtime_unavailable" => Self::RuntimeUnavailable,
            "unknown" => Self::Unknown,
            _ if has(&["timeout"]) => Self::ProviderTimeout,
            _ if has(&["rate", "limit", "429"]) => Self::RateLimited,
            _ if has(&["overflow", "context", "pressure"]) => Self::ContextOverflow,
            _ if has(&["runtime"]) => Self::RuntimeUnavailable,
            _ if has(&["provider", "primary", "unavailable"]) => Self::ProviderUnavailable,
            _ => Self::Unknown,
        })
    }
}

/// The host's view of the runtime. Absent is the in-process `null`: unknown, never zero or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// Always 1.
    pub schema_version: u32,
    /// Which host, for records only.
    pub host: String,
    /// How the run goes.
    pub mode: RuntimeMode,
    /// The agent harness.
    pub harness_id: Option<String>,
    /// The runtime under it.
    pub runtime_id: Option<String>,
    /// The model that was asked for.
    pub requested_model: Option<String>,
    /// The model that answers.
    pub resolved_model: Option<String>,
    /// Its provider.
    pub provider: Option<String>,
    /// Its family; ids never imply one.
    pub family: Option<String>,
    /// The selected engine.
    pub selected_engine_id: Option<String>,
    /// Why it is selected.
    pub selection_source: SelectionSource,
    /// Where the run executes.
    pub execution_host_id: Option<String>,
    /// The same for people.
    pub execution_host_label: Option<String>,
    /// Ceiling of the prompt in tokens.
    pub prompt_token_budget: Option<TokenBudget>,
    /// Ceiling of the answer in tokens.
    pub max_output_tokens: Option<u64>,
    /// Why the run fell back.
    pub fallback_reason: Option<ReasonCode>,
    /// Why the run is degraded.
    pub degraded_reason: Option<ReasonCode>,
}

/// What a host knows, unchecked; [`SettingsInput::build`] normalises it.
#[derive(Clone, Debug, Default)]
#[expect(
    missing_docs,
    reason = "each field feeds the field of the same name in RuntimeSettings"
)]
pub struct SettingsInput<'a> {
    pub host: Option<&'a str>,
    pub mode: Option<RuntimeMode>,
    pub harness_id: Option<&'a str>,
    pub runtime_id: Option<&'a str>,
    pub requested_model: Option<&'a str>,
    pub resolved_model: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub family: Option<&'a str>,
    pub selected_engine_id: Option<&'a str>,
    pub selection_source: Option<SelectionSource>,
    pub execution_host_id: Option<&'a str>,
    pub execution_host_label: Option<&'a str>,
    pub prompt_token_budget: Option<f64>,
    pub max_output_tokens: Option<f64>,
    pub fallback_reason: Option<&'a str>,
    pub degraded_reason: Option<&'a str>,
}

impl SettingsInput<'_> {
    /// The normalised settings: texts trimmed and blank ones absent, numbers finite or absent,
    /// mode and source derived where not given.
    pub fn build(&self) -> RuntimeSettings {
        let fallback_reason = self.fallback_reason.and_then(ReasonCode::from_text);
        let degraded_reason = self.degraded_reason.and_then(ReasonCode::from_text);
        let requested_model = text(self.requested_model);
        let resolved_model = text(self.resolved_model);
        let selected_engine_id = text(self.selected_engine_id);
        let other_model = requested_model.is_some()
            && resolved_model.is_some()
            && requested_model != resolved_model;
        let derived_mode = match (degraded_reason, fallback_reason.is_some() || other_model) {
            (Some(_), _) => RuntimeMode::Degraded,
            (None, true) => RuntimeMode::Fallback,
            (None, false) => RuntimeMode::Normal,
        };
        let derived_source = match selected_engine_id {
            Some(_) => SelectionSource::Configured,
            None => SelectionSource::Unknown,
        };
        RuntimeSettings {
            schema_version: 1,
            host: text(self.host).unwrap_or_else(|| "openclaw".to_owned()),
            mode: self.mode.unwrap_or(derived_mode),
            harness_id: text(self.harness_id),
            runtime_id: text(self.runtime_id),
            requested_model,
            resolved_model,
            provider: text(self.provider),
            family: text(self.family),
            selection_source: self.selection_source.unwrap_or(derived_source),
            selected_engine_id,
            execution_host_id: text(self.execution_host_id),
            execution_host_label: text(self.execution_host_label),
            prompt_token_budget: number(self.prompt_token_budget).and_then(TokenBudget::new),
            max_output_tokens: number(self.max_output_tokens),
            fallback_reason,
            degraded_reason,
        }
    }
}

fn text(raw: Option<&str>) -> Option<String> {
    raw.map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// Whole tokens; what is not a finite, non-negative number is unknown.
fn number(raw: Option<f64>) -> Option<u64> {
    let raw = raw.filter(|n| n.is_finite() && *n >= 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite and not negative; a float cast saturates"
    )]
    let whole = raw as u64;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c115_no_input_gives_version_1_and_only_unknowns() {
        let expected = RuntimeSettings {
            schema_version: 1,
            host: "openclaw".to_owned(),
            ..RuntimeSettings::default()
        };
        assert_eq!(SettingsInput::default().build(), expected);
    }

    #[test]
    fn c116_texts_are_trimmed_and_blank_ones_unknown() {
        let input = SettingsInput {
            provider: Some("  x "),
            family: Some("  "),
            ..Default::default()
        };
        assert_eq!(input.build().provider.as_deref(), Some("x"));
        assert_eq!(input.build().family, None);
    }

    #[test]
    fn c117_numbers_that_are_not_finite_are_unknown() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            let input = SettingsInput {
                prompt_token_budget: Some(odd),
                ..Default::default()
            };
            assert_eq!(input.build().prompt_token_budget, None, "{odd}");
        }
    }

    #[test]
    fn c118_another_model_than_requested_is_a_fallback() {
        let input = SettingsInput {
            requested_model: Some("a"),
            resolved_model: Some("b"),
            ..Default::default()
        };
        assert_eq!(input.build().mode, RuntimeMode::Fallback);
    }

    #[test]
    fn c120_an_explicit_mode_wins_over_a_reason() {
        let input = SettingsInput {
            mode: Some(RuntimeMode::Normal),
            degraded_reason: Some("weird"),
            ..Default::default()
        };
        assert_eq!(input.build().mode, RuntimeMode::Normal);
        assert_eq!(
            SettingsInput {
                mode: None,
                ..input
            }
            .build()
            .mode,
            RuntimeMode::Degraded
        );
    }

    #[test]
    fn c121_a_selected_id_without_a_source_is_configured() {
        let input = SettingsInput {
            selected_engine_id: Some("e"),
            ..Default::default()
        };
        assert_eq!(input.build().selection_source, SelectionSource::Configured);
        assert_eq!(
            SettingsInput::default().build().selection_source,
            SelectionSource::Unknown
        );
    }

    #[test]
    fn c122_c123_free_texts_become_reason_codes() {
        for (text, code) in [
            ("HTTP 429", Some(ReasonCode::RateLimited)),
            ("gateway timeout", Some(ReasonCode::ProviderTimeout)),
            ("context pressure", Some(ReasonCode::ContextOverflow)),
            ("runtime crash", Some(ReasonCode::RuntimeUnavailable)),
            ("primary down", Some(ReasonCode::ProviderUnavailable)),
            ("weird", Some(ReasonCode::Unknown)),
            ("", None),
        ] {
            assert_eq!(ReasonCode::from_text(text), code, "{text}");
        }
    }

    #[test]
    fn c124_a_model_id_implies_no_family() {
        let input = SettingsInput {
            requested_model: Some("claude-opus"),
            ..Default::default()
        };
        assert_eq!(input.build().family, None);
    }
}
