//! What of a message may be sent: nothing that a strict provider rejects.

use contextwire_engine::Message;
use contextwire_engine::json::{self, Edit};

use crate::body::{Block, BlockKind, Body, Content, is_blank_text};
use crate::invent;

/// The model that will read the context, as far as the host named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader<'a> {
    /// Its provider.
    pub provider: Option<&'a str>,
    /// Its id.
    pub model: Option<&'a str>,
}

impl Reader<'_> {
    /// Whether this model wrote the message, so that it may see its own signed thinking again
    /// (A17). What is not known to differ is the same.
    fn wrote(&self, body: &Body<'_>) -> bool {
        let (Some(reader), Some(writer)) = (self.model, body.model.as_deref()) else {
            return true;
        };
        let (named, reader) = match reader.split_once('/') {
            Some((provider, model)) if !writer.contains('/') => (Some(provider), model),
            Some(_) | None => (None, reader),
        };
        let provider = self.provider.or(named);
        let same_provider = match (provider, body.provider.as_deref()) {
            (Some(reader), Some(writer)) => reader.eq_ignore_ascii_case(writer),
            (Some(_) | None, None) | (None, Some(_)) => true,
        };
        same_provider && reader.eq_ignore_ascii_case(writer)
    }
}

/// Whether a message shows a model nothing: no text, no call, no image (A16).
///
/// Tool results and messages of roles that only the host knows are never blank.
pub fn is_blank(message: &Message) -> bool {
    is_unsendable(message, &Body::of(message.payload()))
}

pub(crate) fn is_unsendable(message: &Message, body: &Body<'_>) -> bool {
    if !body.is_readable || message.omitted().is_some() {
        return false;
    }
    match message.role() {
        "assistant" => {
            let has_calls = !body.legacy_calls.is_empty() && !body.is_aborted;
            !has_calls && !shows(body, |block| keeps(block, body, true))
        }
        "user" | "system" | "developer" | "custom" => {
            !shows(body, |block| keeps(block, body, true))
        }
        "branchSummary" | "compactionSummary" => body.summary.as_ref().is_none_or(is_blank_text),
        _ => false,
    }
}

/// Whether the content of such messages goes to a provider as it stands.
fn is_plain(message: &Message) -> bool {
    matches!(
        message.role(),
        "assistant" | "user" | "system" | "developer" | "custom"
    )
}

/// Whether content shows something, given which blocks stay.
fn shows(body: &Body<'_>, keeps: impl Fn(&Block<'_>) -> bool) -> bool {
    match &body.content {
        Content::Absent | Content::Null(_) => false,
        Content::Text(text) => !is_blank_text(text),
        Content::Other(_) => true,
        Content::Blocks(_, blocks) => blocks
            .iter()
            .any(|block| keeps(block) && !matches!(block.kind, BlockKind::Thinking)),
    }
}

/// Whether a block may be sent. Calls of an answer that broke off may be half written (A06), and so
/// may its thinking.
fn keeps(block: &Block<'_>, body: &Body<'_>, own_thinking: bool) -> bool {
    match &block.kind {
        BlockKind::Empty => false,
        BlockKind::Text(text) => !is_blank_text(text),
        BlockKind::Thinking => own_thinking && !body.is_aborted,
        BlockKind::Call { id, .. } => id.is_some() && !body.is_aborted,
        BlockKind::Image { .. } | BlockKind::Other => true,
    }
}

/// Edits that make a sendable message clean; none where it is clean already. `images` of the oldest
/// images give way to a reference.
pub(crate) fn edits(
    message: &Message,
    body: &Body<'_>,
    reader: &Reader<'_>,
    images: usize,
) -> Vec<Edit> {
    let is_result = message.tool_result_for().is_some();
    if !body.is_readable || message.omitted().is_some() || !(is_result || is_plain(message)) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    if message.role() == "assistant" && body.is_aborted {
        edits.extend(
            body.legacy_calls
                .iter()
                .map(|span| Edit::new(span.clone(), "")),
        );
    }
    let own_thinking = reader.wrote(body);
    if is_result && !shows(body, |block| keeps(block, body, own_thinking)) {
        edits.push(set_content(body, invent::NO_OUTPUT));
    } else if let Content::Blocks(span, blocks) = &body.content {
        let rebuilt = rebuild(message.payload(), blocks, images, |block| {
            keeps(block, body, own_thinking)
        });
        edits.extend(rebuilt.map(|value| Edit::new(span.clone(), value)));
    }
    edits.sort_by_key(|edit| edit.span.start);
    edits
}

/// Puts one text in the place of the whole content.
pub(crate) fn set_content(body: &Body<'_>, text: &str) -> Edit {
    let blocks = format!(r#"[{{"type":"text","text":{}}}]"#, json::quote(text));
    match &body.content {
        Content::Absent => Edit::new(body.open..body.open, format!(r#""content":{blocks},"#)),
        Content::Text(old) => Edit::new(old.span(), json::quote(text)),
        Content::Null(span) | Content::Blocks(span, _) | Content::Other(span) => {
            Edit::new(span.clone(), blocks)
        }
    }
}

/// The content array with the blocks that stay, byte for byte; none where all do.
fn rebuild(
    payload: &[u8],
    blocks: &[Block<'_>],
    mut images: usize,
    keeps: impl Fn(&Block<'_>) -> bool,
) -> Option<Vec<u8>> {
    if images == 0 && blocks.iter().all(&keeps) {
        return None;
    }
    let mut array = vec![b'['];
    for block in blocks.iter().filter(|block| keeps(block)) {
        if array.len() > 1 {
            array.push(b',');
        }
        match &block.kind {
            BlockKind::Image { mime } if images > 0 => {
                images -= 1;
                array.extend(invent::image_reference(mime.as_deref(), block.span.len()).bytes());
            }
            BlockKind::Image { .. }
            | BlockKind::Empty
            | BlockKind::Text(_)
            | BlockKind::Thinking
            | BlockKind::Call { .. }
            | BlockKind::Other => {
                array.extend(payload.get(block.span.clone()).unwrap_or_default());
            }
        }
    }
    array.push(b']');
    Some(array)
}
