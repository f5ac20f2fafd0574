//! What an engine needs of its host for an operation (HOST-SEMANTICS 5).

use std::fmt;

use contextwire_engine::{Compact, EngineInfo};

use crate::request::EngineRequest;

/// The operation whose requirements a call has to meet; none for what winds something up.
pub(crate) fn operation(request: &EngineRequest) -> Option<&'static str> {
    match request {
        EngineRequest::PrepareSubagentSpawn(_) => Some("subagent-spawn"),
        EngineRequest::Compact(request) if is_manual(request) => Some("manual-compact"),
        EngineRequest::Bootstrap(_)
        | EngineRequest::Ingest(_)
        | EngineRequest::IngestBatch(_)
        | EngineRequest::Assemble(_)
        | EngineRequest::Compact(_)
        | EngineRequest::AfterTurn(_)
        | EngineRequest::Maintain(_) => Some("agent-run"),
        EngineRequest::CommitTurn(_)
        | EngineRequest::ResolveSubagentSpawn(_)
        | EngineRequest::EndSubagent(_)
        | EngineRequest::Dispose(_) => None,
    }
}

fn is_manual(request: &Compact) -> bool {
    let context = request.runtime_context.as_ref();
    context.is_some_and(|context| context.force_reason.as_deref() == Some("manual"))
}

/// A host as requirements see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostProfile {
    /// Its id, for reasons that programs read.
    pub id: String,
    /// Its name, for people.
    pub label: String,
    /// What it can.
    pub capabilities: Vec<String>,
}

impl HostProfile {
    /// What this host lacks of what the engine requires for an operation (`agent-run`,
    /// `manual-compact`, `subagent-spawn`), in the engine's order; `None` where it lacks nothing.
    pub fn unmet(&self, engine: &EngineInfo, operation: &str) -> Option<UnmetRequirement> {
        let requirement = engine.host_requirements.get(operation)?;
        let mut missing = requirement.capabilities.clone();
        missing.retain(|capability| !self.capabilities.contains(capability));
        if missing.is_empty() {
            return None;
        }
        Some(UnmetRequirement {
            engine_id: engine.id.clone(),
            operation: operation.to_owned(),
            host: self.clone(),
            missing,
            required: requirement.capabilities.clone(),
            guidance: requirement.unsupported_message.clone(),
        })
    }
}

/// Why an operation must not begin with this engine on this host. It bars nothing: the engine is
/// well, and another host may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetRequirement {
    /// The engine.
    pub engine_id: String,
    /// The operation that would not work.
    pub operation: String,
    /// The host.
    pub host: HostProfile,
    /// What it lacks.
    pub missing: Vec<String>,
    /// All that the engine requires for the operation.
    pub required: Vec<String>,
    /// What the engine tells its users then.
    pub guidance: Option<String>,
}

impl fmt::Display for UnmetRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            engine_id,
            operation,
            host,
            missing,
            required,
            guidance,
        } = self;
        let offered = if host.capabilities.is_empty() {
            "(none)".to_owned()
        } else {
            host.capabilities.join(", ")
        };
        write!(
            f,
            "context engine \"{engine_id}\" cannot be used for \"{operation}\" on {}: it lacks {}; \
             required are {}; the host has {offered}",
            host.label,
            missing.join(", "),
            required.join(", "),
        )?;
        match guidance {
            Some(guidance) => write!(f, ". {guidance}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnmetRequirement {}

#[cfg(test)]
mod tests {
    use contextwire_engine::HostRequirement;

    use super::*;

    const EMBEDDED: [&str; 6] = [
        "bootstrap",
        "assemble-before-prompt",
        "after-turn",
        "maintain",
        "compact",
        "runtime-llm-complete",
    ];

    fn host(label: &str, capabilities: &[&str]) -> HostProfile {
        HostProfile {
            id: label.to_lowercase(),
            label: label.to_owned(),
            capabilities: capabilities.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    fn embedded() -> HostProfile {
        host("OpenClaw embedded runner", &EMBEDDED)
    }

    fn codex() -> HostProfile {
        let mut codex = host("Codex app-server harness", &EMBEDDED);
        codex
            .capabilities
            .push("thread-bootstrap-projection".to_owned());
        codex
    }

    fn cli() -> HostProfile {
        let capabilities = ["bootstrap", "after-turn", "maintain"];
        host("CLI backend \"generic\"", &capabilities)
    }

    fn requiring(operation: &str, capabilities: &[&str]) -> EngineInfo {
        let requirement = HostRequirement {
            capabilities: capabilities.iter().map(|&it| it.to_owned()).collect(),
            unsupported_message: None,
        };
        EngineInfo {
            host_requirements: [(operation.to_owned(), requirement)].into(),
            ..EngineInfo::new("lcm", "Lossless", "1")
        }
    }

    #[test]
    fn c126_an_empty_list_requires_nothing() {
        assert_eq!(cli().unmet(&requiring("agent-run", &[]), "agent-run"), None);
        let undeclared = EngineInfo::new("lcm", "Lossless", "1");
        assert_eq!(cli().unmet(&undeclared, "agent-run"), None);
    }

    #[test]
    fn c127_the_refusal_names_engine_operation_host_and_all_three_lists() {
        let engine = requiring("agent-run", &["bootstrap", "runtime-llm-complete"]);
        let text = cli().unmet(&engine, "agent-run").unwrap().to_string();
        let parts = [
            "\"lcm\"",
            "\"agent-run\"",
            "CLI backend \"generic\"",
            "lacks runtime-llm-complete;",
            "required are bootstrap, runtime-llm-complete;",
            "has bootstrap, after-turn, maintain",
        ];
        let places = parts.map(|part| text.find(part).expect(part));
        assert!(places.is_sorted(), "{text}");
        let nothing = host("Bare", &[]);
        let text = nothing.unmet(&engine, "agent-run").unwrap().to_string();
        assert!(text.ends_with("has (none)"), "{text}");
    }

    #[test]
    fn c128_to_c130_what_is_missing_is_told_without_an_error() {
        let engine = requiring("agent-run", &["runtime-llm-complete"]);
        let missing = cli().unmet(&engine, "agent-run").unwrap().missing;
        assert_eq!(missing, ["runtime-llm-complete"]);

        let before_prompt = requiring("agent-run", &["assemble-before-prompt"]);
        let threads = requiring("agent-run", &["thread-bootstrap-projection"]);
        for host in [embedded(), codex()] {
            assert_eq!(host.unmet(&before_prompt, "agent-run"), None);
        }
        assert_eq!(codex().unmet(&threads, "agent-run"), None);
        assert!(embedded().unmet(&threads, "agent-run").is_some());
    }

    #[test]
    fn c132_the_engines_guidance_is_the_end_of_the_refusal() {
        let mut engine = requiring("agent-run", &["runtime-llm-complete"]);
        let requirement = engine.host_requirements.get_mut("agent-run").unwrap();
        requirement.unsupported_message = Some("Use the embedded runner.".to_owned());
        let text = cli().unmet(&engine, "agent-run").unwrap().to_string();
        assert!(text.ends_with(". Use the embedded runner."), "{text}");
    }

    #[test]
    fn c133_a_requirement_of_another_operation_is_ignored() {
        let engine = requiring("manual-compact", &["runtime-llm-complete"]);
        assert_eq!(cli().unmet(&engine, "agent-run"), None);
        assert!(cli().unmet(&engine, "manual-compact").is_some());
    }

    #[test]
    fn c134_what_is_missing_keeps_the_engines_order() {
        let engine = requiring("agent-run", &["zeta", "bootstrap", "alpha", "middle"]);
        let missing = cli().unmet(&engine, "agent-run").unwrap().missing;
        assert_eq!(missing, ["zeta", "alpha", "middle"]);
    }
}
