//! A message as text that a thread is shown (HOST-SEMANTICS 6.4).
//!
//! Payloads of hosts differ: OpenClaw's, and those of OpenAI and Anthropic, are read alike. What is
//! broken is read as far as it goes.

use std::borrow::Cow;

use contextwire_engine::json::{Cursor, JsonError, Kind, ObjectWriter};
use contextwire_engine::{Message, header};

use super::redact::redact;
use super::shape::shape;

const RESULT_ROLES: [&str; 3] = ["toolResult", "tool", "function"];
const RESULT_BLOCKS: [&str; 3] = ["toolResult", "tool_result", "function_call_output"];
const TEXT_BLOCKS: [&str; 3] = ["text", "input_text", "output_text"];
const IMAGE_BLOCKS: [&str; 3] = ["image", "image_url", "input_image"];
const ARGUMENTS: [&str; 3] = ["arguments", "input", "args"];
const IMAGE: &str = "[image omitted]";
const NON_TEXT: &str = "[non-text content omitted]";

/// What is shown of tool calls and their results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    /// That they were there, for a context that is sent with every turn.
    Elided,
    /// The shape of a call's input and the redacted result, for one that is sent once.
    Preserved,
}

/// A message that has something to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    /// What stands in brackets above its text.
    pub(super) label: String,
    /// Its parts.
    pub(super) parts: Vec<String>,
    /// Whether all of them only say that something was there.
    pub(super) is_stub: bool,
    /// The payload's own key, where the host writes one.
    pub(super) idempotency_key: Option<String>,
}

/// The text of a message; `None` where it has none, or is not for the model.
pub(super) fn render(message: &Message, payloads: Payloads) -> Option<Rendered> {
    let fields = Fields::of(message.payload());
    if fields.is_excluded {
        return None;
    }
    let mut parts = Parts::new(payloads);
    let role = message.role();
    // What was read before a break counts.
    if message.tool_result_for().is_some() || RESULT_ROLES.contains(&role) {
        parts.result(message.tool_result_for(), fields.content);
    } else {
        let _ = parts.content(fields.content);
        let _ = parts.legacy_calls(fields.tool_calls);
    }
    for text in [&fields.summary, &fields.command, &fields.output] {
        parts.text(text.as_deref().unwrap_or_default());
    }
    let has_text = parts.list.iter().any(|part| !part.trim().is_empty());
    has_text.then(|| Rendered {
        label: label(role, &fields),
        is_stub: parts.is_stub,
        parts: parts.list,
        idempotency_key: fields.idempotency_key.map(Cow::into_owned),
    })
}

/// The role, and who a user is where the host vouches for an id.
fn label(role: &str, fields: &Fields<'_>) -> String {
    let role = if role.trim().is_empty() {
        "message"
    } else {
        role
    };
    let role: String = role.chars().filter(|it| !it.is_control()).collect();
    match &fields.sender_id {
        Some(id) if role == "user" && !id.trim().is_empty() => {
            let mut sender = ObjectWriter::new().text("id", id);
            if let Some(name) = &fields.sender_name {
                sender = sender.text("name", name);
            }
            let sender = sender.finish();
            format!("user sender={}", String::from_utf8_lossy(&sender))
        }
        Some(_) | None => role,
    }
}

/// The top level of a payload, as far as it is shown.
#[derive(Default)]
struct Fields<'a> {
    content: &'a [u8],
    tool_calls: &'a [u8],
    summary: Option<Cow<'a, str>>,
    command: Option<Cow<'a, str>>,
    output: Option<Cow<'a, str>>,
    idempotency_key: Option<Cow<'a, str>>,
    sender_id: Option<Cow<'a, str>>,
    sender_name: Option<Cow<'a, str>>,
    is_excluded: bool,
}

impl<'a> Fields<'a> {
    fn of(payload: &'a [u8]) -> Self {
        let mut fields = Self::default();
        let _ = fields.read(&mut Cursor::new(payload));
        fields
    }

    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match &*key.decode() {
                "content" => self.content = value(cursor)?,
                "tool_calls" => self.tool_calls = value(cursor)?,
                "summary" => self.summary = string(cursor)?,
                "command" => self.command = string(cursor)?.map(|text| format!("$ {text}").into()),
                "output" => self.output = string(cursor)?,
                "idempotencyKey" => self.idempotency_key = string(cursor)?,
                "excludeFromContext" => self.is_excluded = value(cursor)? == b"true",
                "__openclaw" => self.read_sender(cursor)?,
                _ => {
                    cursor.skip_value()?;
                }
            }
        }
        Ok(())
    }

    fn read_sender(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonError> {
        if cursor.kind()? != Kind::Object {
            return cursor.skip_value().map(drop);
        }
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("senderId") {
                self.sender_id = string(cursor)?;
            } else if key.is("senderName") {
                self.sender_name = string(cursor)?;
            } else {
                cursor.skip_value()?;
            }
        }
        Ok(())
    }
}

/// The bytes of the next value.
fn value<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], JsonError> {
    let span = cursor.skip_value()?;
    Ok(cursor.raw(span))
}

/// The next value where it is a string; any other is read over.
fn string<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Cow<'a, str>>, JsonError> {
    if cursor.kind()? == Kind::String {
        return Ok(Some(cursor.text()?.decode()));
    }
    cursor.skip_value()?;
    Ok(None)
}

/// The texts of a message, in order.
struct Parts {
    payloads: Payloads,
    list: Vec<String>,
    is_stub: bool,
}

impl Parts {
    fn new(payloads: Payloads) -> Self {
        Self {
            payloads,
            list: Vec::new(),
            is_stub: true,
        }
    }

    /// Something that somebody said.
    fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.list.push(text.to_owned());
            self.is_stub = false;
        }
    }

    /// A word that something was there.
    fn stub(&mut self, text: impl Into<String>) {
        self.list.push(text.into());
    }

    /// `content` of a message that is no tool result.
    fn content(&mut self, content: &[u8]) -> Result<(), JsonError> {
        let mut cursor = Cursor::new(content);
        if content.is_empty() {
            return Ok(());
        }
        match cursor.kind()? {
            Kind::String => self.text(&cursor.text()?.decode()),
            Kind::Array => self.blocks(&mut cursor)?,
            Kind::Null => {}
            Kind::Object | Kind::Number | Kind::Bool => self.stub(NON_TEXT),
        }
        Ok(())
    }

    fn blocks(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        cursor.begin_array()?;
        while cursor.next_element()? {
            if cursor.kind()? != Kind::Object {
                cursor.skip_value()?;
                continue;
            }
            let block = Block::of(value(cursor)?);
            self.block(&block);
        }
        Ok(())
    }

    fn block(&mut self, block: &Block<'_>) {
        match &*block.kind {
            kind if TEXT_BLOCKS.contains(&kind) || kind.is_empty() => self.text(&block.text),
            kind if IMAGE_BLOCKS.contains(&kind) => self.stub(IMAGE),
            kind if header::is_call_type(kind) => self.call(block),
            kind if RESULT_BLOCKS.contains(&kind) => {
                self.result(block.answers.as_deref(), block.content);
            }
            kind => self.stub(format!("[{kind} content omitted]")),
        }
    }

    /// A call: its name, and the shape of what it was given.
    fn call(&mut self, block: &Block<'_>) {
        let name = if block.name.is_empty() {
            "unknown"
        } else {
            &block.name
        };
        match self.payloads {
            Payloads::Elided => self.stub(format!("tool call: {name} [input omitted]")),
            Payloads::Preserved => {
                let mut object = ObjectWriter::new()
                    .text("type", &block.kind)
                    .text("name", name);
                if !block.id.is_empty() {
                    object = object.text("id", &block.id);
                }
                let shape = shape(block.arguments);
                let call = object.json("inputShape", shape.as_bytes()).finish();
                let call = String::from_utf8_lossy(&call);
                self.stub(format!("tool call: {name}\n{call}"));
            }
        }
    }

    /// A result: that it was there, or its text without secrets.
    fn result(&mut self, answers: Option<&str>, content: &[u8]) {
        let mut shown = Self::new(self.payloads);
        match self.payloads {
            Payloads::Elided => {
                let id = answers.unwrap_or("unknown");
                self.stub(format!("tool result: {id} [content omitted]"));
                return;
            }
            Payloads::Preserved => {
                let _ = shown.content(content);
            }
        }
        self.is_stub &= shown.is_stub;
        let texts = shown.list.iter().map(|text| redact(text));
        self.list.extend(texts);
    }

    /// Calls beside the content, as OpenAI's chat messages have them.
    fn legacy_calls(&mut self, calls: &[u8]) -> Result<(), JsonError> {
        let mut cursor = Cursor::new(calls);
        if calls.is_empty() || cursor.kind()? != Kind::Array {
            return Ok(());
        }
        cursor.begin_array()?;
        while cursor.next_element()? {
            if cursor.kind()? == Kind::Object {
                let call = Block::of(value(&mut cursor)?);
                self.call(&call);
            } else {
                cursor.skip_value()?;
            }
        }
        Ok(())
    }
}

/// A block of a message's content.
#[derive(Default)]
struct Block<'a> {
    kind: Cow<'a, str>,
    text: Cow<'a, str>,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    answers: Option<Cow<'a, str>>,
    arguments: &'a [u8],
    content: &'a [u8],
}

impl<'a> Block<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut block = Self::default();
        let _ = block.read(&mut Cursor::new(bytes));
        block
    }

    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match &*key.decode() {
                "type" => self.kind = string(cursor)?.unwrap_or_default(),
                "text" => self.text = string(cursor)?.unwrap_or_default(),
                "id" | "call_id" => self.id = string(cursor)?.unwrap_or_default(),
                "name" => self.name = string(cursor)?.unwrap_or_default(),
                "toolCallId" | "tool_use_id" | "tool_call_id" => self.answers = string(cursor)?,
                "content" | "output" => self.content = value(cursor)?,
                "function" if cursor.kind()? == Kind::Object => self.read(cursor)?,
                key if ARGUMENTS.contains(&key) => self.arguments = value(cursor)?,
                _ => {
                    cursor.skip_value()?;
                }
            }
        }
        Ok(())
    }
}
