//! What of a request an engine is sent: computed for its minor, its declaration and what was learnt
//! of it (R5.2 to R5.4).

use std::collections::BTreeSet;
use std::sync::Arc;

use contextwire_engine::{Hook, HostParam};
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::limits;
use contextwire_proto::omit::{self, Omission};
use contextwire_proto::schema::{self, RequestField};
use prost::{DecodeError, Message};

use super::memory::Learned;
use super::removable::may_be_left_out;
use crate::error::CallError;

const SETTINGS: &str = "runtime_settings";

/// How the requests of one hook are changed for one engine. Most engines get them as they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adaptation(Option<Arc<Plan>>);

#[derive(Debug)]
struct Plan {
    hook: Hook,
    paths: BTreeSet<String>,
    left_out: Omission,
    /// What the host has to name where it is set.
    critical: Vec<RequestField>,
    engine: Understanding,
    takes_no_cancel: bool,
}

/// What an engine does with names that must be understood.
#[derive(Clone, Debug, Default)]
struct Understanding {
    minor: u32,
    /// It refuses a call that names what it does not know.
    honours: bool,
    /// What it refused so far.
    refused: BTreeSet<String>,
}

impl Adaptation {
    pub(super) fn of(hook: Hook, engine: &EngineDescription, learned: &Learned) -> Self {
        let minor = engine.protocol.minor;
        let newer = schema::newer_than(hook, minor);
        let mut paths: BTreeSet<_> = newer.into_iter().map(|field| field.path).collect();
        let declared = left_undeclared(engine);
        paths.extend(declared.iter().filter_map(|param| path_of(*param)));
        if !reads_our_settings(engine) {
            paths.insert(SETTINGS.to_owned());
        }
        let stripped = learned.stripped.iter();
        paths.extend(stripped.filter(|path| may_be_left_out(hook, path)).cloned());
        paths.retain(|path| schema::field(hook, path).is_some());

        let takes_no_cancel = declared.contains(&HostParam::AbortSignal) && hook != Hook::Compact;
        let critical = omit::critical_fields(hook);
        if paths.is_empty() && critical.is_empty() && !takes_no_cancel {
            return Self(None);
        }
        Self(Some(Arc::new(Plan {
            hook,
            left_out: Omission::of(hook, paths.iter().map(String::as_str)),
            paths,
            critical,
            engine: Understanding {
                minor,
                honours: engine.honours_must_understand,
                refused: learned.not_understood.clone(),
            },
            takes_no_cancel,
        })))
    }

    /// Whether a field is not sent.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        self.0
            .as_ref()
            .is_some_and(|plan| plan.paths.contains(path))
    }

    /// All that is not sent, by its paths.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let paths = self.0.iter().flat_map(|plan| plan.paths.iter());
        paths.cloned().collect()
    }

    /// Whether the engine is told in band that a call is given up (HOST-SEMANTICS 4.2).
    pub(crate) fn sends_cancel(&self) -> bool {
        !self.0.as_ref().is_some_and(|plan| plan.takes_no_cancel)
    }

    /// The request, or the start of one, as the engine is sent it. Every field of later frames is as
    /// old as its method, so they need no change.
    ///
    /// # Errors
    /// [`CallError::NotUnderstood`] where something would be lost that must not be ignored.
    pub(crate) fn apply<W: Message + Default>(&self, wire: W) -> Result<W, CallError> {
        let Some(plan) = &self.0 else { return Ok(wire) };
        if plan.left_out.is_empty() && plan.critical.is_empty() {
            return Ok(wire);
        }
        let request = wire.encode_to_vec();
        let set = omit::set_fields(plan.hook, &plan.critical, &request).map_err(|it| own(&it))?;
        let names = must_understand(&set, &plan.engine)?;
        let request = plan.left_out.apply(&request).map_err(|it| own(&it))?;
        let request = omit::naming(plan.hook, &names, request);
        W::decode(bytes::Bytes::from(request)).map_err(|it| own(&it))
    }
}

/// The names that the request has to carry.
fn must_understand<'a>(
    set: &[&'a RequestField],
    engine: &Understanding,
) -> Result<Vec<&'a str>, CallError> {
    let lost = set.iter().find(|field| {
        field.since > engine.minor || !engine.honours || engine.refused.contains(&field.path)
    });
    match lost {
        Some(field) => Err(CallError::NotUnderstood {
            field: field.path.clone(),
        }),
        None => Ok(set.iter().map(|field| field.path.as_str()).collect()),
    }
}

/// Host parameters that a declaring engine did not name (HOST-SEMANTICS 4.2).
fn left_undeclared(engine: &EngineDescription) -> Vec<HostParam> {
    let Some(accepted) = &engine.info.accepted_host_params else {
        return Vec::new();
    };
    let mut params = HostParam::ALL.to_vec();
    params.retain(|param| !accepted.iter().any(|name| name == param.name()));
    params
}

/// Where a parameter is in a request; the cancel frame is not in one.
pub(super) fn path_of(param: HostParam) -> Option<String> {
    let path = match param {
        HostParam::SessionKey => "call.session.session_key",
        HostParam::SessionTarget => "call.session.target",
        HostParam::Prompt => "prompt",
        HostParam::RuntimeSettings => SETTINGS,
        HostParam::RuntimeContext => "runtime_context",
        HostParam::AbortSignal => return None,
    };
    Some(path.to_owned())
}

/// Without a version in common, settings are left out (R4.2).
fn reads_our_settings(engine: &EngineDescription) -> bool {
    let theirs = &engine.runtime_settings_versions;
    let mut ours = limits::RUNTIME_SETTINGS_VERSIONS.iter();
    ours.any(|version| theirs.contains(version))
}

/// Bytes of our own making always are a message.
fn own(fault: &DecodeError) -> CallError {
    CallError::Unsupported(format!("the request cannot be written for it: {fault}"))
}

#[cfg(test)]
mod tests;
