//! What a payload weighs in a prompt.

use std::ops::Add as _;

use crate::header;
use crate::json::{Cursor, JsonError, Kind, Text};
use crate::tokens::tally::{Amount, Precision, Tally};
use crate::tokens::{
    IMAGE_TOKENS, MESSAGE_TOKENS, ModelFamily, SUMMARY_TOKENS, TOOL_CALL_TOKENS, clamp,
    count_json_text, count_text,
};

/// Content inside content (a result block with blocks of its own) is opened this deep; what lies
/// deeper is counted as the text that it is.
const MAX_DEPTH: usize = 4;

/// Tokens of one payload; of bytes that are no message, tokens of the bytes.
pub(super) fn payload(counter: Counter, payload: &[u8]) -> Tally {
    let mut weight = Weight {
        counter,
        ..Weight::default()
    };
    let outcome = weight.read(&mut Cursor::new(payload));
    if weight.excluded {
        return Tally::default();
    }
    let content = match (outcome, weight.total()) {
        (Ok(()), Some(tally)) => tally,
        (Ok(()), None) | (Err(_), _) => other(counter.raw(payload)),
    };
    content + Tally::framing(MESSAGE_TOKENS)
}

/// Counts texts for a family of models.
#[derive(Clone, Copy, Default)]
pub(super) struct Counter {
    pub(super) family: ModelFamily,
    pub(super) precision: Precision,
}

impl Counter {
    fn raw(self, bytes: &[u8]) -> Amount {
        let text = String::from_utf8_lossy(bytes);
        let tokens = match self.precision {
            Precision::Estimate => count_text(self.family, &text),
            Precision::Exact => clamp(self.family.encoding().count(&*text)),
        };
        Amount {
            tokens,
            bytes: text.len() as u64,
        }
    }

    fn text(self, text: &Text<'_>) -> Amount {
        match self.precision {
            Precision::Estimate => Amount {
                tokens: count_json_text(self.family, text),
                bytes: text.raw().len() as u64,
            },
            Precision::Exact => self.raw(text.decode().as_bytes()),
        }
    }
}

fn text(text: Amount) -> Tally {
    Tally {
        text,
        ..Tally::default()
    }
}

fn commands(commands: Amount) -> Tally {
    Tally {
        commands,
        ..Tally::default()
    }
}

fn other(other: Amount) -> Tally {
    Tally {
        other,
        ..Tally::default()
    }
}

/// One slot a key: the last of duplicate keys wins.
#[derive(Default)]
struct Weight {
    counter: Counter,
    content: Option<Tally>,
    calls: Option<Tally>,
    summary: Option<Tally>,
    command: Option<Tally>,
    output: Option<Tally>,
    tool_name: Option<Tally>,
    excluded: bool,
}

impl Weight {
    /// The sum of what was found; none where the payload shows nothing that a model would read.
    fn total(&self) -> Option<Tally> {
        let parts = [
            self.content,
            self.calls,
            self.summary,
            self.command,
            self.output,
        ];
        let sum = parts
            .into_iter()
            .flatten()
            .fold(Tally::default(), Tally::add);
        parts
            .iter()
            .any(Option::is_some)
            .then(|| sum + self.tool_name.unwrap_or_default())
    }

    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("content") {
                self.content = self.content(cursor, MAX_DEPTH)?;
            } else if key.is("tool_calls") {
                self.calls = self.legacy_calls(cursor)?;
            } else if key.is("summary") {
                self.summary = self.text(cursor)?.map(|summary| {
                    let summary = Tally {
                        summary,
                        ..Tally::default()
                    };
                    summary + Tally::framing(SUMMARY_TOKENS)
                });
            } else if key.is("command") {
                self.command = self.text(cursor)?.map(commands);
            } else if key.is("output") {
                self.output = self.text(cursor)?.map(commands);
            } else if key.is("toolName") {
                self.tool_name = self.text(cursor)?.map(text);
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
    fn text(&self, cursor: &mut Cursor<'_>) -> Result<Option<Amount>, JsonError> {
        if cursor.kind()? == Kind::String {
            return Ok(Some(self.counter.text(&cursor.text()?)));
        }
        cursor.skip_value()?;
        Ok(None)
    }

    /// A string's tokens, or those of any other value as the JSON that it is.
    fn text_or_json(&self, cursor: &mut Cursor<'_>) -> Result<Amount, JsonError> {
        if let Kind::String = cursor.kind()? {
            return Ok(self.counter.text(&cursor.text()?));
        }
        let span = cursor.skip_value()?;
        Ok(self.counter.raw(cursor.raw(span)))
    }

    fn content(&self, cursor: &mut Cursor<'_>, depth: usize) -> Result<Option<Tally>, JsonError> {
        match cursor.kind()? {
            Kind::String => Ok(self.text(cursor)?.map(text)),
            Kind::Null => cursor.skip_value().map(|_| None),
            Kind::Array if depth > 0 => {
                let mut sum = Tally::default();
                cursor.begin_array()?;
                while cursor.next_element()? {
                    sum = sum + self.block(cursor, depth - 1)?;
                }
                Ok(Some(sum))
            }
            Kind::Array | Kind::Object | Kind::Number | Kind::Bool => {
                self.text_or_json(cursor).map(other).map(Some)
            }
        }
    }

    fn block(&self, cursor: &mut Cursor<'_>, depth: usize) -> Result<Tally, JsonError> {
        match cursor.kind()? {
            Kind::Object => {}
            Kind::Null => return cursor.skip_value().map(|_| Tally::default()),
            Kind::Array | Kind::String | Kind::Number | Kind::Bool => {
                return self.text_or_json(cursor).map(text);
            }
        }
        let kind = block_type(cursor.clone())?;
        let start = cursor.offset();
        let (mut name, mut body) = (Amount::default(), Amount::default());
        let mut blocks = Tally::default();
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match kind.part(&key) {
                Part::Name => name = self.text_or_json(cursor)?,
                Part::Body => body = self.text_or_json(cursor)?,
                Part::Blocks => blocks = self.content(cursor, depth)?.unwrap_or_default(),
                Part::Unread => {
                    cursor.skip_value()?;
                }
            }
        }
        let block = cursor.raw(start..cursor.offset());
        Ok(match kind {
            BlockKind::Text => text(body),
            BlockKind::Thinking => Tally {
                thinking: body,
                ..Tally::default()
            },
            BlockKind::Result => blocks,
            BlockKind::Call => {
                let calls = Tally {
                    calls: body + name,
                    ..Tally::default()
                };
                calls + Tally::framing(TOOL_CALL_TOKENS)
            }
            BlockKind::Image => Tally {
                images: Amount {
                    tokens: IMAGE_TOKENS,
                    bytes: block.len() as u64,
                },
                ..Tally::default()
            },
            BlockKind::Unknown => other(self.counter.raw(block)),
        })
    }

    /// `tool_calls[].function {name, arguments}`.
    fn legacy_calls(&self, cursor: &mut Cursor<'_>) -> Result<Option<Tally>, JsonError> {
        if cursor.kind()? != Kind::Array {
            return cursor.skip_value().map(|_| None);
        }
        let mut calls = Amount::default();
        cursor.begin_array()?;
        while cursor.next_element()? {
            let span = cursor.skip_value()?;
            // The JSON of a call is its name, its arguments and its framing.
            calls = calls + self.counter.raw(cursor.raw(span));
        }
        Ok(Some(Tally {
            calls,
            ..Tally::default()
        }))
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
