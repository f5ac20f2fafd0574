//! Values as bytes, one after the other: what fingerprints cover and what recorded answers hold.
//!
//! Numbers are eight bytes big endian, bytes and texts carry their length, an optional value a flag
//! before it. A reader stops at the end, so a field that is added at the end reads as absent in a
//! record of an older release.

/// Writes values in order.
#[derive(Default)]
pub(super) struct FieldWriter(Vec<u8>);

impl FieldWriter {
    pub(super) fn flag(mut self, value: bool) -> Self {
        self.0.push(u8::from(value));
        self
    }

    pub(super) fn number(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub(super) fn bytes(mut self, value: &[u8]) -> Self {
        self = self.number(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    /// The value behind a flag that says whether there is one.
    pub(super) fn optional<T>(self, value: Option<T>, write: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => write(self.flag(true), value),
            None => self.flag(false),
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads values in the order in which they were written; `None` where they do not stand there.
pub(super) struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.take(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        Some(std::str::from_utf8(self.bytes()?).ok()?.to_owned())
    }

    /// The outer `None` is a malformed record, the inner one an absent value.
    #[expect(
        clippy::option_option,
        reason = "malformed and absent are different answers"
    )]
    pub(super) fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.0.is_empty() || !self.flag()? {
            return Some(None);
        }
        read(self).map(Some)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_never_run_into_each_other() {
        let one = FieldWriter::default().text("ab").text("c").finish();
        let other = FieldWriter::default().text("a").text("bc").finish();
        assert_ne!(one, other);
    }

    #[test]
    fn a_field_added_later_is_absent_in_an_older_record() {
        let old = FieldWriter::default().flag(true).finish();
        let mut reader = FieldReader::new(&old);
        assert_eq!(reader.flag(), Some(true));
        assert_eq!(reader.optional(FieldReader::text), Some(None));
        assert_eq!(reader.number(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_written_comes_back(flag: bool, number: u64, text in proptest::option::of(".*")) {
            let bytes = FieldWriter::default()
                .flag(flag)
                .optional(text.as_deref(), FieldWriter::text)
                .number(number)
                .finish();
            let mut reader = FieldReader::new(&bytes);
            prop_assert_eq!(reader.flag(), Some(flag));
            prop_assert_eq!(reader.optional(FieldReader::text), Some(text));
            prop_assert_eq!(reader.number(), Some(number));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let mut reader = FieldReader::new(&bytes);
            while reader.text().is_some() || reader.optional(FieldReader::number).flatten().is_some() {}
        }
    }
}
