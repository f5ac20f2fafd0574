//! What an error says about fields of the request (R5.3).

use std::collections::BTreeSet;

use contextwire_engine::Hook;

use super::removable::resolve;
use super::validator::rejected_names;
use crate::call::Call;
use crate::classify::{Complaint, complaint};
use crate::error::CallError;
use crate::request::EngineRequest;

/// The paths that an error complains about, as far as they may be left out and the call carries
/// them.
pub(super) fn rejected(call: &Call, error: &CallError) -> BTreeSet<String> {
    let hook = call.hook();
    let Some(complaint) = complaint(error) else {
        return BTreeSet::new();
    };
    let mut paths = named(hook, &complaint);
    paths.retain(|path| carries(call, path));
    paths
}

fn named(hook: Hook, complaint: &Complaint<'_>) -> BTreeSet<String> {
    let violations = complaint.violations.iter();
    if complaint.is_about_fields {
        let paths: BTreeSet<_> = violations
            .filter_map(|violation| resolve(hook, &violation.field))
            .collect();
        if !paths.is_empty() {
            return paths;
        }
    }
    // A violation of somebody else's says what is wrong in words, and about what beside them.
    let described = complaint
        .violations
        .iter()
        .map(|violation| format!("{} '{}'", violation.description, violation.field));
    let texts: Vec<_> = described.chain([complaint.message.to_owned()]).collect();
    let names = texts.iter().flat_map(|text| rejected_names(text));
    names.filter_map(|name| resolve(hook, name)).collect()
}

/// Whether a call sets a key of HOST-SEMANTICS 4.1; an engine that names another field has seen it.
fn carries(call: &Call, path: &str) -> bool {
    match path {
        "call.session.session_key" => call.session.key.is_some(),
        "call.session.target" => call.session.target.is_some(),
        "prompt" => {
            matches!(&call.request, EngineRequest::Assemble(request) if request.prompt.is_some())
        }
        "runtime_settings" => given(&call.request).0,
        "runtime_context" => given(&call.request).1,
        _ => true,
    }
}

/// Whether a request has runtime settings, and a runtime context.
fn given(request: &EngineRequest) -> (bool, bool) {
    macro_rules! both {
        ($request:ident) => {
            (
                $request.runtime_settings.is_some(),
                $request.runtime_context.is_some(),
            )
        };
    }
    match request {
        EngineRequest::Assemble(request) => both!(request),
        EngineRequest::Bootstrap(request) => both!(request),
        EngineRequest::Compact(request) => both!(request),
        EngineRequest::AfterTurn(request) => both!(request),
        EngineRequest::Maintain(request) => both!(request),
        EngineRequest::CommitTurn(request) => both!(request),
        EngineRequest::Ingest(_)
        | EngineRequest::IngestBatch(_)
        | EngineRequest::PrepareSubagentSpawn(_)
        | EngineRequest::ResolveSubagentSpawn(_)
        | EngineRequest::EndSubagent(_)
        | EngineRequest::Dispose(_) => (false, false),
    }
}
