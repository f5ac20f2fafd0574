//! What the rules look at in a payload, found in one scan.

use std::borrow::Cow;
use std::ops::Range;

use contextwire_engine::header::is_call_type;
use contextwire_engine::json::{Cursor, JsonError, Kind, Text};

/// A payload's parts with their places in it; duplicate keys: the last one wins.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    /// Whether the payload is one whole JSON object.
    pub(crate) is_readable: bool,
    pub(crate) content: Content<'a>,
    /// Whether the answer broke off: stop reason `aborted` or `error`.
    pub(crate) is_aborted: bool,
    pub(crate) provider: Option<Cow<'a, str>>,
    pub(crate) model: Option<Cow<'a, str>>,
    /// Text of a summary.
    pub(crate) summary: Option<Text<'a>>,
    /// Output of a shell command.
    pub(crate) output: Option<Text<'a>>,
    /// Each `tool_calls` member with the comma that goes with it.
    pub(crate) legacy_calls: Vec<Range<usize>>,
    /// Offset behind the brace that opens the payload.
    pub(crate) open: usize,
}

/// The value of `content`.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    Absent,
    Null(Range<usize>),
    Text(Text<'a>),
    Blocks(Range<usize>, Vec<Block<'a>>),
    Other(Range<usize>),
}

#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) span: Range<usize>,
    pub(crate) kind: BlockKind<'a>,
}

#[derive(Debug)]
pub(crate) enum BlockKind<'a> {
    /// Null, or a text block without a text.
    Empty,
    /// Text, blank or not.
    Text(Text<'a>),
    Thinking,
    /// A tool call; without an id nothing can answer it.
    Call {
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
    },
    Image {
        mime: Option<Cow<'a, str>>,
    },
    Other,
}

impl<'a> Body<'a> {
    pub(crate) fn of(payload: &'a [u8]) -> Self {
        let mut body = Self::default();
        body.is_readable = body.read(&mut Cursor::new(payload)).is_ok();
        body
    }

    pub(crate) fn blocks(&self) -> &[Block<'a>] {
        match &self.content {
            Content::Blocks(_, blocks) => blocks,
            Content::Absent | Content::Null(_) | Content::Text(_) | Content::Other(_) => &[],
        }
    }

    pub(crate) fn images(&self) -> impl DoubleEndedIterator<Item = &Block<'a>> {
        self.blocks()
            .iter()
            .filter(|block| matches!(block.kind, BlockKind::Image { .. }))
    }

    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        self.open = cursor.offset();
        // Where the member before ends, and the first member if that is a `tool_calls`.
        let (mut before, mut first_calls) = (None, None);
        while let Some(key) = cursor.next_key()? {
            if let Some(start) = first_calls.take() {
                self.legacy_calls.push(start..key.span().start);
            }
            if key.is("tool_calls") {
                let value = cursor.skip_value()?;
                match before {
                    Some(start) => self.legacy_calls.push(start..value.end),
                    None => first_calls = Some(key.span().start),
                }
            } else {
                self.member(&key, cursor)?;
            }
            before = Some(cursor.offset());
        }
        if let (Some(start), Some(end)) = (first_calls, before) {
            self.legacy_calls.push(start..end);
        }
        cursor.finish()
    }

    fn member(&mut self, key: &Text<'a>, cursor: &mut Cursor<'a>) -> Result<(), JsonError> {
        if key.is("content") {
            self.content = content(cursor)?;
        } else if key.is("stopReason") || key.is("stop_reason") {
            let reason = text(cursor)?;
            self.is_aborted = reason.is_some_and(|text| text.is("aborted") || text.is("error"));
        } else if key.is("provider") {
            self.provider = text(cursor)?.map(|text| text.decode());
        } else if key.is("model") {
            self.model = text(cursor)?.map(|text| text.decode());
        } else if key.is("summary") {
            self.summary = text(cursor)?;
        } else if key.is("output") {
            self.output = text(cursor)?;
        } else {
            cursor.skip_value()?;
        }
        Ok(())
    }
}

/// Whether a text shows nothing.
pub(crate) fn is_blank_text(text: &Text<'_>) -> bool {
    // Most texts show something in their first bytes, before any escape; others are decoded.
    let plain = text
        .raw()
        .iter()
        .take(16)
        .take_while(|byte| **byte != b'\\');
    !plain.into_iter().any(u8::is_ascii_graphic) && text.decode().trim().is_empty()
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Text<'a>>, JsonError> {
    if cursor.kind()? == Kind::String {
        return cursor.text().map(Some);
    }
    cursor.skip_value()?;
    Ok(None)
}

fn content<'a>(cursor: &mut Cursor<'a>) -> Result<Content<'a>, JsonError> {
    match cursor.kind()? {
        Kind::String => Ok(Content::Text(cursor.text()?)),
        Kind::Null => Ok(Content::Null(cursor.skip_value()?)),
        Kind::Object | Kind::Number | Kind::Bool => Ok(Content::Other(cursor.skip_value()?)),
        Kind::Array => {
            let mut blocks = Vec::new();
            cursor.begin_array()?;
            let start = cursor.offset() - 1;
            while cursor.next_element()? {
                let mut inside = cursor.clone();
                let span = cursor.skip_value()?;
                blocks.push(Block {
                    span,
                    kind: block_kind(&mut inside)?,
                });
            }
            Ok(Content::Blocks(start..cursor.offset(), blocks))
        }
    }
}

fn block_kind<'a>(cursor: &mut Cursor<'a>) -> Result<BlockKind<'a>, JsonError> {
    match cursor.kind()? {
        Kind::Null => return Ok(BlockKind::Empty),
        Kind::Object => cursor.begin_object()?,
        Kind::String => return Ok(BlockKind::Text(cursor.text()?)),
        Kind::Array | Kind::Number | Kind::Bool => return Ok(BlockKind::Other),
    }
    let (mut kind, mut body, mut id, mut name, mut mime) = (None, None, None, None, None);
    while let Some(key) = cursor.next_key()? {
        let slot = match () {
            () if key.is("type") => &mut kind,
            () if key.is("text") => &mut body,
            () if key.is("id") => &mut id,
            () if key.is("name") => &mut name,
            () if key.is("mimeType") => &mut mime,
            () => {
                cursor.skip_value()?;
                continue;
            }
        };
        *slot = text(cursor)?;
    }
    let decode = |text: Option<Text<'a>>| text.map(|text| text.decode());
    Ok(match decode(kind).as_deref() {
        Some("text") => body.map_or(BlockKind::Empty, BlockKind::Text),
        Some("thinking" | "redacted_thinking") => BlockKind::Thinking,
        Some("image" | "image_url" | "input_image") => BlockKind::Image { mime: decode(mime) },
        Some(call) if is_call_type(call) => {
            let id = decode(id).filter(|id| !id.is_empty());
            BlockKind::Call {
                id,
                name: decode(name),
            }
        }
        Some(_) | None => BlockKind::Other,
    })
}
