//! A guess at a prompt's tokens that errs on the dear side (HOST-SEMANTICS 11.2).

use contextwire_engine::Transcript;

use crate::body::{Body, Part};
use crate::item::Role;

/// Characters a token, of ordinary text, of tool output, and of JSON.
const TEXT: u64 = 4;
const RESULT: u64 = 2;
const JSON: u64 = 3;
const PER_MESSAGE: u64 = 12;
const PER_BLOCK: u64 = 6;
const IMAGE: u64 = 2_000;
/// How much dearer a prompt may be than it looks, as a fraction.
const MARGIN: (u64, u64) = (6, 5);
/// What a host puts around a summary.
const WRAPPING: u64 = 24;
/// Least of a tool's output that stays when it is cut, in characters.
const KEPT_CHARS: u64 = 1_024;

/// Tokens of everything that is sent.
pub(super) fn prompt(list: &Transcript, system: Option<&str>, prompt: &str) -> u64 {
    let system = system.filter(|system| !system.trim().is_empty());
    let system = system.map_or(0, |system| tokens(system, TEXT) + PER_MESSAGE);
    let history: u64 = list.iter().map(message).sum();
    let sum = history + system + tokens(prompt, TEXT) + PER_MESSAGE;
    (sum * MARGIN.0).div_ceil(MARGIN.1)
}

/// Characters of tool output beyond what stays of each.
pub(super) fn reducible_chars(list: &Transcript) -> u64 {
    let results = list
        .iter()
        .filter(|message| message.tool_result_for().is_some());
    let chars = results.map(|message| Body::of(message.payload()).text().chars().count() as u64);
    chars.map(|chars| chars.saturating_sub(KEPT_CHARS)).sum()
}

fn message(message: &contextwire_engine::Message) -> u64 {
    let body = Body::of(message.payload());
    if body.is_excluded {
        return 0;
    }
    let text = |text: &Option<String>| tokens(text.as_deref().unwrap_or_default(), TEXT);
    PER_MESSAGE
        + match Role::of(message, &body) {
            Role::Result => {
                let name = body.tool_name.as_deref().unwrap_or_default();
                parts(&body, RESULT) + tokens(name, JSON)
            }
            Role::Shell => text(&body.shell.command) + text(&body.shell.output),
            Role::BranchSummary | Role::CompactionSummary => text(&body.summary) + WRAPPING,
            Role::User | Role::Assistant | Role::Custom | Role::Aside => parts(&body, TEXT),
        }
}

fn parts(body: &Body, divisor: u64) -> u64 {
    let part = |part: &Part| match part {
        Part::Text(text) | Part::Thinking(text) => PER_BLOCK + tokens(text, divisor),
        Part::Call(call) => PER_BLOCK + tokens(&call.name, JSON) + tokens(&call.arguments, JSON),
        Part::Image(_) => IMAGE,
        Part::Other(kind) => PER_BLOCK + tokens(kind, divisor),
    };
    body.parts.iter().map(part).sum()
}

/// A wide character is a token of its own, whatever the text is (BR-065, BR-101).
fn tokens(text: &str, divisor: u64) -> u64 {
    let weight = |character: char| if is_wide(character) { divisor } else { 1 };
    text.chars().map(weight).sum::<u64>().div_ceil(divisor)
}

/// Ideographs, kana, hangul and their full-width forms.
fn is_wide(character: char) -> bool {
    matches!(u32::from(character), 0x1100..=0x11ff | 0x2e80..=0x9fff | 0xa960..=0xa97f
        | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0xff00..=0xffef | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;

    fn estimate(payload: &str) -> u64 {
        message(&Message::from_payload(payload.to_owned()))
    }

    #[test]
    fn c255_what_is_excluded_from_the_context_counts_nothing() {
        let shell =
            r#"{"role":"bashExecution","command":"ls","output":"x","excludeFromContext":true}"#;
        assert_eq!(estimate(shell), 0);
        assert!(estimate(&shell.replace("true", "false")) > 0);
    }

    #[test]
    fn c256_tool_output_counts_twice_as_much_as_an_answer() {
        let text = "x".repeat(8_000);
        let result = estimate(&format!(
            r#"{{"role":"toolResult","toolCallId":"c","content":[{{"type":"text","text":"{text}"}}]}}"#
        ));
        let answer = estimate(&format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#
        ));
        assert_eq!((result, answer), (12 + 6 + 4_000, 12 + 6 + 2_000));
    }

    #[test]
    fn br_065_and_br_101_an_ideograph_is_one_token_in_every_kind_of_text() {
        let text = "中".repeat(4_000);
        for payload in [
            format!(r#"{{"role":"user","content":"{text}"}}"#),
            format!(r#"{{"role":"toolResult","toolCallId":"c","content":"{text}"}}"#),
        ] {
            assert_eq!(estimate(&payload), 12 + 6 + 4_000);
        }
    }

    #[test]
    fn calls_images_and_summaries_have_prices_of_their_own() {
        let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"read","arguments":{"a":1}}]}"#;
        assert_eq!(estimate(call), 12 + 6 + 2 + 3);
        let image = r#"{"role":"user","content":[{"type":"image","data":"QUJD"}]}"#;
        assert_eq!(estimate(image), 12 + 2_000);
        let summary = r#"{"role":"compactionSummary","summary":"12345678"}"#;
        assert_eq!(estimate(summary), 12 + 24 + 2);
    }

    #[test]
    fn a_prompt_is_the_sum_with_a_fifth_on_top() {
        let list = Transcript::new();
        assert_eq!(prompt(&list, None, ""), 15);
        assert_eq!(prompt(&list, Some("  "), ""), 15);
        assert_eq!(
            prompt(&list, Some("12345678"), "1234"),
            (14 + 13) * 6 / 5 + 1
        );
    }
}
