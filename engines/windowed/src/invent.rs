//! Messages and texts that the engine writes itself, in the host's schema (R2.4).

use contextwire_engine::Message;
use contextwire_engine::json::{Edit, quote, splice};

use crate::body::{BlockKind, Body};

/// Stands for a result that has no content (BR-086).
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// Stands before a conversation whose user messages are not there (A14).
const EARLIER: &str = "[The conversation before this point is not shown.]";

/// Answers a call that nobody answered (A05).
const NO_RESULT: &str = "[No result was recorded for this tool call.]";

/// An edited form of a message: the same entry, and not an invention.
pub(crate) fn edited(original: &Message, edits: &[Edit]) -> Option<Message> {
    let payload = splice(original.payload(), edits).ok()?;
    let message = Message::from_payload(payload)
        .with_entry_id(original.entry_id().as_str())
        .with_log_entry_id(original.log_entry_id().cloned())
        .with_synthetic(original.is_synthetic());
    Some(message)
}

/// A user message that lets a list start as providers want it.
pub(crate) fn opening(timestamp_ms: Option<i64>) -> Message {
    let payload = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":{}}}]{}}}"#,
        quote(EARLIER),
        timestamp(timestamp_ms),
    );
    Message::from_payload(payload).with_synthetic(true)
}

/// An error result for a call that has none, in the shape in which the call was made.
pub(crate) fn missing_result(caller: &Message, body: &Body<'_>, id: &str) -> Message {
    let block_name = body.blocks().iter().find_map(|block| match &block.kind {
        BlockKind::Call {
            id: Some(own),
            name,
        } if own == id => Some(name.as_deref().unwrap_or("")),
        BlockKind::Call { .. }
        | BlockKind::Empty
        | BlockKind::Text(_)
        | BlockKind::Thinking
        | BlockKind::Image { .. }
        | BlockKind::Other => None,
    });
    let (id, text) = (quote(id), quote(NO_RESULT));
    let payload = match block_name {
        None if !body.legacy_calls.is_empty() => {
            format!(r#"{{"role":"tool","tool_call_id":{id},"content":{text}}}"#)
        }
        None | Some(_) => format!(
            r#"{{"role":"toolResult","toolCallId":{id},"toolName":{},"content":[{{"type":"text","text":{text}}}],"isError":true{}}}"#,
            quote(block_name.unwrap_or_default()),
            timestamp(caller.timestamp_ms()),
        ),
    };
    Message::from_payload(payload).with_synthetic(true)
}

/// A text block in the place of an image.
pub(crate) fn image_reference(mime: Option<&str>, bytes: usize) -> String {
    let text = format!("[{} of {bytes} bytes left out]", mime.unwrap_or("image"));
    format!(r#"{{"type":"text","text":{}}}"#, quote(&text))
}

fn timestamp(ms: Option<i64>) -> String {
    ms.map_or_else(String::new, |ms| format!(r#","timestamp":{ms}"#))
}
