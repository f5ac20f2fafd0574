//! Which parts of a request a strict engine may make the host leave out, and by which names it may
//! ask for it (R5.3, HOST-SEMANTICS 4.1).

use contextwire_engine::{Hook, HostParam};
use contextwire_proto::schema::{self, RequestField};

use super::adaptation::path_of;

/// Critical as a whole, since they name the call; what else is in them may be left out.
const IDENTITY: [&str; 2] = ["call", "call.session"];

/// Whether losing a field is allowed: the keys of HOST-SEMANTICS 4.1 for the hook, and what is newer
/// than the first minor and does not change what the call does.
pub(super) fn may_be_left_out(hook: Hook, path: &str) -> bool {
    schema::field(hook, path).is_some_and(|field| is_removable(hook, &field))
}

/// The path that a complaint means: proto names with numbers and indexes, or a name as people and
/// validators write it. `None` where it means nothing that may be left out.
pub(super) fn resolve(hook: Hook, name: &str) -> Option<String> {
    let field = schema::field(hook, name).or_else(|| named(hook, name))?;
    is_removable(hook, &field).then_some(field.path)
}

fn is_removable(hook: Hook, field: &RequestField) -> bool {
    if hook.profile().droppable.contains(&field.path.as_str()) {
        return true;
    }
    let outer = |path: &str| {
        let inside = |it: &(usize, char)| it.1 == '.';
        let ends = path.char_indices().filter(inside).map(|(end, _)| end);
        ends.map(|end| path.split_at(end).0.to_owned())
            .collect::<Vec<_>>()
    };
    let is_critical = |path: &String| {
        !IDENTITY.contains(&path.as_str())
            && schema::field(hook, path).is_none_or(|field| field.critical)
    };
    field.since > 0 && !field.critical && !outer(&field.path).iter().any(is_critical)
}

/// A host parameter, or the outermost field of that name, in camel case or in snake case.
fn named(hook: Hook, name: &str) -> Option<RequestField> {
    let param = HostParam::ALL
        .into_iter()
        .find(|param| param.name() == name);
    if let Some(path) = param.and_then(path_of) {
        return schema::field(hook, &path);
    }
    let name = snake(name);
    if let Some(field) = schema::field(hook, &name) {
        return Some(field);
    }
    let leaf = |path: &str| path.rsplit('.').next().map(str::to_owned);
    let mut found = schema::fields(hook);
    found.retain(|field| leaf(&field.path).as_deref() == Some(&name));
    found
        .into_iter()
        .min_by_key(|field| field.path.matches('.').count())
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_3_numbers_and_indexes_are_resolved_by_the_hosts_own_descriptor() {
        let resolve = |hook, name| resolve(hook, name);
        for (hook, name, path) in [
            (Hook::Assemble, "call.#7", "call.operation"),
            (
                Hook::Assemble,
                "call.session.#3",
                "call.session.session_key",
            ),
            (
                Hook::Compact,
                "runtime_context.extra",
                "runtime_context.extra",
            ),
            (Hook::Assemble, "#13", "known_projection"),
        ] {
            assert_eq!(resolve(hook, name).as_deref(), Some(path), "{name}");
        }
    }

    #[test]
    fn r5_3_what_carries_the_meaning_is_never_left_out() {
        for (hook, name) in [
            (Hook::Assemble, "token_budget"),
            (Hook::Assemble, "tokenBudget"),
            (Hook::Assemble, "call"),
            (Hook::Assemble, "call.session"),
            (Hook::Assemble, "call.session.#1"),
            (Hook::Assemble, "call.session.target"),
            (Hook::AfterTurn, "transcript"),
            (Hook::AfterTurn, "pre_prompt_message_count"),
            (Hook::CommitTurn, "admission.anchor"),
            (Hook::CommitTurn, "messages[3].payload"),
            (Hook::Ingest, "prompt"),
            (Hook::Ingest, "message.#7"),
            (Hook::Assemble, "nobody_has_this"),
            (Hook::Assemble, "call.#99"),
            (Hook::Assemble, "abortSignal"),
        ] {
            assert_eq!(resolve(hook, name), None, "{hook} {name}");
        }
    }

    #[test]
    fn names_are_those_of_the_interface_and_of_the_contract() {
        for (hook, name, path) in [
            (Hook::Compact, "sessionTarget", "call.session.target"),
            (Hook::Compact, "sessionKey", "call.session.session_key"),
            (Hook::Ingest, "session_key", "call.session.session_key"),
            (Hook::Assemble, "runtimeSettings", "runtime_settings"),
            (Hook::Assemble, "knownProjection", "known_projection"),
            (Hook::Assemble, "operation", "call.operation"),
        ] {
            assert_eq!(resolve(hook, name).as_deref(), Some(path), "{name}");
        }
    }

    #[test]
    fn every_droppable_key_of_every_hook_is_removable() {
        for hook in Hook::ALL {
            for path in hook.profile().droppable {
                assert!(may_be_left_out(hook, path), "{hook} {path}");
            }
        }
    }
}
