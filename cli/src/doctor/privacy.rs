//! What would leave a host for an engine, field by field.

use clap::ValueEnum;
use contextwire_client::handshake::EngineDescription;
use contextwire_engine::{Hook, HostParam};
use contextwire_proto::schema;

use crate::report::PrivacyField;

/// Which host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HostKind {
    /// A host that links the client crate and fills in everything.
    #[default]
    Full,
    /// `contextwire replay`: model facts of recorded turns only.
    Replay,
}

/// Request parameters that hosts hand over only where the engine takes them (R5.2), and the fields
/// that they are.
const PARAMS: [(HostParam, &str); 5] = [
    (HostParam::SessionKey, "call.session.session_key"),
    (HostParam::SessionTarget, "call.session.target"),
    (HostParam::Prompt, "prompt"),
    (HostParam::RuntimeSettings, "runtime_settings"),
    (HostParam::RuntimeContext, "runtime_context"),
];

/// What `replay` never fills in.
const NOT_REPLAYED: [&str; 6] = [
    "call.session.session_key",
    "call.session.target",
    "call.session.agent_id",
    "call.scope",
    "prompt",
    "memory_prompt",
];

/// Every field that may travel to this engine in the hooks that it has.
pub fn leaves_the_host(host: HostKind, engine: &EngineDescription) -> Vec<PrivacyField> {
    let minor = engine.protocol.minor;
    let accepted = engine.info.accepted_host_params.as_ref();
    let refused = |path: &str| {
        PARAMS.iter().any(|(param, root)| {
            let named = |accepted: &Vec<String>| accepted.iter().any(|name| name == param.name());
            is_inside(path, root) && accepted.is_some_and(|accepted| !named(accepted))
        })
    };
    let unused = |path: &str| {
        host == HostKind::Replay && NOT_REPLAYED.iter().any(|root| is_inside(path, root))
    };
    let mut fields = Vec::new();
    for hook in &engine.info.methods {
        if *hook == Hook::Describe || schema::method_since(*hook) > minor {
            continue;
        }
        let sent = schema::fields(*hook)
            .into_iter()
            .filter(|field| field.since <= minor.max(schema::method_since(*hook)))
            .filter(|field| !refused(&field.path) && !unused(&field.path));
        fields.extend(sent.map(|field| PrivacyField {
            hook: hook.name().to_owned(),
            content: is_content(&field.path),
            field: field.path,
        }));
    }
    fields
}

/// Whether the path is the root or lies below it.
fn is_inside(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether the field holds what people and models wrote.
fn is_content(path: &str) -> bool {
    const CONTENT: [&str; 7] = [
        "payload",
        "prompt",
        "memory_prompt",
        "custom_instructions",
        "auto_compaction_summary",
        "prompt_cache",
        "extra",
    ];
    path.rsplit('.')
        .next()
        .is_some_and(|leaf| CONTENT.contains(&leaf))
}

#[cfg(test)]
mod tests {
    use contextwire_client::handshake::Protocol;
    use contextwire_engine::EngineInfo;

    use super::*;

    fn engine(accepted: Option<Vec<String>>, minor: u32) -> EngineDescription {
        EngineDescription {
            protocol: Protocol { major: 1, minor },
            info: EngineInfo {
                accepted_host_params: accepted,
                ..EngineInfo::new("e", "E", "1")
            },
            ..EngineDescription::default()
        }
    }

    fn paths(host: HostKind, engine: &EngineDescription) -> Vec<String> {
        let fields = leaves_the_host(host, engine);
        fields.into_iter().map(|field| field.field).collect()
    }

    #[test]
    fn payloads_are_content_and_ids_are_not() {
        let fields = leaves_the_host(HostKind::Full, &engine(None, 3));
        let content = |path: &str| fields.iter().find(|it| it.field == path).unwrap().content;
        assert!(content("message.payload"));
        assert!(content("prompt"));
        assert!(!content("call.session.session_id"));
    }

    #[test]
    fn r5_2_what_an_engine_does_not_take_and_what_it_is_too_old_for_stays_here() {
        let all = paths(HostKind::Full, &engine(None, 3));
        assert!(all.iter().any(|path| path == "runtime_context.cwd"));
        let none = paths(HostKind::Full, &engine(Some(Vec::new()), 3));
        assert!(!none.iter().any(|path| path.starts_with("runtime_")));
        assert!(!none.iter().any(|path| path == "prompt"));
        let old = paths(HostKind::Full, &engine(None, 0));
        assert!(!old.iter().any(|path| path.starts_with("runtime_")));
        assert!(old.iter().any(|path| path == "message.payload"));
    }

    #[test]
    fn a_replay_hands_over_no_keys_of_its_user() {
        let replay = paths(HostKind::Replay, &engine(None, 3));
        assert!(!replay.iter().any(|path| path.starts_with("call.scope")));
        assert!(!replay.iter().any(|path| path == "call.session.session_key"));
    }
}
