//! What a line of a rollout is, told by its fields.

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
    Wrapped(String, Fields<'a>),
    /// An item without a record around it, under its type.
    Bare(String),
    /// The first line of the oldest rollouts: the session's facts without a type.
    BareMeta,
    /// A line of the oldest rollouts that says nothing.
    State,
    /// A record whose payload is no object.
    NoPayload(String),
    /// Something else.
    Foreign(String),
    /// An object that says not what it is.
    Untyped,
}

/// Whether only a rollout has a line with these fields.
pub(in crate::session) fn is_record(fields: &Fields<'_>) -> bool {
    match record(fields) {
        Record::Wrapped(name, _) => RECORDS.contains(&name.as_str()),
        Record::Bare(_) | Record::BareMeta => true,
        Record::State | Record::NoPayload(_) | Record::Foreign(_) | Record::Untyped => false,
    }
}

pub(super) fn record<'a>(fields: &Fields<'a>) -> Record<'a> {
    let name = fields.get("type").and_then(text);
    let has = |key| fields.get(key).is_some();
    match name {
        Some(name) if has("payload") => match fields.object("payload") {
            Some(payload) => Record::Wrapped(name, payload),
            None => Record::NoPayload(name),
        },
        Some(name) if BARE_ITEMS.contains(&name.as_str()) => Record::Bare(name),
        Some(name) if name == "message" && has("role") && has("content") && !has("message") => {
            Record::Bare(name)
        }
        Some(name) if RECORDS.contains(&name.as_str()) => Record::NoPayload(name),
        Some(name) => Record::Foreign(name),
        None if has("record_type") => Record::State,
        None if has("id") && has("timestamp") && has("instructions") => Record::BareMeta,
        None => Record::Untyped,
    }
}
