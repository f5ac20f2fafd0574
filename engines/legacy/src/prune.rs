//! Old tool output cut in the list that is sent, once the provider's cache is cold anyway
//! (HOST-SEMANTICS 13). The transcript stays as it is.

mod settings;
mod weigh;

use std::time::Duration;

use contextwire_engine::json::{Cursor, Edit, JsonError, quote, splice};
use contextwire_engine::{Message, TokenBudget, Transcript};

use crate::body::{Body, Part};
use crate::item::Role;
use crate::text::{head, tail};

pub use settings::{PruneSettings, ToolFilter, parse_ttl};

/// Characters a token, for the window.
const CHARS: u64 = 4;
/// Shares of the window, in tenths: below the first nothing happens, from the second on old output
/// is cleared as a whole.
const SOFT_TENTHS: u64 = 3;
const HARD_TENTHS: u64 = 5;
/// A longer output is trimmed to its two ends.
const MAX_CHARS: usize = 4_000;
const END_CHARS: usize = 1_500;
/// Clearing is not worth it below this many characters of output in all.
const MIN_CLEARED_CHARS: u64 = 50_000;
/// Answers of the model that are protected with everything after them.
const PROTECTED_ANSWERS: usize = 3;
const NO_IMAGE: &str = "[image removed during context pruning]";

/// The list as it is sent; none where nothing changes. `age` is how long ago the provider's cache
/// was last used, absent where nobody knows.
pub fn prune(
    list: &Transcript,
    window: TokenBudget,
    age: Option<Duration>,
    settings: &PruneSettings,
) -> Option<Transcript> {
    let is_cold = age.is_some_and(|age| !settings.ttl.is_zero() && age >= settings.ttl);
    if !is_cold {
        return None;
    }
    let mut pruning = Pruning::of(list, window, settings)?;
    pruning.trim();
    if let Some(placeholder) = &settings.cleared {
        pruning.clear(placeholder);
    }
    pruning.into_list(list)
}

/// A list under work.
struct Pruning {
    /// Characters that a message may lose, by its place; with its replacement where it has one.
    results: Vec<Output>,
    total: u64,
    window: u64,
}

struct Output {
    place: usize,
    text: String,
    has_image: bool,
    chars: u64,
    changed: bool,
}

impl Pruning {
    /// The outputs that may change; none where the list is small.
    fn of(list: &Transcript, window: TokenBudget, settings: &PruneSettings) -> Option<Self> {
        let window = window.get().saturating_mul(CHARS);
        let bodies: Vec<_> = list
            .iter()
            .map(|message| (message, Body::of(message.payload())))
            .collect();
        let roles: Vec<_> = bodies
            .iter()
            .map(|(message, body)| Role::of(message, body))
            .collect();
        let first = roles.iter().position(|role| *role == Role::User)?;
        let answers = roles.iter().enumerate().rev();
        let mut answers = answers.filter(|(_, role)| **role == Role::Assistant);
        let (protected, _) = answers.nth(PROTECTED_ANSWERS - 1)?;
        let weights = bodies.iter().map(|(_, body)| body).zip(&roles);
        let total = weights
            .map(|(body, role)| weigh::message(body, *role))
            .sum();
        let mut results = Vec::new();
        for (place, (_, body)) in bodies.into_iter().enumerate() {
            let is_open = (first..protected).contains(&place)
                && roles.get(place) == Some(&Role::Result)
                && settings
                    .tools
                    .allows(body.tool_name.as_deref().unwrap_or_default());
            if is_open {
                results.push(Output::of(place, &body));
            }
        }
        let is_large = !is_below(total, window, SOFT_TENTHS);
        is_large.then_some(Self {
            results,
            total,
            window,
        })
    }

    /// Long outputs to their two ends, and images to a word.
    fn trim(&mut self) {
        for output in &mut self.results {
            let short = output.trimmed();
            if let Some(short) = short {
                self.total = self.total.saturating_sub(output.chars);
                output.set(short);
                self.total = self.total.saturating_add(output.chars);
            }
        }
    }

    /// The oldest outputs as a whole, until that is enough.
    fn clear(&mut self, placeholder: &str) {
        let chars: u64 = self.results.iter().map(|output| output.chars).sum();
        if chars < MIN_CLEARED_CHARS {
            return;
        }
        for output in &mut self.results {
            if is_below(self.total, self.window, HARD_TENTHS) {
                return;
            }
            self.total = self.total.saturating_sub(output.chars);
            output.set(placeholder.to_owned());
            self.total = self.total.saturating_add(output.chars);
        }
    }

    fn into_list(self, list: &Transcript) -> Option<Transcript> {
        let mut changed = self
            .results
            .into_iter()
            .filter(|output| output.changed)
            .peekable();
        changed.peek()?;
        let mut pruned = Transcript::new();
        for (place, message) in list.iter().enumerate() {
            let edited = changed.next_if(|output| output.place == place);
            let edited = edited.and_then(|output| with_text(message, &output.text));
            pruned.push(edited.unwrap_or_else(|| message.clone()));
        }
        Some(pruned)
    }
}

impl Output {
    fn of(place: usize, body: &Body) -> Self {
        let texts = body.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => Some(NO_IMAGE),
            Part::Thinking(_) | Part::Call(_) | Part::Other(_) => None,
        });
        Self {
            place,
            text: texts.collect::<Vec<_>>().join("\n"),
            has_image: body.parts.iter().any(|part| matches!(part, Part::Image(_))),
            chars: weigh::message(body, Role::Result),
            changed: false,
        }
    }

    fn trimmed(&self) -> Option<String> {
        let total = self.text.chars().count();
        if total > MAX_CHARS {
            let (first, last) = (head(&self.text, END_CHARS), tail(&self.text, END_CHARS));
            return Some(format!(
                "{first}\n...\n{last}\n\n[Tool result trimmed: the first {END_CHARS} and the last {END_CHARS} of {total} characters are kept.]"
            ));
        }
        self.has_image.then(|| self.text.clone())
    }

    fn set(&mut self, text: String) {
        self.chars = weigh::text(&text);
        self.text = text;
        self.changed = true;
    }
}

/// Whether a size is below some tenths of the window.
fn is_below(total: u64, window: u64, tenths: u64) -> bool {
    u128::from(total) * 10 < u128::from(window) * u128::from(tenths)
}

/// The message with one text for its content; every other field stays byte for byte.
fn with_text(message: &Message, text: &str) -> Option<Message> {
    let edit = content_edit(message.payload(), text).ok().flatten()?;
    let payload = splice(message.payload(), &[edit]).ok()?;
    let edited = Message::with_header(payload.into(), message.header().clone());
    Some(
        edited
            .with_entry_id(message.entry_id().clone())
            .with_log_entry_id(message.log_entry_id().cloned())
            .with_synthetic(message.is_synthetic()),
    )
}

fn content_edit(payload: &[u8], text: &str) -> Result<Option<Edit>, JsonError> {
    let mut cursor = Cursor::new(payload);
    let mut found = None;
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        let span = cursor.skip_value()?;
        if key.is("content") {
            found = Some(span);
        }
    }
    let blocks = format!(r#"[{{"type":"text","text":{}}}]"#, quote(text));
    Ok(found.map(|span| Edit::new(span, blocks)))
}

#[cfg(test)]
mod tests;
