//! Without any model: quotes, and a first line that says so.

use std::collections::BTreeMap;

use contextwire_engine::HookContext;
use contextwire_engine::tokens::ModelFamily;

use super::{Summarizer, SummaryAnswer, SummaryRequest, SummaryText};
use crate::body::Body;
use crate::item::{Item, Role};
use crate::text::{head, one_line};

/// How an extract begins, so that nobody takes it for a summary.
const NOTICE: &str = "This is an extract, not a summary: no model was asked.";
/// Most characters of a quote.
const QUOTE_CHARS: usize = 240;
/// Quotes from the beginning that stay whatever follows.
const FIRST_QUOTES: usize = 3;
/// Most tools that are named.
const TOOLS: usize = 20;

/// Quotes what the user asked and the model answered, each cut short, and counts the tool calls.
/// The same messages give the same text. Nothing of it is understood, so what an extract leaves out
/// is left out by length alone; the messages themselves stay in the host's transcript.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extract;

impl Summarizer for Extract {
    fn name(&self) -> &'static str {
        "extract"
    }

    /// It reads everything at once.
    fn window(&self) -> Option<u64> {
        Some(u64::MAX)
    }

    fn summarize<'a>(
        &'a self,
        _: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        let text = SummaryText {
            text: extract(request),
            model: None,
            is_extract: true,
        };
        Box::pin(std::future::ready(Ok(text)))
    }
}

fn extract(request: &SummaryRequest) -> String {
    let mut quotes = Vec::new();
    let mut tools: BTreeMap<String, usize> = BTreeMap::new();
    for message in &request.messages {
        let item = Item::of(message, ModelFamily::Other);
        if item.is_excluded {
            continue;
        }
        let body = item.body();
        for call in body.calls() {
            *tools.entry(one_line(&call.name, 60)).or_default() += 1;
        }
        quotes.extend(quote(item.role, &body));
    }
    let notice = format!(
        "{NOTICE} {} messages stood here; the quotes below are cut short, the originals stay in the stored transcript.",
        request.messages.len()
    );
    let tools = used(&tools);
    let earlier = request.earlier.as_deref().map(earlier);
    let fixed = notice.chars().count() + tools.chars().count();
    let room = request.max_chars.saturating_sub(fixed);
    let earlier = earlier.map_or_else(String::new, |earlier| {
        format!("\n\n## Before\n{}", head(&earlier, room / 3).trim_end())
    });
    let room = room.saturating_sub(earlier.chars().count());
    format!("{notice}{earlier}{}{tools}", quoted(&quotes, room))
}

/// One line of what a message says.
fn quote(role: Role, body: &Body) -> Option<String> {
    let (who, text) = match role {
        Role::User => ("User", body.text()),
        Role::Assistant => ("Assistant", body.text()),
        Role::Shell => ("Command", body.shell.command.clone().unwrap_or_default()),
        Role::Custom => ("Note", body.text()),
        Role::BranchSummary | Role::CompactionSummary => {
            ("Summary", body.summary.clone().unwrap_or_default())
        }
        Role::Result | Role::Aside => return None,
    };
    let line = one_line(&text, QUOTE_CHARS);
    (!line.is_empty()).then(|| format!("- {who}: {line}"))
}

/// An earlier text; an earlier extract without its notice.
fn earlier(text: &str) -> String {
    let rest = text
        .strip_prefix(NOTICE)
        .and_then(|rest| rest.split_once("\n\n"))
        .map_or(text, |(_, rest)| rest);
    rest.to_owned()
}

/// The first quotes and as many of the newest as fit.
fn quoted(quotes: &[String], room: usize) -> String {
    const HEADING: &str = "\n\n## Quotes, oldest first\n";
    let gap = |count: usize| format!("- ({count} more left out)");
    let size = |quote: &str| quote.chars().count() + 1;
    let mut room = room.saturating_sub(HEADING.len() + size(&gap(quotes.len())));
    let mut take = |quote: &&String| match room.checked_sub(size(quote)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let first = quotes.iter().take(FIRST_QUOTES);
    let mut lines: Vec<String> = first.take_while(|quote| take(quote)).cloned().collect();
    let rest = quotes.get(lines.len()..).unwrap_or_default();
    let newest = rest.iter().rev().take_while(|quote| take(quote)).count();
    let (left_out, newest) = rest.split_at(rest.len() - newest);
    if !left_out.is_empty() {
        lines.push(gap(left_out.len()));
    }
    lines.extend_from_slice(newest);
    if lines.is_empty() {
        return String::new();
    }
    format!("{HEADING}{}", lines.join("\n"))
}

fn used(tools: &BTreeMap<String, usize>) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let named = tools.iter().take(TOOLS);
    let mut named: Vec<_> = named
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if tools.len() > TOOLS {
        named.push(format!("and {} other tools", tools.len() - TOOLS));
    }
    format!("\n\n## Tool calls\n{}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;
    use crate::prompt::Stage;

    fn request(payloads: &[String], earlier: Option<&str>, max_chars: usize) -> SummaryRequest {
        SummaryRequest {
            stage: Stage::History,
            system_prompt: String::new(),
            prompt: String::new(),
            max_output_tokens: 0,
            max_chars,
            messages: payloads
                .iter()
                .map(|payload| Message::from_payload(payload.clone()))
                .collect(),
            earlier: earlier.map(str::to_owned),
        }
    }

    fn user(text: &str) -> String {
        format!(r#"{{"role":"user","content":"{text}"}}"#)
    }

    #[test]
    fn an_extract_says_that_it_is_one_and_quotes_both_ends() {
        let call = r#"{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"toolCall","id":"1","name":"read","arguments":{}}]}"#;
        let result = r#"{"role":"toolResult","toolCallId":"1","content":"secret output"}"#;
        let list = [
            user("first\\nline"),
            call.to_owned(),
            result.to_owned(),
            user("last"),
        ];
        let text = extract(&request(&list, None, 4_000));
        let expected = format!(
            "{NOTICE} 4 messages stood here; the quotes below are cut short, the originals stay in the stored transcript.\
             \n\n## Quotes, oldest first\n- User: first line\n- Assistant: I look\n- User: last\n\n## Tool calls\nread 1"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn an_extract_stays_within_its_room_and_is_the_same_each_time() {
        let list: Vec<String> = (0..400)
            .map(|n| user(&format!("message {n} with words")))
            .collect();
        for max in [1_000, 1_500, 4_000] {
            let asked = request(&list, Some("what was known before"), max);
            let text = extract(&asked);
            assert!(text.chars().count() <= max, "{}", text.chars().count());
            assert_eq!(text, extract(&asked));
            assert!(text.contains("message 0 ") && text.contains("message 399 "));
            assert!(text.contains("left out)") && text.contains("what was known before"));
        }
    }

    #[test]
    fn an_extract_over_an_extract_has_one_notice() {
        let first = extract(&request(&[user("one")], None, 4_000));
        let second = extract(&request(&[user("two")], Some(&first), 4_000));
        assert_eq!(second.matches(NOTICE).count(), 1);
        assert!(second.contains("- User: one") && second.contains("- User: two"));
    }
}
