//! The shape of a tool call's input: which keys, which kinds, no value.

use contextwire_engine::json::{Cursor, JsonError, Kind, quote};

/// What is nested deeper shows its kind alone.
const MAX_DEPTH: u8 = 32;

/// The shape as JSON: each leaf is the name of its type in brackets, `null` stays. A tree that came
/// as JSON has no cycles to show. Input that comes as a string of JSON, as with OpenAI, is read as
/// what the string says.
pub(super) fn shape(input: &[u8]) -> String {
    if let Some(inner) = as_text(input) {
        let is_structure = inner.trim_start().starts_with(['{', '[']);
        if is_structure && let Some(shape) = of(inner.as_bytes()) {
            return shape;
        }
    }
    of(input).unwrap_or_else(|| "{}".to_owned())
}

fn as_text(input: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(input);
    if cursor.kind().ok()? != Kind::String {
        return None;
    }
    Some(cursor.text().ok()?.decode().into_owned())
}

fn of(input: &[u8]) -> Option<String> {
    let mut shape = String::new();
    write(&mut Cursor::new(input), &mut shape, 0).ok()?;
    Some(shape)
}

fn write(cursor: &mut Cursor<'_>, shape: &mut String, depth: u8) -> Result<(), JsonError> {
    let leaf = match cursor.kind()? {
        Kind::Object if depth < MAX_DEPTH => return write_object(cursor, shape, depth),
        Kind::Array if depth < MAX_DEPTH => return write_array(cursor, shape, depth),
        Kind::Object => "\"[object]\"",
        Kind::Array => "\"[array]\"",
        Kind::String => "\"[string]\"",
        Kind::Number => "\"[number]\"",
        Kind::Bool => "\"[boolean]\"",
        Kind::Null => "null",
    };
    cursor.skip_value()?;
    shape.push_str(leaf);
    Ok(())
}

fn write_object(cursor: &mut Cursor<'_>, shape: &mut String, depth: u8) -> Result<(), JsonError> {
    cursor.begin_object()?;
    shape.push('{');
    let mut is_first = true;
    while let Some(key) = cursor.next_key()? {
        if !std::mem::take(&mut is_first) {
            shape.push(',');
        }
        shape.push_str(&quote(&key.decode()));
        shape.push(':');
        write(cursor, shape, depth + 1)?;
    }
    shape.push('}');
    Ok(())
}

fn write_array(cursor: &mut Cursor<'_>, shape: &mut String, depth: u8) -> Result<(), JsonError> {
    cursor.begin_array()?;
    shape.push('[');
    let mut is_first = true;
    while cursor.next_element()? {
        if !std::mem::take(&mut is_first) {
            shape.push(',');
        }
        write(cursor, shape, depth + 1)?;
    }
    shape.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c277_leaves_become_their_types_and_nulls_stay() {
        let input = br#"{"token":"sk-secret","on":true,"n":1e400,"deep":[{"a":null},"x"],"e":{}}"#;
        assert_eq!(
            shape(input),
            r#"{"token":"[string]","on":"[boolean]","n":"[number]","deep":[{"a":null},"[string]"],"e":{}}"#
        );
    }

    #[test]
    fn input_in_a_string_is_read_and_other_strings_are_strings() {
        assert_eq!(shape(br#""{\"cmd\":\"ls\"}""#), r#"{"cmd":"[string]"}"#);
        assert_eq!(shape(br#""{ no json""#), r#""[string]""#);
        assert_eq!(shape(br#""ls""#), r#""[string]""#);
    }

    #[test]
    fn nothing_readable_is_an_empty_shape_and_depth_is_bounded() {
        assert_eq!(shape(b""), "{}");
        assert_eq!(shape(br#"{"a":"#), "{}");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let expected = format!("{}\"[array]\"{}", "[".repeat(32), "]".repeat(32));
        assert_eq!(shape(deep.as_bytes()), expected);
    }
}
