//! What a payload weighs in a prompt.

use crate::header;
use crate::json::{Cursor, JsonError, Kind, Text};
use crate::tokens::{
    IMAGE_TOKENS, MESSAGE_TOKENS, ModelFamily, SUMMARY_TOKENS, TOOL_CALL_TOKENS, count_json_text,
    count_text,
};

/// Content inside content (a result block with blocks of its own) is opened this deep; what lies
/// deeper is counted as the text that it is.
const MAX_DEPTH: usize = 4;

/// Tokens of one payload; of bytes that are no message, tokens of the bytes.
pub(super) fn payload(family: ModelFamily, payload: &[u8]) -> u32 {
    let mut weight = Weight {
        family,
        ..Weight::default()
    };
    let outcome = weight.read(&mut Cursor::new(payload));
    if weight.excluded {
        return 0;
    }
    let content = match (outcome, weight.total()) {
        (Ok(()), Some(tokens)) => tokens,
        (Ok(()), None) | (Err(_), _) => raw(family, payload),
    };
    content.saturating_add(MESSAGE_TOKENS)
}

fn raw(family: ModelFamily, bytes: &[u8]) -> u32 {
    count_text(family, &String::from_utf8_lossy(bytes))
}

/// One slot a key: the last of duplicate keys wins.
#[derive(Default)]
struct Weight {
    family: ModelFamily,
    content: Option<u32>,
    calls: Option<u32>,
    summary: Option<u32>,
    command: Option<u32>,
    output: Option<u32>,
    tool_name: Option<u32>,
    excluded: bool,
}

impl Weight {
    /// The sum of what was found; none where the payload shows nothing that a model would read.
    fn total(&self) -> Option<u32> {
        let parts = [
            self.content,
            self.calls,
            self.summary,
            self.command,
            self.output,
        ];
        let sum = parts.into_iter().flatten().fold(0, u32::saturating_add);
        parts
            .iter()
            .any(Option::is_some)
            .then(|| sum.saturating_add(self.tool_name.unwrap_or_default()))
    }

    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("content") {
                self.content = self.content(cursor, MAX_DEPTH)?;
            } else if key.is("tool_calls") {
                self.calls = self.legacy_calls(cursor)?;
            } else if key.is("summary") {
                self.summary = self
                    .text(cursor)?
                    .map(|tokens| tokens.saturating_add(SUMMARY_TOKENS));
            } else if key.is("command") {
                self.command = self.text(cursor)?;
            } else if key.is("output") {
                self.output = self.text(cursor)?;
            } else if key.is("toolName") {
                self.tool_name = self.text(cursor)?;
            } else if key.is("excludeFromContext") {
                let span = cursor.skip_value()?;
                self.excluded = cursor.raw(span) == b"true";
            } else {
                cursor.skip_value()?;
            }
        }
        cursor.finish()
    }

    /// A string's tokens; any other value is read over.
    fn text(&self, cursor: &mut Cursor<'_>) -> Result<Option<u32>, JsonError> {
        if cursor.kind()? == Kind::String {
            return Ok(Some(count_json_text(self.family, &cursor.text()?)));
        }
        cursor.skip_value()?;
        Ok(None)
    }

    /// A string's tokens, or those of any other value as the JSON that it is.
    fn text_or_json(&self, cursor: &mut Cursor<'_>) -> Result<u32, JsonError> {
        if let Kind::String = cursor.kind()? {
            return Ok(count_json_text(self.family, &cursor.text()?));
        }
        let span = cursor.skip_value()?;
        Ok(raw(self.family, cursor.raw(span)))
    }

    fn content(&self, cursor: &mut Cursor<'_>, depth: usize) -> Result<Option<u32>, JsonError> {
        match cursor.kind()? {
            Kind::String => self.text(cursor),
            Kind::Null => cursor.skip_value().map(|_| None),
            Kind::Array if depth > 0 => {
                let mut sum = 0u32;
                cursor.begin_array()?;
                while cursor.next_element()? {
                    sum = sum.saturating_add(self.block(cursor, depth - 1)?);
                }
                Ok(Some(sum))
            }
            Kind::Array | Kind::Object | Kind::Number | Kind::Bool => {
                self.text_or_json(cursor).map(Some)
            }
        }
    }

    fn block(&self, cursor: &mut Cursor<'_>, depth: usize) -> Result<u32, JsonError> {
        match cursor.kind()? {
            Kind::Object => {}
            Kind::Null => return cursor.skip_value().map(|_| 0),
            Kind::Array | Kind::String | Kind::Number | Kind::Bool => {
                return self.text_or_json(cursor);
            }
        }
        let kind = block_type(cursor.clone())?;
        let start = cursor.offset();
        let (mut name, mut body) = (0, 0);
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match kind.part(&key) {
                Part::Name => name = self.text_or_json(cursor)?,
                Part::Body => body = self.text_or_json(cursor)?,
                Part::Blocks => body = self.content(cursor, depth)?.unwrap_or_default(),
                Part::Unread => {
                    cursor.skip_value()?;
                }
            }
        }
        Ok(match kind {
            BlockKind::Text | BlockKind::Thinking | BlockKind::Result => body,
            BlockKind::Call => body.saturating_add(name).saturating_add(TOOL_CALL_TOKENS),
            BlockKind::Image => IMAGE_TOKENS,
            BlockKind::Unknown => raw(self.family, cursor.raw(start..cursor.offset())),
        })
    }

    /// `tool_calls[].function {name, arguments}`.
    fn legacy_calls(&self, cursor: &mut Cursor<'_>) -> Result<Option<u32>, JsonError> {
        if cursor.kind()? != Kind::Array {
            return cursor.skip_value().map(|_| None);
        }
        let mut sum = 0u32;
        cursor.begin_array()?;
        while cursor.next_element()? {
            let span = cursor.skip_value()?;
            // The JSON of a call is its name, its arguments and its framing.
            sum = sum.saturating_add(raw(self.family, cursor.raw(span)));
        }
        Ok(Some(sum))
    }
}

#[derive(Clone, Copy)]
enum BlockKind {
    Text,
    Thinking,
    Call,
    Result,
    Image,
    Unknown,
}

/// How a member of a block is read.
enum Part {
    Name,
    Body,
    Blocks,
    Unread,
}

impl BlockKind {
    fn part(self, key: &Text<'_>) -> Part {
        match self {
            Self::Text if key.is("text") => Part::Body,
            Self::Thinking if key.is("thinking") => Part::Body,
            Self::Call if key.is("arguments") || key.is("input") => Part::Body,
            Self::Call if key.is("name") => Part::Name,
            Self::Result if key.is("content") => Part::Blocks,
            Self::Text
            | Self::Thinking
            | Self::Call
            | Self::Result
            | Self::Image
            | Self::Unknown => Part::Unread,
        }
    }
}

/// Reads ahead for the type: keys come in any order.
fn block_type(mut cursor: Cursor<'_>) -> Result<BlockKind, JsonError> {
    let mut kind = BlockKind::Unknown;
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        if key.is("type") && cursor.kind()? == Kind::String {
            kind = match &*cursor.text()?.decode() {
                "text" => BlockKind::Text,
                "thinking" => BlockKind::Thinking,
                "tool_result" => BlockKind::Result,
                "image" | "image_url" | "input_image" => BlockKind::Image,
                name if header::is_call_type(name) => BlockKind::Call,
                _ => BlockKind::Unknown,
            };
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(kind)
}
