//! What a line of a rollout is, told by its fields.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::field::{Fields, text};

/// Types of records that hold a payload.
const RECORDS: [&str; 9] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "token_usage_record",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
];

/// Types of items that the oldest rollouts hold as lines of their own. A message is told from an
/// entry of OpenClaw by its role, which there is inside.
const BARE_ITEMS: [&str; 6] = [
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "custom_tool_call_output",
];

/// What a line holds.
pub(super) enum Record<'a> {
    /// A record with its payload, under its type.
    Wrapped(Cow<'a, str>, &'a RawValue),
    /// An item without a record around it, under its type.
    Bare(Cow<'a, str>),
    /// The first line of the oldest rollouts: the session's facts without a type.
    BareMeta,
    /// A line of the oldest rollouts that says nothing.
    State,
    /// A record whose payload is no object.
    NoPayload(Cow<'a, str>),
    /// Something else.
    Foreign(Cow<'a, str>),
    /// An object that says not what it is.
    Untyped,
}

/// Whether only a rollout has a line with these fields.
pub(in crate::session) fn is_record(fields: &Fields<'_>) -> bool {
    match record(fields) {
        Record::Wrapped(name, _) => RECORDS.contains(&&*name),
        Record::Bare(_) | Record::BareMeta => true,
        Record::State | Record::NoPayload(_) | Record::Foreign(_) | Record::Untyped => false,
    }
}

pub(super) fn record<'a>(fields: &Fields<'a>) -> Record<'a> {
    let name = fields.get("type").and_then(text);
    let has = |key| fields.get(key).is_some();
    match (name, fields.get("payload")) {
        (Some(name), Some(payload)) if payload.get().starts_with('{') => {
            Record::Wrapped(name, payload)
        }
        (Some(name), Some(_)) => Record::NoPayload(name),
        (Some(name), None) if BARE_ITEMS.contains(&&*name) => Record::Bare(name),
        (Some(name), None) if is_bare_message(&name, fields) => Record::Bare(name),
        (Some(name), None) if RECORDS.contains(&&*name) => Record::NoPayload(name),
        (Some(name), None) => Record::Foreign(name),
        (None, _) if has("record_type") => Record::State,
        (None, _) if has("id") && has("timestamp") && has("instructions") => Record::BareMeta,
        (None, _) => Record::Untyped,
    }
}

fn is_bare_message(name: &str, fields: &Fields<'_>) -> bool {
    let has = |key| fields.get(key).is_some();
    name == "message" && has("role") && has("content") && !has("message")
}
