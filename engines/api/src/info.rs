//! What an engine says of itself (HOST-SEMANTICS 1.1, PROTOCOL 12).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::hook::Hook;

/// When a host runs an engine's maintenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaintenanceMode {
    /// Before the turn goes on.
    #[default]
    Foreground,
    /// Beside the conversation.
    Background,
}

/// How an engine gets transcripts (R3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TranscriptSync {
    /// It keeps mirrors; the host sends what changed.
    #[default]
    Delta,
    /// It keeps none; the host always sends full lists.
    Full,
}

/// A request part that a declaring engine may leave out (HOST-SEMANTICS 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostParam {
    /// `sessionKey`
    SessionKey,
    /// `prompt`
    Prompt,
    /// `runtimeSettings`
    RuntimeSettings,
    /// `sessionTarget`
    SessionTarget,
    /// `runtimeContext`
    RuntimeContext,
    /// `abortSignal`: the cancel frame
    AbortSignal,
}

impl HostParam {
    /// Every parameter.
    pub const ALL: [Self; 6] = [
        Self::SessionKey,
        Self::Prompt,
        Self::RuntimeSettings,
        Self::SessionTarget,
        Self::RuntimeContext,
        Self::AbortSignal,
    ];

    /// The parameter's name in the in-process interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionKey => "sessionKey",
            Self::Prompt => "prompt",
            Self::RuntimeSettings => "runtimeSettings",
            Self::SessionTarget => "sessionTarget",
            Self::RuntimeContext => "runtimeContext",
            Self::AbortSignal => "abortSignal",
        }
    }
}

/// What an operation needs of the host (HOST-SEMANTICS 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRequirement {
    /// Capability names, in the engine's order.
    pub capabilities: Vec<String>,
    /// What to tell a user whose host lacks one.
    pub unsupported_message: Option<String>,
}

/// Declarations that make turns durable (HOST-SEMANTICS 1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptSemantics {
    /// `before-current-turn-entry-v1`, or another fence.
    pub current_turn_fence: Option<String>,
    /// `atomic-idempotent-v1`, or another promise.
    pub turn_advancement_idempotency: Option<String>,
}

/// Identity and declarations of an engine. Describing it has no side effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineInfo {
    /// Never empty after trimming; need not equal the slot it is selected by.
    pub id: String,
    /// Display name; never empty.
    pub name: String,
    /// Release of the engine.
    pub version: String,
    /// Which build of that release; what a host learnt of an engine it keeps per build.
    pub build: String,
    /// Methods beyond the required ones are optional; an absent one is never called (R1.1).
    pub methods: Vec<Hook>,
    /// Whether the host leaves compaction to this engine.
    pub owns_compaction: bool,
    /// When maintenance runs.
    pub turn_maintenance_mode: MaintenanceMode,
    /// Requirements by operation (`agent-run`, `manual-compact`, `subagent-spawn`).
    pub host_requirements: BTreeMap<String, HostRequirement>,
    /// Absent: all; empty: none. Names that a host does not know add nothing.
    pub accepted_host_params: Option<Vec<String>>,
    /// Durable-turn declarations.
    pub transcript_semantics: Option<TranscriptSemantics>,
    /// Whether it keeps mirrors.
    pub transcript_sync: TranscriptSync,
    /// Longest silence during a hook, in place of the hook's idle limit.
    pub max_silence: Option<Duration>,
    /// What a thread's policy fingerprint uses in place of `version` (R10.4).
    pub projection_version: Option<String>,
}

impl EngineInfo {
    /// An engine with the four required methods that owns no compaction.
    pub fn new(id: impl Into<String>, name: impl Into<String>, version: impl Into<String>) -> Self {
        let required = Hook::ALL.into_iter().filter(|hook| hook.profile().required);
        Self {
            id: id.into(),
            name: name.into(),
            version: version.into(),
            methods: required.collect(),
            ..Self::default()
        }
    }

    /// What breaks the contract in this description, all of it (HOST-SEMANTICS 3.2).
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (field, value) in [("id", &self.id), ("name", &self.name)] {
            if value.trim().is_empty() {
                problems.push(format!("info.{field} is missing or blank"));
            }
        }
        for hook in Hook::ALL {
            if hook.profile().required && !self.methods.contains(&hook) {
                problems.push(format!("{hook} is required and not among the methods"));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contract_problem_is_named_at_once() {
        let mut info = EngineInfo::new(" ", "Name", "1");
        info.methods.retain(|hook| *hook != Hook::Compact);
        assert_eq!(
            info.problems(),
            [
                "info.id is missing or blank",
                "Compact is required and not among the methods"
            ],
        );
        assert!(EngineInfo::new("a", "A", "1").problems().is_empty());
    }
}
