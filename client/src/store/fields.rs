//! Finds the fields of one JSON object without touching the bytes of their values.

use std::borrow::Cow;
use std::ops::Range;

use contextwire_engine::json::{Cursor, JsonError};

/// The fields of an object; of a repeated key the last one counts.
pub(super) struct Fields<'a> {
    source: &'a [u8],
    found: Vec<(Cow<'a, str>, Range<usize>)>,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// [`JsonError`] where the source is not one object.
    pub(super) fn scan(source: &'a [u8]) -> Result<Self, JsonError> {
        let mut cursor = Cursor::new(source);
        let mut found = Vec::new();
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            found.push((key.decode(), cursor.skip_value()?));
        }
        cursor.finish()?;
        Ok(Self { source, found })
    }

    /// Where the value stands in the source.
    pub(super) fn span(&self, key: &str) -> Option<Range<usize>> {
        let field = self.found.iter().rev().find(|(name, _)| name == key);
        field.map(|(_, span)| span.clone())
    }

    /// The value as it stands in the source.
    pub(super) fn raw(&self, key: &str) -> Option<&'a [u8]> {
        self.source.get(self.span(key)?)
    }

    /// The value of a string field; `None` for any other kind.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let text = Cursor::new(self.raw(key)?).text().ok()?;
        Some(text.decode())
    }

    /// Whether the field is the literal `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.raw(key) == Some(b"true")
    }

    /// A whole number that fits.
    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        std::str::from_utf8(self.raw(key)?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_repeated_keys_counts_and_values_keep_their_bytes() {
        let source = br#"{"n":1,"n": 1e400 ,"s":"\ud83d","o":{ "a" : [1,2] }}"#;
        let fields = Fields::scan(source).unwrap();
        assert_eq!(fields.raw("n"), Some(&b"1e400"[..]));
        assert_eq!(fields.raw("o"), Some(&br#"{ "a" : [1,2] }"#[..]));
        assert_eq!(fields.text("s").as_deref(), Some("\u{fffd}"));
        assert_eq!(fields.text("n"), None);
    }

    #[test]
    fn anything_but_one_object_is_refused() {
        for source in [&b"[1]"[..], b"{\"a\":", b"{} {}", b"", b"\0\0"] {
            assert!(Fields::scan(source).is_err(), "{source:?}");
        }
    }
}
