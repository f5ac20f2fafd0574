//! The payloads that hosts derive from entries that hold no message (HOST-SEMANTICS 1.8).
//!
//! Values are copied as they stand in the entry, absent ones left out. `field` gives an entry's
//! value as its JSON; a time that cannot be read is 0, as hosts write it.

use bytes::Bytes;
use contextwire_engine::json::ObjectWriter;

/// The message at the head of a context after a compaction.
pub fn compaction_summary<'a>(
    field: impl Fn(&str) -> Option<&'a [u8]>,
    timestamp_ms: Option<i64>,
) -> Bytes {
    let payload = ["summary", "tokensBefore"]
        .into_iter()
        .fold(role("compactionSummary"), |payload, key| {
            payload.maybe(key, field(key))
        });
    finish(payload, timestamp_ms)
}

/// The message of a `custom_message` entry.
pub fn custom_message<'a>(
    field: impl Fn(&str) -> Option<&'a [u8]>,
    timestamp_ms: Option<i64>,
) -> Bytes {
    let keys = [
        "customType",
        "content",
        "display",
        "details",
        "excludeFromContext",
    ];
    let payload = keys.into_iter().fold(role("custom"), |payload, key| {
        payload.maybe(key, field(key))
    });
    finish(payload, timestamp_ms)
}

/// The message of a `branch_summary` entry whose summary is not empty. `from_id` is the JSON of
/// the entry that it sums up from, under the id that the reader of the payload knows.
pub fn branch_summary<'a>(
    field: impl Fn(&str) -> Option<&'a [u8]>,
    from_id: Option<&[u8]>,
    timestamp_ms: Option<i64>,
) -> Bytes {
    let payload = role("branchSummary")
        .maybe("summary", field("summary"))
        .maybe("fromId", from_id);
    finish(payload, timestamp_ms)
}

fn role(role: &str) -> ObjectWriter {
    ObjectWriter::new().text("role", role)
}

fn finish(payload: ObjectWriter, timestamp_ms: Option<i64>) -> Bytes {
    let timestamp_ms = timestamp_ms.unwrap_or(0).to_string();
    payload.json("timestamp", timestamp_ms.as_bytes()).finish()
}
