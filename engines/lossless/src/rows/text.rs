//! The text of a message, for the index.

use contextwire_engine::Message;
use contextwire_engine::json::{Cursor, JsonError, Kind};

/// Most bytes of one message that are looked up by their words.
const MAX_BYTES: usize = 256 * 1024;
/// Values below this are not text that anybody said.
const MAX_DEPTH: usize = 8;
/// What holds no words: pictures, signatures, and what hosts keep for themselves.
const SKIPPED: [&str; 8] = [
    "data",
    "image",
    "signature",
    "thinkingSignature",
    "textSignature",
    "details",
    "usage",
    "id",
];
/// Names and marks, at the top of a payload.
const MARKS: [&str; 10] = [
    "role",
    "type",
    "provider",
    "api",
    "model",
    "stopReason",
    "timestamp",
    "toolCallId",
    "idempotencyKey",
    "responseId",
];

/// Everything that the message says, one text a line. As far as it can be read.
pub(super) fn text_of(message: &Message) -> String {
    let mut out = String::new();
    let mut cursor = Cursor::new(message.payload());
    // What was read before an error is text all the same.
    let _read = collect(&mut cursor, 0, &mut out).is_ok();
    out
}

fn collect(cursor: &mut Cursor<'_>, depth: usize, out: &mut String) -> Result<(), JsonError> {
    if depth > MAX_DEPTH || out.len() > MAX_BYTES {
        return cursor.skip_value().map(drop);
    }
    match cursor.kind()? {
        Kind::String => {
            out.push_str(&cursor.text()?.decode());
            out.push('\n');
        }
        Kind::Array => {
            cursor.begin_array()?;
            while cursor.next_element()? {
                collect(cursor, depth + 1, out)?;
            }
        }
        Kind::Object => {
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                let is_one_of = |names: &[&str]| names.iter().any(|name| key.is(name));
                if is_one_of(&SKIPPED) || depth <= 2 && is_one_of(&MARKS) {
                    cursor.skip_value()?;
                } else {
                    collect(cursor, depth + 1, out)?;
                }
            }
        }
        Kind::Number | Kind::Bool | Kind::Null => {
            cursor.skip_value()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_text_and_what_is_kept_beside_it_is_not() {
        let message = Message::from_payload(
            r#"{"role":"assistant","content":[{"type":"text","text":"the port"},
                {"type":"toolCall","id":"x1","name":"bash","arguments":{"command":"nc -l 48213"}},
                {"type":"image","data":"aGVsbG8=","mimeType":"image/png"}],
                "usage":{"text":"no"},"timestamp":5}"#,
        );
        let text = text_of(&message);
        assert!(text.contains("the port\n") && text.contains("nc -l 48213\n"));
        assert!(!text.contains("aGVsbG8=") && !text.contains("no\n") && !text.contains("toolCall"));
    }

    #[test]
    fn a_payload_that_ends_early_gives_what_it_has() {
        let broken = Message::from_payload(r#"{"content":[{"text":"so far"},{"te"#);
        assert_eq!(text_of(&broken), "so far\n");
    }
}
