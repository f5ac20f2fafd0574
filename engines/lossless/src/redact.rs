//! What no index, no summarizer and no summary may hold: whatever matches a pattern of the operator.
//!
//! The log keeps the original, and assembly shows it: the model of the conversation has seen it.

use std::borrow::Cow;

use bytes::Bytes;
use contextwire_engine::Message;
use regex::Regex;
use serde_json::Value;

/// Stands for what was masked.
const MASK: &str = "[redacted]";
/// Members that say what a value is and hold no text of anybody.
const STRUCTURE: [&str; 4] = ["role", "type", "id", "toolCallId"];

/// Patterns of what is masked; by default none.
#[derive(Clone, Debug, Default)]
pub struct Redaction(Vec<Regex>);

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RedactionError {
    /// It is no regular expression, or too large.
    #[error("`{pattern}` is no pattern")]
    Invalid {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
    /// It matches everywhere.
    #[error("`{pattern}` matches a text of nothing, and so everywhere")]
    Empty {
        /// The pattern.
        pattern: String,
    },
}

impl Redaction {
    /// Masks what matches one of these regular expressions, in the syntax of the crate `regex`.
    ///
    /// # Errors
    /// [`RedactionError`] for a pattern that is none or that matches everywhere.
    pub fn of<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
    ) -> Result<Self, RedactionError> {
        let pattern = |pattern: P| {
            let pattern = pattern.as_ref();
            let read = Regex::new(pattern).map_err(|source| RedactionError::Invalid {
                pattern: pattern.to_owned(),
                source,
            })?;
            if read.is_match("") {
                let pattern = pattern.to_owned();
                return Err(RedactionError::Empty { pattern });
            }
            Ok(read)
        };
        let patterns = patterns.into_iter().map(pattern);
        Ok(Self(patterns.collect::<Result<_, _>>()?))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether something in a text is to be masked.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_match(text))
    }

    /// The text with a mask in place of what matches.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for pattern in &self.0 {
            if pattern.is_match(&masked) {
                let next = pattern.replace_all(&masked, regex::NoExpand(MASK));
                masked = Cow::Owned(next.into_owned());
            }
        }
        masked
    }

    /// The message with masks in the texts and numbers of its payload. What is no JSON is masked as it
    /// stands.
    pub(crate) fn message(&self, message: &Message) -> Message {
        if self.is_none() {
            return message.clone();
        }
        let payload = if let Ok(value) = serde_json::from_slice(message.payload()) {
            self.value(value).to_string()
        } else {
            let text = String::from_utf8_lossy(message.payload());
            self.masked(&text).into_owned()
        };
        Message::with_header(Bytes::from(payload), message.header().clone())
            .with_entry_id(message.entry_id().clone())
            .with_log_entry_id(message.log_entry_id().cloned())
            .with_synthetic(message.is_synthetic())
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.masked(&text).into_owned()),
            Value::Number(number) if self.matches(&number.to_string()) => {
                Value::String(MASK.to_owned())
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let member = |(name, value): (String, Value)| {
                    if STRUCTURE.contains(&name.as_str()) {
                        return (name, value);
                    }
                    (self.masked(&name).into_owned(), self.value(value))
                };
                members.into_iter().map(member).collect()
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i15_a_secret_is_masked_wherever_a_payload_has_it() {
        let redaction = Redaction::of(["sk-[a-z0-9]+", r"\b\d{16}\b", r#"pass"word"#]).unwrap();
        let message = Message::from_payload(
            r#"{"role":"user","content":[{"type":"text","text":"sk\u002da1 and pass\"word"},{"sk-b2":4111111111111111}]}"#,
        )
        .with_entry_id("e1");
        let masked = redaction.message(&message);
        let payload = String::from_utf8(masked.payload().to_vec()).unwrap();
        assert!(!redaction.matches(&payload), "{payload}");
        assert!(payload.contains("[redacted] and [redacted]"), "{payload}");
        assert_eq!(
            (masked.role(), masked.entry_id()),
            ("user", message.entry_id())
        );
        let broken = Message::from_payload(r#"{"content":"sk-c3"#);
        assert_eq!(
            redaction.message(&broken).payload(),
            r#"{"content":"[redacted]"#
        );
    }

    #[test]
    fn a_pattern_that_is_none_or_matches_everywhere_is_refused_by_name() {
        let refused = |pattern| Redaction::of([pattern]).unwrap_err().to_string();
        assert!(refused("sk-(").contains("`sk-(` is no pattern"));
        assert!(refused("x*").contains("`x*` matches a text of nothing"));
    }
}
