//! What a payload says, read with the tolerant scanner: an error ends the reading, and what came
//! before it counts.

use contextwire_engine::header::is_call_type;
use contextwire_engine::json::{Cursor, JsonError, Kind, Text};

use crate::usage::{self, Usage};

/// Content inside content is opened this deep.
const MAX_DEPTH: usize = 4;

/// The parts of a payload that a compaction looks at; duplicate keys: the last one wins.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) parts: Vec<Part>,
    /// Marked `excludeFromContext`: no model sees it.
    pub(crate) is_excluded: bool,
    /// Carries facts of a run under the user's role.
    pub(crate) is_carrier: bool,
    pub(crate) is_error: bool,
    pub(crate) stop_reason: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) shell: Shell,
    pub(crate) tool_name: Option<String>,
    pub(crate) custom_type: Option<String>,
    pub(crate) first_kept_entry_id: Option<String>,
    pub(crate) usage: Usage,
    /// The JSON of `details`.
    pub(crate) details: Option<Vec<u8>>,
}

/// A command that the user ran.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    pub(crate) command: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) exit_code: Option<String>,
    pub(crate) is_cancelled: bool,
}

/// A piece of content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Thinking(String),
    Call(ToolCall),
    /// An image by its media type, never its bytes.
    Image(Option<String>),
    /// A block of a type that nobody here knows.
    Other(String),
}

/// A tool call with its arguments as the JSON that they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Body {
    pub(crate) fn of(payload: &[u8]) -> Self {
        let mut body = Self::default();
        let _ended_early = body.read(&mut Cursor::new(payload)).is_err();
        body
    }

    /// The tool calls of an answer.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Thinking(_) | Part::Image(_) | Part::Other(_) => None,
        })
    }

    /// The texts, one a line.
    pub(crate) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Thinking(_) | Part::Call(_) | Part::Image(_) | Part::Other(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Whether the model's answer broke off, so that its usage says nothing.
    pub(crate) fn is_broken_off(&self) -> bool {
        matches!(self.stop_reason.as_deref(), Some("aborted" | "error"))
    }

    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("content") {
                self.parts.clear();
                read_content(cursor, &mut self.parts, MAX_DEPTH)?;
            } else if key.is("tool_calls") {
                legacy_calls(cursor, &mut self.parts)?;
            } else if key.is("usage") {
                self.usage = usage::read(cursor)?;
            } else if key.is("exitCode") {
                self.shell.exit_code = scalar(cursor)?;
            } else if key.is("details") {
                let span = cursor.skip_value()?;
                self.details = Some(cursor.raw(span).to_vec());
            } else if let Some(flag) = self.flag(&key) {
                let span = cursor.skip_value()?;
                *flag = cursor.raw(span) == b"true";
            } else if let Some(slot) = self.text_slot(&key) {
                *slot = string(cursor)?;
            } else {
                cursor.skip_value()?;
            }
        }
        Ok(())
    }

    fn flag(&mut self, key: &Text<'_>) -> Option<&mut bool> {
        [
            ("excludeFromContext", &mut self.is_excluded),
            ("runtimeContextCarrier", &mut self.is_carrier),
            ("isError", &mut self.is_error),
            ("cancelled", &mut self.shell.is_cancelled),
        ]
        .into_iter()
        .find_map(|(name, flag)| key.is(name).then_some(flag))
    }

    fn text_slot(&mut self, key: &Text<'_>) -> Option<&mut Option<String>> {
        [
            ("stopReason", &mut self.stop_reason),
            ("summary", &mut self.summary),
            ("command", &mut self.shell.command),
            ("output", &mut self.shell.output),
            ("toolName", &mut self.tool_name),
            ("customType", &mut self.custom_type),
            ("firstKeptEntryId", &mut self.first_kept_entry_id),
        ]
        .into_iter()
        .find_map(|(name, slot)| key.is(name).then_some(slot))
    }
}

/// The next value where it is a string; any other is read over.
pub(crate) fn string(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    if cursor.kind()? == Kind::String {
        return Ok(Some(cursor.text()?.decode().into_owned()));
    }
    cursor.skip_value()?;
    Ok(None)
}

/// A number or a string as text; null, true and false are nothing.
fn scalar(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    if cursor.kind()? == Kind::Number {
        return Ok(Some(cursor.number()?.to_owned()));
    }
    string(cursor)
}

/// A value as the text that it is, or its JSON.
fn text_or_json(cursor: &mut Cursor<'_>) -> Result<String, JsonError> {
    if cursor.kind()? == Kind::String {
        return Ok(cursor.text()?.decode().into_owned());
    }
    let span = cursor.skip_value()?;
    Ok(String::from_utf8_lossy(cursor.raw(span)).into_owned())
}

fn read_content(
    cursor: &mut Cursor<'_>,
    parts: &mut Vec<Part>,
    depth: usize,
) -> Result<(), JsonError> {
    match cursor.kind()? {
        Kind::String => parts.push(Part::Text(cursor.text()?.decode().into_owned())),
        Kind::Null => {
            cursor.skip_value()?;
        }
        Kind::Array if depth > 0 => {
            cursor.begin_array()?;
            while cursor.next_element()? {
                read_block(cursor, parts, depth - 1)?;
            }
        }
        Kind::Array | Kind::Object | Kind::Number | Kind::Bool => {
            parts.push(Part::Text(text_or_json(cursor)?));
        }
    }
    Ok(())
}

fn read_block(
    cursor: &mut Cursor<'_>,
    parts: &mut Vec<Part>,
    depth: usize,
) -> Result<(), JsonError> {
    match cursor.kind()? {
        Kind::Object => {}
        Kind::Null => return cursor.skip_value().map(drop),
        Kind::Array | Kind::String | Kind::Number | Kind::Bool => {
            parts.push(Part::Text(text_or_json(cursor)?));
            return Ok(());
        }
    }
    let mut block = Block::default();
    let mut inner = Vec::new();
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        if key.is("content") {
            read_content(cursor, &mut inner, depth)?;
        } else if key.is("arguments") || key.is("input") {
            block.arguments = text_or_json(cursor)?;
        } else if let Some(slot) = block.slot(&key) {
            *slot = string(cursor)?;
        } else {
            cursor.skip_value()?;
        }
    }
    parts.extend(block.into_part());
    parts.append(&mut inner);
    Ok(())
}

#[derive(Default)]
struct Block {
    kind: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    name: Option<String>,
    mime: Option<String>,
    arguments: String,
}

impl Block {
    fn slot(&mut self, key: &Text<'_>) -> Option<&mut Option<String>> {
        [
            ("type", &mut self.kind),
            ("text", &mut self.text),
            ("thinking", &mut self.thinking),
            ("name", &mut self.name),
            ("mimeType", &mut self.mime),
        ]
        .into_iter()
        .find_map(|(name, slot)| key.is(name).then_some(slot))
    }

    fn into_part(self) -> Option<Part> {
        let kind = self.kind.unwrap_or_default();
        match kind.as_str() {
            "text" => self.text.map(Part::Text),
            "thinking" | "redacted_thinking" => self.thinking.map(Part::Thinking),
            "image" | "image_url" | "input_image" => Some(Part::Image(self.mime)),
            "tool_result" => None,
            call if is_call_type(call) => Some(Part::Call(ToolCall {
                name: self.name.unwrap_or_default(),
                arguments: self.arguments,
            })),
            _ => Some(Part::Other(kind)),
        }
    }
}

/// `tool_calls[].function {name, arguments}`.
fn legacy_calls(cursor: &mut Cursor<'_>, parts: &mut Vec<Part>) -> Result<(), JsonError> {
    if cursor.kind()? != Kind::Array {
        return cursor.skip_value().map(drop);
    }
    cursor.begin_array()?;
    while cursor.next_element()? {
        let mut call = ToolCall::default();
        read_call(cursor, &mut call, MAX_DEPTH)?;
        parts.push(Part::Call(call));
    }
    Ok(())
}

fn read_call(cursor: &mut Cursor<'_>, call: &mut ToolCall, depth: usize) -> Result<(), JsonError> {
    if cursor.kind()? != Kind::Object || depth == 0 {
        return cursor.skip_value().map(drop);
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        if key.is("function") {
            read_call(cursor, call, depth - 1)?;
        } else if key.is("name") {
            call.name = string(cursor)?.unwrap_or_default();
        } else if key.is("arguments") {
            call.arguments = text_or_json(cursor)?;
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_kind_are_read_and_image_bytes_are_not() {
        let body = Body::of(
            br#"{"role":"assistant","content":[null,{"type":"text","text":"a"},"b",{"type":"thinking","thinking":"t"},
            {"type":"toolCall","id":"1","name":"read","arguments":{"path":"x"}},{"type":"image","data":"QUJD","mimeType":"image/png"},
            {"type":"tool_result","content":[{"type":"text","text":"c"}]},{"type":"audio","data":"QUJD"},{"type":"text"}]}"#,
        );
        let call = ToolCall {
            name: "read".to_owned(),
            arguments: r#"{"path":"x"}"#.to_owned(),
        };
        let expected = [
            Part::Text("a".to_owned()),
            Part::Text("b".to_owned()),
            Part::Thinking("t".to_owned()),
            Part::Call(call),
            Part::Image(Some("image/png".to_owned())),
            Part::Text("c".to_owned()),
            Part::Other("audio".to_owned()),
        ];
        assert_eq!(body.parts, expected);
        assert_eq!(body.text(), "a\nb\nc");
    }

    #[test]
    fn calls_beside_the_content_are_read_as_well() {
        let body = Body::of(
            br#"{"content":"hi","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
        );
        let calls: Vec<_> = body.calls().collect();
        let expected = ToolCall {
            name: "f".to_owned(),
            arguments: r#"{"a":1}"#.to_owned(),
        };
        assert_eq!(calls, [&expected]);
    }

    #[test]
    fn a_payload_that_breaks_off_keeps_what_came_before() {
        let body = Body::of(br#"{"stopReason":"aborted","content":"half","exitCode":1e400,"x":"#);
        assert!(body.is_broken_off());
        assert_eq!(
            (body.text().as_str(), body.shell.exit_code.as_deref()),
            ("half", Some("1e400"))
        );
        assert!(Body::of(b"no json").parts.is_empty());
    }
}
