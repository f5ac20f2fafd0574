//! Writes one JSON object field by field; values of others are copied as they are.

use bytes::Bytes;

use super::text::quote;

/// One JSON object on its way out; fields stand in the order in which they are added.
///
/// ```
/// use contextwire_engine::json::ObjectWriter;
///
/// let object = ObjectWriter::new().text("role", "user").json("n", b"1e400").finish();
/// assert_eq!(object, r#"{"role":"user","n":1e400}"#);
/// ```
#[derive(Clone, Debug)]
pub struct ObjectWriter(Vec<u8>);

impl ObjectWriter {
    /// An object without a field.
    #[expect(
        clippy::new_without_default,
        reason = "an unfinished object is nothing to default to"
    )]
    pub fn new() -> Self {
        Self(vec![b'{'])
    }

    /// An object without a field, and room for so many bytes of them.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut object = Vec::with_capacity(bytes.saturating_add(2));
        object.push(b'{');
        Self(object)
    }

    /// A string.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        self.json(key, quote(value).as_bytes())
    }

    /// A value that is JSON already.
    #[must_use]
    pub fn json(mut self, key: &str, value: &[u8]) -> Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(quote(key).as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    /// A value that is JSON already and may be absent; then its field is.
    #[must_use]
    pub fn maybe(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.json(key, value),
            None => self,
        }
    }

    /// The object.
    pub fn finish(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_holds_its_fields_in_order_and_values_keep_their_bytes() {
        let object = ObjectWriter::new()
            .text("a\"b", "line\n")
            .maybe("label", None)
            .maybe("n", Some(b"1e400"))
            .finish();
        assert_eq!(object, r#"{"a\"b":"line\n","n":1e400}"#);
        assert_eq!(ObjectWriter::new().finish(), "{}");
    }
}
