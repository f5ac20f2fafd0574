//! Writes the lines that a store itself makes; values of others are copied as they are.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use contextwire_engine::json::quote;

use super::id::NativeId;

/// One JSON object on its way to being a line; fields stand in the order in which they are added.
pub(super) struct Line(Vec<u8>);

impl Line {
    /// An object without a field.
    pub(super) fn new() -> Self {
        Self(vec![b'{'])
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
        self.json(key, quote(value).as_bytes())
    }

    /// An id, or null.
    pub(super) fn reference(self, key: &str, value: Option<&NativeId>) -> Self {
        match value {
            Some(id) => self.text(key, id.as_str()),
            None => self.json(key, b"null"),
        }
    }

    /// A value that is JSON already.
    pub(super) fn json(mut self, key: &str, value: &[u8]) -> Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(quote(key).as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    /// A value that may be absent, and then its field is.
    pub(super) fn maybe(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.json(key, value),
            None => self,
        }
    }

    pub(super) fn finish(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }
}

/// Milliseconds since the Unix epoch in the form `2026-01-31T23:59:59.999Z`; times before 1970
/// become its first instant.
pub(super) fn iso(timestamp_ms: i64) -> String {
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
