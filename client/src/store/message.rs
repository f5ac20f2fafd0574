//! The messages that entries stand for, as payloads in the host's schema.

use bytes::Bytes;
use contextwire_engine::EntryId;

use super::entry::{Entry, Kind};
use super::fields::Fields;
use super::id::NativeId;
use super::line::Line;

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
    let payload = Line::new()
        .text("role", "compactionSummary")
        .maybe("summary", fields.raw("summary"))
        .maybe("tokensBefore", fields.raw("tokensBefore"));
    Some(finish(payload, entry))
}

fn custom_message(entry: &Entry) -> Option<Bytes> {
    let fields = Fields::scan(entry.json()).ok()?;
    let payload = Line::new().text("role", "custom");
    let payload = [
        "customType",
        "content",
        "display",
        "details",
        "excludeFromContext",
    ]
    .into_iter()
    .fold(payload, |payload, key| payload.maybe(key, fields.raw(key)));
    Some(finish(payload, entry))
}

/// An empty summary is no message.
fn branch_summary(entry: &Entry, from: Option<&EntryId>) -> Option<Bytes> {
    let fields = Fields::scan(entry.json()).ok()?;
    fields.text("summary").filter(|text| !text.is_empty())?;
    let payload = Line::new()
        .text("role", "branchSummary")
        .maybe("summary", fields.raw("summary"));
    let payload = match from {
        Some(from) => payload.text("fromId", from.as_str()),
        None => payload.maybe("fromId", fields.raw("fromId")),
    };
    Some(finish(payload, entry))
}

/// An unreadable time is 0, as hosts write it.
fn finish(payload: Line, entry: &Entry) -> Bytes {
    let timestamp_ms = entry.timestamp_ms().unwrap_or(0);
    payload
        .json("timestamp", timestamp_ms.to_string().as_bytes())
        .finish()
}
