//! One item of a rollout as a message, or as a part of the answer that it belongs to.

use bytes::Bytes;
use contextwire_client::store::derived;
use contextwire_engine::json::{ObjectWriter, quote};

use super::super::node::Node;
use super::content::{Blocks, arguments, written};

/// What begins a message that Codex itself puts in the user's name, where no kind says so.
const CONTEXT_MARKS: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "# agents.md instructions",
    "<skill>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<instructions>",
];

/// Bytes of a message around its content, roughly.
pub(super) const ENVELOPE: usize = 256;

/// A line feed as JSON has it.
const LINE_FEED: &str = r"\n";

/// What an item is to a conversation.
pub(super) enum Item {
    /// A part of the answer that the model is giving.
    Part(Part),
    /// A message of its own, under its role.
    Message(&'static str, Bytes),
    /// Known, and not seen by a model as a message.
    Silent,
    /// Of a type that is not known.
    Foreign,
    /// Of a known type, without a field that it needs.
    Malformed(&'static str),
}

/// A part of an answer.
pub(super) struct Part {
    /// Blocks of the answer's content.
    pub(super) blocks: Blocks,
    /// The tool that it calls.
    pub(super) call: Option<Call>,
}

/// A call, as its result names it.
pub(super) struct Call {
    pub(super) id: String,
    /// The tool's name, as JSON.
    pub(super) tool: String,
}

/// When an item was recorded, and what is known of the calls before it.
pub(super) struct Circumstances<'a> {
    pub(super) timestamp_ms: Option<i64>,
    /// The tool's name, as JSON, of the call with an id.
    pub(super) tool_of: &'a dyn Fn(&str) -> Option<String>,
}

pub(super) fn read(item_type: &str, fields: &Node<'_>, at: &Circumstances<'_>) -> Item {
    match item_type {
        "message" => message(fields, at),
        "reasoning" => Item::Part(Part {
            blocks: one(&thinking(fields)),
            call: None,
        }),
        "function_call" => call(
            fields,
            fields.get("name"),
            &arguments(fields.get("arguments")),
        ),
        "custom_tool_call" => call(fields, fields.get("name"), &input(fields.get("input"))),
        "local_shell_call" => call(fields, None, &arguments(fields.get("action"))),
        "function_call_output" | "custom_tool_call_output" => result(fields, at),
        "agent_message" => match fields.get("content") {
            Some(content) => custom(
                "codex.agent_message",
                &Blocks::of(content).finish(),
                None,
                at,
            ),
            None => Item::Malformed("content"),
        },
        "compaction" | "compaction_summary" | "context_compaction" => {
            let details = item_json(item_type, fields);
            custom("codex.compaction", "[]", Some(&details), at)
        }
        "web_search_call"
        | "image_generation_call"
        | "tool_search_call"
        | "tool_search_output"
        | "additional_tools"
        | "ghost_snapshot"
        | "compaction_trigger" => Item::Silent,
        _ => Item::Foreign,
    }
}

/// A message from one agent to another, which the recipient's model reads.
pub(super) fn between_agents(fields: &Node<'_>, at: &Circumstances<'_>) -> Item {
    match fields.get("content") {
        Some(content) => custom(
            "codex.agent_message",
            &Blocks::of(content).finish(),
            None,
            at,
        ),
        None => Item::Malformed("content"),
    }
}

fn message(fields: &Node<'_>, at: &Circumstances<'_>) -> Item {
    let Some(content) = fields.get("content") else {
        return Item::Malformed("content");
    };
    match fields.text_of("role").as_deref() {
        Some("assistant") => Item::Part(Part {
            blocks: Blocks::of(content),
            call: None,
        }),
        Some("user") if is_context(fields, content) => {
            custom("codex.context", &Blocks::of(content).finish(), None, at)
        }
        Some("user") => {
            let content = Blocks::of(content).finish();
            let payload = ObjectWriter::with_capacity(content.len() + ENVELOPE)
                .text("role", "user")
                .json("content", content.as_bytes());
            Item::Message("user", finish(payload, at))
        }
        Some("developer") => custom("codex.developer", &Blocks::of(content).finish(), None, at),
        Some("system") => custom("codex.system", &Blocks::of(content).finish(), None, at),
        Some(_) | None => Item::Malformed("role"),
    }
}

fn one(block: &str) -> Blocks {
    let mut blocks = Blocks::default();
    blocks.push(block);
    blocks
}

/// Whether Codex wrote a message in the user's name: surroundings, instructions, a summary.
fn is_context(fields: &Node<'_>, content: &Node<'_>) -> bool {
    let passthrough = fields.get("internal_chat_message_metadata_passthrough");
    let kinds = passthrough.and_then(|meta| meta.get("content_item_kinds")?.elements());
    let kinds: Vec<_> = kinds.into_iter().flatten().filter_map(Node::text).collect();
    if !kinds.is_empty() {
        return kinds
            .iter()
            .all(|kind| kind != "unknown" && !kind.starts_with("user."));
    }
    starts_with_a_mark(content.json())
}

/// Looks at the JSON itself, which begins with the first text: whole contents are long.
fn starts_with_a_mark(content: &str) -> bool {
    const LOOKED_AT: usize = 256;
    let start = content
        .get(..content.floor_char_boundary(LOOKED_AT))
        .unwrap_or_default();
    let text = match start.split_once(r#""text":"#) {
        Some((_, text)) => text,
        None => start,
    };
    let text = text.trim_start_matches([' ', '[', '"']);
    let text = text
        .trim_start_matches(LINE_FEED)
        .trim_start()
        .to_lowercase();
    CONTEXT_MARKS.iter().any(|mark| text.starts_with(mark))
}

/// A message that a model sees and nobody said, in the form of a `custom_message` entry.
fn custom(kind: &str, content: &str, details: Option<&str>, at: &Circumstances<'_>) -> Item {
    let kind = quote(kind);
    let field = |key: &str| match key {
        "customType" => Some(kind.as_bytes()),
        "content" => Some(content.as_bytes()),
        "display" => Some(&b"false"[..]),
        "details" => details.map(str::as_bytes),
        _ => None,
    };
    Item::Message("custom", derived::custom_message(field, at.timestamp_ms))
}

fn thinking(fields: &Node<'_>) -> String {
    let parts = ["summary", "content"]
        .into_iter()
        .filter_map(|key| fields.get(key)?.elements())
        .flatten();
    let texts: Vec<&Node<'_>> = parts.filter_map(|part| part.get("text")).collect();
    let thinking = match texts.as_slice() {
        [] => "\"\"".to_owned(),
        // The only one keeps its bytes.
        [one] => one.json().to_owned(),
        many => {
            let many: Vec<_> = many.iter().filter_map(|one| one.text()).collect();
            quote(&many.join("\n\n"))
        }
    };
    let signature = fields
        .raw("encrypted_content")
        .filter(|value| *value != b"null");
    written(
        ObjectWriter::new()
            .text("type", "thinking")
            .json("thinking", thinking.as_bytes())
            .maybe("thinkingSignature", signature),
    )
}

fn input(input: Option<&Node<'_>>) -> String {
    match input {
        Some(input) => format!("{{\"input\":{}}}", input.json()),
        None => "{}".to_owned(),
    }
}

fn call(fields: &Node<'_>, name: Option<&Node<'_>>, arguments: &str) -> Item {
    let id = fields
        .get("call_id")
        .filter(|id| id.is_text())
        .or_else(|| fields.get("id"));
    let Some(id) = id.filter(|id| id.is_text()) else {
        return Item::Malformed("call_id");
    };
    let tool = name.map_or_else(|| quote("local_shell"), |name| name.json().to_owned());
    let block = ObjectWriter::new()
        .text("type", "toolCall")
        .json("id", id.json().as_bytes())
        .json("name", tool.as_bytes())
        .json("arguments", arguments.as_bytes());
    Item::Part(Part {
        blocks: one(&written(block)),
        call: id.text().map(|id| Call {
            id: id.into_owned(),
            tool,
        }),
    })
}

fn result(fields: &Node<'_>, at: &Circumstances<'_>) -> Item {
    let (Some(id), Some(output)) = (fields.get("call_id"), fields.get("output")) else {
        return Item::Malformed("call_id");
    };
    let tool = id.text().and_then(|id| (at.tool_of)(&id));
    let as_object = Some(output).filter(|output| output.is_object());
    let failed = as_object.is_some_and(|output| output.raw("success") == Some(b"false"));
    let content = match as_object.map(|output| output.get("content")) {
        Some(Some(content)) => Blocks::of(content),
        // JSON of any other form is the text that a model reads.
        Some(None) => {
            let mut blocks = Blocks::default();
            blocks.text(&quote(output.json()));
            blocks
        }
        None => Blocks::of(output),
    };
    let content = content.finish();
    let payload = ObjectWriter::with_capacity(content.len() + ENVELOPE)
        .text("role", "toolResult")
        .json("toolCallId", id.json().as_bytes())
        .maybe("toolName", tool.as_deref().map(str::as_bytes))
        .json("content", content.as_bytes())
        .json("isError", if failed { b"true" } else { b"false" });
    Item::Message("toolResult", finish(payload, at))
}

fn item_json(item_type: &str, fields: &Node<'_>) -> String {
    let item = ObjectWriter::new().text("type", item_type);
    let rest = fields.fields().filter(|(name, _)| *name != "type");
    written(rest.fold(item, |item, (name, value)| {
        item.json(name, value.json().as_bytes())
    }))
}

fn finish(payload: ObjectWriter, at: &Circumstances<'_>) -> Bytes {
    let timestamp_ms = at.timestamp_ms.unwrap_or(0).to_string();
    payload.json("timestamp", timestamp_ms.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_codex_puts_in_the_users_name_is_told_by_how_it_begins() {
        for context in [
            r#"[{"type":"input_text","text":"<environment_context>\n"}]"#,
            r#"[{"type": "text", "text": "\n\n<user_instructions>"}]"#,
            r##""# AGENTS.md instructions for /w""##,
        ] {
            assert!(starts_with_a_mark(context), "{context}");
        }
        for said in [
            r#"[{"type":"input_text","text":"what is <environment_context>?"}]"#,
            r#"[{"type":"input_text","text":"満潮"}]"#,
            "[]",
            r#""""#,
        ] {
            assert!(!starts_with_a_mark(said), "{said}");
        }
    }
}
