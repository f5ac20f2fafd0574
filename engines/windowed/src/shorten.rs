//! Tool output cut to its head and tail, with a note of what is missing.

use std::ops::Range;

use contextwire_engine::Message;
use contextwire_engine::json::{Edit, quote};
use contextwire_engine::tokens::{ModelFamily, count_text, estimate_message};

use crate::body::{BlockKind, Body, Content};
use crate::clean::set_content;
use crate::invent;
use crate::slice::is_result;

/// Room for the note between head and tail, in tokens.
const NOTE_TOKENS: u32 = 24;
/// A shorter rest says nothing that the note does not.
const MIN_KEPT_BYTES: usize = 32;
/// Tries at a cut that fits before only the note is left.
const TRIES: usize = 12;

/// Whether a message is tool output, which loses little by losing its middle.
pub fn can_shorten(message: &Message) -> bool {
    is_result(message) || message.role() == "bashExecution"
}

/// The message with its texts cut so that it costs at most `limit` tokens; none where it does
/// already, or where nothing can be cut. `handle` names where the whole text is, if anywhere.
pub fn shorten(
    message: &Message,
    limit: u32,
    family: ModelFamily,
    handle: Option<&str>,
) -> Option<Message> {
    let tokens = estimate_message(family, message);
    if tokens <= limit {
        return None;
    }
    let body = Body::of(message.payload());
    if message.omitted().is_none() {
        let texts = Texts::of(&body, family);
        let rest = tokens.saturating_sub(texts.tokens());
        let cut = texts.cut(limit.saturating_sub(rest), family, handle);
        let short = invent::edited(message, &cut);
        if let Some(short) = short.filter(|short| estimate_message(family, short) <= limit) {
            return Some(short);
        }
    }
    let note = format!(
        "[Tool output of about {tokens} tokens left out{}.]",
        whole_at(handle)
    );
    let edit = match &body.output {
        Some(output) if !is_result(message) => Edit::new(output.span(), quote(&note)),
        Some(_) | None => set_content(&body, &note),
    };
    invent::edited(message, &[edit]).filter(|short| estimate_message(family, short) < tokens)
}

/// The texts of a message that can be cut, with their places.
struct Texts(Vec<(Range<usize>, String, u32)>);

impl Texts {
    fn of(body: &Body<'_>, family: ModelFamily) -> Self {
        let blocks = body.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(text),
            BlockKind::Empty
            | BlockKind::Thinking
            | BlockKind::Call { .. }
            | BlockKind::Image { .. }
            | BlockKind::Other => None,
        });
        let whole = match &body.content {
            Content::Text(text) => Some(text),
            Content::Absent | Content::Null(_) | Content::Blocks(..) | Content::Other(_) => {
                body.output.as_ref()
            }
        };
        let texts = blocks.chain(whole).map(|text| {
            let decoded = text.decode().into_owned();
            let tokens = count_text(family, &decoded);
            (text.span(), decoded, tokens)
        });
        let mut texts: Vec<_> = texts.collect();
        texts.sort_by_key(|(span, _, _)| span.start);
        Self(texts)
    }

    fn tokens(&self) -> u32 {
        self.0.iter().map(|(_, _, tokens)| *tokens).sum()
    }

    /// Edits that bring all texts together to `limit` tokens, cutting the longest first.
    fn cut(&self, limit: u32, family: ModelFamily, handle: Option<&str>) -> Vec<Edit> {
        let excess = u64::from(self.tokens().saturating_sub(limit));
        let level = level(self.0.iter().map(|(_, _, tokens)| *tokens), excess);
        let long = self.0.iter().filter(|(_, _, tokens)| *tokens > level);
        long.map(|(span, text, tokens)| {
            Edit::new(
                span.clone(),
                quote(&head_and_tail((text, *tokens), level, family, handle)),
            )
        })
        .collect()
    }
}

/// The level to which the highest of `tokens` must sink for all to lose `excess` together; zero
/// where that is more than they have.
pub fn level(tokens: impl IntoIterator<Item = u32>, excess: u64) -> u32 {
    let mut tokens: Vec<u64> = tokens.into_iter().map(u64::from).collect();
    tokens.sort_unstable_by(|a, b| b.cmp(a));
    let (mut sum, mut count) = (0, 0);
    for (position, highest) in tokens.iter().enumerate() {
        sum += highest;
        count += 1;
        let next = tokens.get(position + 1).copied().unwrap_or_default();
        let level = sum.saturating_sub(excess) / count;
        if level >= next {
            return u32::try_from(level).unwrap_or(u32::MAX);
        }
    }
    0
}

/// A text of so many tokens, cut to the limit.
fn head_and_tail(
    (text, tokens): (&str, u32),
    limit: u32,
    family: ModelFamily,
    handle: Option<&str>,
) -> String {
    let whole = whole_at(handle);
    let total = text.chars().count();
    let room = limit.saturating_sub(NOTE_TOKENS);
    // Bytes are proportional to tokens well enough for a first try; then the count corrects it.
    let mut keep = scale(text.len(), room, tokens);
    for _ in 0..TRIES {
        if keep < MIN_KEPT_BYTES {
            break;
        }
        let head = text
            .get(..text.floor_char_boundary(keep / 2))
            .unwrap_or_default();
        let tail = text
            .get(text.ceil_char_boundary(text.len() - keep / 2)..)
            .unwrap_or_default();
        let left_out = total - head.chars().count() - tail.chars().count();
        let short = format!(
            "{head}\n\n[... {left_out} of {total} characters left out{whole} ...]\n\n{tail}"
        );
        let count = count_text(family, &short);
        if count <= limit {
            return short;
        }
        keep = scale(keep, limit, count).min(keep - keep / 32);
    }
    format!("[... {total} characters left out{whole} ...]")
}

fn whole_at(handle: Option<&str>) -> String {
    handle.map_or_else(String::new, |handle| format!("; the whole is {handle}"))
}

fn scale(bytes: usize, part: u32, whole: u32) -> usize {
    let scaled = bytes as u128 * u128::from(part) / u128::from(whole.max(1));
    usize::try_from(scaled).unwrap_or(usize::MAX).min(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_sink_first() {
        assert_eq!(level([10, 50, 100], 0), 100);
        assert_eq!(level([10, 50, 100], 30), 70);
        assert_eq!(level([10, 50, 100], 70), 40);
        assert_eq!(level([10, 50, 100], 130), 10);
        assert_eq!(level([10, 50, 100], 145), 5);
        assert_eq!(level([10, 50, 100], 1000), 0);
        assert_eq!(level([], 5), 0);
    }

    #[test]
    fn br_097_a_cut_never_splits_a_character() {
        let text = "aaaa😀".repeat(4000);
        for limit in [40, 41, 57, 200, 999] {
            let tokens = count_text(ModelFamily::Other, &text);
            let short = head_and_tail((&text, tokens), limit, ModelFamily::Other, None);
            assert!(count_text(ModelFamily::Other, &short) <= limit);
            assert!(short.contains("characters left out"));
            assert!(!short.contains(char::REPLACEMENT_CHARACTER));
        }
    }

    #[test]
    fn every_other_byte_of_the_payload_stays() {
        let text = "line of output\n".repeat(2000);
        let payload = format!(
            r#"{{"x":1e400,"role":"toolResult","toolCallId":"c1","content":[{{"type":"text","text":{}}}],"y":"\ud800"}}"#,
            quote(&text),
        );
        let message = Message::from_payload(payload).with_entry_id("e1");
        let short = shorten(&message, 300, ModelFamily::Other, None).unwrap();
        assert!(estimate_message(ModelFamily::Other, &short) <= 300);
        let payload = String::from_utf8(short.payload().to_vec()).unwrap();
        assert!(payload.starts_with(r#"{"x":1e400,"role":"toolResult","toolCallId":"c1","#));
        assert!(payload.ends_with(r#"}],"y":"\ud800"}"#));
        assert!(payload.contains("line of output\\nline of output"));
        assert!(payload.contains("of 30000 characters left out"));
        assert_eq!(
            (short.entry_id().as_str(), short.is_synthetic()),
            ("e1", false)
        );
        assert_eq!(shorten(&short, 300, ModelFamily::Other, None), None);
    }

    #[test]
    fn what_cannot_be_cut_gives_way_as_a_whole() {
        let blob = "QUJD".repeat(3000);
        for payload in [
            format!(
                r#"{{"role":"toolResult","toolCallId":"c","content":[{{"type":"audio","data":"{blob}"}}]}}"#
            ),
            format!(r#"{{"role":"tool","tool_call_id":"c","content":{{"blob":"{blob}"}}}}"#),
        ] {
            let message = Message::from_payload(payload);
            let short = shorten(&message, 96, ModelFamily::Other, None).unwrap();
            assert!(estimate_message(ModelFamily::Other, &short) <= 96);
            assert_eq!(short.tool_result_for(), Some("c"));
        }
    }
}
