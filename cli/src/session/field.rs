//! Reads the fields of one JSON object without touching the bytes of their values.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object in file order; a value is the text as it stands in the file.
///
/// Tolerant where hosts are: a repeated key is allowed (the last one wins), lone surrogate escapes
/// and numbers out of range are only looked at when somebody asks for that field.
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// # Errors
    /// What the parser says when the text is not one JSON object; its category is `Data` when the
    /// text is JSON of another type.
    pub(super) fn parse(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| *value)
    }

    /// The value as it stands in the file.
    pub(super) fn raw(&self, key: &str) -> Option<&'a [u8]> {
        self.get(key).map(|value| value.get().as_bytes())
    }

    /// The fields of a field that is an object.
    pub(super) fn object(&self, key: &str) -> Option<Fields<'a>> {
        Fields::parse(self.get(key)?.get()).ok()
    }

    /// The text of a string field; `None` for any other type.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.word(key).map(Cow::into_owned)
    }

    /// The same, not copied where it has no escapes.
    pub(super) fn word(&self, key: &str) -> Option<Cow<'a, str>> {
        text(self.get(key)?)
    }

    /// Whether the field is the literal `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() == "true")
    }

    /// A whole number that fits.
    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        self.get(key)?.get().parse().ok()
    }

    /// Milliseconds since the Unix epoch, of a field in the form `2026-01-31T23:59:59.999Z` or a
    /// whole number of milliseconds; `None` before 1970 and in every other form.
    pub(super) fn millis(&self, key: &str) -> Option<i64> {
        let value = self.get(key)?;
        if let Some(time) = text(value) {
            let time = humantime::parse_rfc3339(&time).ok()?;
            let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            return i64::try_from(since.as_millis()).ok();
        }
        value.get().parse().ok().filter(|millis| *millis >= 0)
    }
}

/// The text of a JSON string, lone surrogates replaced; `None` for any other type.
pub(super) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(value.get())
        .ok()
        .map(|text| text.0)
}

/// The elements of a JSON array; `None` for any other type.
pub(super) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(name) = map.next_key::<Text<'_>>()? {
                    fields.push((name.into_key()?, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A string that may hold escapes of lone surrogates, which a Rust string cannot.
struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    /// The parser refuses control characters in values, but not in what it hands out as bytes.
    fn into_key<E: Error>(self) -> Result<Cow<'a, str>, E> {
        match self.0 {
            Cow::Borrowed(key) if key.bytes().any(|byte| byte < b' ') => {
                Err(E::custom("control character in a key"))
            }
            key @ (Cow::Borrowed(_) | Cow::Owned(_)) => Ok(key),
        }
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lossy;
        impl<'de> Visitor<'de> for Lossy {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(String::from_utf8_lossy(bytes).into_owned().into()))
            }
        }
        // Only as bytes does the parser hand out a string with a lone surrogate.
        deserializer.deserialize_bytes(Lossy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_repeated_keys_wins() {
        let fields = Fields::parse(r#"{"role":"user","role":"assistant"}"#).unwrap();
        assert_eq!(fields.text("role").as_deref(), Some("assistant"));
    }

    #[test]
    fn a_control_character_is_no_part_of_a_string() {
        for json in ["{\"a\tb\":1}", "{\"a\":\"b\tc\"}", "{\"a\":{\"b\tc\":1}}"] {
            assert!(Fields::parse(json).is_err(), "{json}");
        }
        assert!(Fields::parse(r#"{"a\tb":"\t"}"#).is_ok());
    }

    #[test]
    fn values_keep_their_bytes() {
        let fields = Fields::parse(r#"{"n": 1e400 ,"s":"\ud83d","o":{ "a" : [1,2] }}"#).unwrap();
        let raw: Vec<_> = ["n", "s", "o"]
            .iter()
            .map(|k| fields.get(k).unwrap().get())
            .collect();
        assert_eq!(raw, ["1e400", r#""\ud83d""#, r#"{ "a" : [1,2] }"#]);
    }

    #[test]
    fn lone_surrogates_in_keys_and_strings_are_replaced() {
        let fields = Fields::parse(r#"{"\ud83d":1,"cwd":"a\ud83db"}"#).unwrap();
        let cwd = fields.text("cwd").unwrap();
        assert!(
            cwd.starts_with('a') && cwd.ends_with('b') && cwd.contains('\u{fffd}'),
            "{cwd}"
        );
    }

    #[test]
    fn nesting_is_not_limited() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(Fields::parse(&deep).unwrap().get("a").is_some());
    }

    #[test]
    fn times_are_read_as_text_or_number() {
        let json =
            r#"{"a":"2025-12-09T00:53:29.825Z","b":1765233665292,"c":"soon","d":-1,"e":1.5}"#;
        let fields = Fields::parse(json).unwrap();
        let times = ["a", "b", "c", "d", "e", "f"].map(|key| fields.millis(key));
        assert_eq!(
            times,
            [
                Some(1_765_241_609_825),
                Some(1_765_233_665_292),
                None,
                None,
                None,
                None
            ]
        );
    }

    #[test]
    fn other_json_is_told_from_text_that_is_no_json() {
        use serde_json::error::Category;
        let category = |json| Fields::parse(json).err().unwrap().classify();
        assert_eq!(category("[1]"), Category::Data);
        assert_eq!(category("{\"a\":"), Category::Eof);
        assert_eq!(category("{a}"), Category::Syntax);
        assert_eq!(category("{} {}"), Category::Syntax);
    }
}
