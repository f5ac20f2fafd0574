//! The messages that entries stand for, as payloads in the host's schema.

use bytes::Bytes;
use contextwire_engine::EntryId;
use contextwire_engine::json::quote;

use super::derived;
use super::entry::{Entry, Kind};
use super::fields::Fields;
use super::id::NativeId;

/// The payload that an entry puts into the log: a message's own bytes, or what a host derives from
/// a custom message or a branch summary. Derived ones name other entries by lineage, so that a new
/// append changes no byte of them.
pub(super) fn payload(
    entry: &Entry,
    lineage: impl Fn(&NativeId) -> Option<EntryId>,
) -> Option<Bytes> {
    match entry.kind() {
        Kind::Message { payload, .. } => Some(payload.clone()),
        Kind::CustomMessage { .. } => custom_message(entry),
        Kind::BranchSummary { from } => {
            branch_summary(entry, from.as_ref().and_then(lineage).as_ref())
        }
        Kind::Compaction { .. }
        | Kind::Reset { .. }
        | Kind::Label { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign => None,
    }
}

/// The payload that stands for a compaction at the head of a model's context.
pub(super) fn summary(entry: &Entry) -> Option<Bytes> {
    let fields = Fields::scan(entry.json()).ok()?;
    let field = |key: &str| fields.raw(key);
    Some(derived::compaction_summary(field, entry.timestamp_ms()))
}

fn custom_message(entry: &Entry) -> Option<Bytes> {
    let fields = Fields::scan(entry.json()).ok()?;
    let field = |key: &str| fields.raw(key);
    Some(derived::custom_message(field, entry.timestamp_ms()))
}

/// An empty summary is no message.
fn branch_summary(entry: &Entry, from: Option<&EntryId>) -> Option<Bytes> {
    let fields = Fields::scan(entry.json()).ok()?;
    fields.text("summary").filter(|text| !text.is_empty())?;
    let lineage = from.map(|from| quote(from.as_str()));
    let from_id = match &lineage {
        Some(lineage) => Some(lineage.as_bytes()),
        None => fields.raw("fromId"),
    };
    let field = |key: &str| fields.raw(key);
    Some(derived::branch_summary(
        field,
        from_id,
        entry.timestamp_ms(),
    ))
}
