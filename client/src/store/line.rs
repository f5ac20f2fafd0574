//! Writes the lines that a store itself makes; values of others are copied as they are.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use contextwire_engine::json::ObjectWriter;

use super::id::NativeId;

/// One line on its way to a file; fields stand in the order in which they are added.
pub(super) struct Line(ObjectWriter);

impl Line {
    /// An object without a field.
    pub(super) fn new() -> Self {
        Self(ObjectWriter::new())
    }

    /// The fields that every entry begins with.
    pub(super) fn entry(
        entry_type: &str,
        id: &NativeId,
        parent: Option<&NativeId>,
        timestamp_ms: i64,
    ) -> Self {
        Self::new()
            .text("type", entry_type)
            .text("id", id.as_str())
            .reference("parentId", parent)
            .text("timestamp", &iso(timestamp_ms))
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        Self(self.0.text(key, value))
    }

    /// An id, or null.
    pub(super) fn reference(self, key: &str, value: Option<&NativeId>) -> Self {
        match value {
            Some(id) => self.text(key, id.as_str()),
            None => self.json(key, b"null"),
        }
    }

    /// A value that is JSON already.
    pub(super) fn json(self, key: &str, value: &[u8]) -> Self {
        Self(self.0.json(key, value))
    }

    /// A value that may be absent, and then its field is.
    pub(super) fn maybe(self, key: &str, value: Option<&[u8]>) -> Self {
        Self(self.0.maybe(key, value))
    }

    pub(super) fn finish(self) -> Bytes {
        self.0.finish()
    }
}

/// A time as hosts write it: milliseconds since the Unix epoch in the form `2026-01-31T23:59:59.999Z`; times before 1970
/// become its first instant.
pub fn iso(timestamp_ms: i64) -> String {
    /// The last millisecond of the year 9999, beyond which the form does not reach.
    const LAST: u64 = 253_402_300_799_999;
    let millis = u64::try_from(timestamp_ms).unwrap_or(0).min(LAST);
    let time = UNIX_EPOCH + Duration::from_millis(millis);
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_its_fields_in_order() {
        let id = NativeId::new("e\"1").unwrap();
        let line = Line::entry("label", &id, None, 1_796_047_450_469)
            .reference("targetId", Some(&id))
            .maybe("label", None)
            .json("n", b"1e400")
            .finish();
        let expected = r#"{"type":"label","id":"e\"1","parentId":null,"timestamp":"2026-11-30T14:04:10.469Z","targetId":"e\"1","n":1e400}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn times_outside_the_calendar_are_clamped() {
        assert_eq!(iso(-1), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(i64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
