//! The messages of a context within a number of characters, the newest first to stay.

use contextwire_engine::Message;

use super::frame::Prompt;
use super::neutralise::neutralise;
use super::payload::{Payloads, Rendered, render};
use super::window::part_chars;

/// A message as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryItem {
    /// Its role, and who said it where the host vouches for that; stands in brackets above the text.
    pub label: String,
    /// Its text.
    pub text: String,
    is_stub: bool,
}

/// What did not fit. Nothing is cut in silence (BR-139).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Characters of the history that are not shown.
    pub chars: usize,
    /// Texts that were longer than one may be, each with its note.
    pub shortened: usize,
    /// Messages that only said that a tool was called or answered, and made room (BR-142).
    pub stubs: usize,
}

impl Cut {
    /// Whether something is not shown.
    pub fn is_cut(&self) -> bool {
        *self != Self::default()
    }
}

/// A context as text, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// What is missing before the first message.
    pub(super) note: Option<String>,
    pub(super) items: Vec<HistoryItem>,
    pub(super) cut: Cut,
}

/// Between two messages.
const GAP: &str = "\n\n";
/// Of a message that is shown in part, this much of its text at least.
const MIN_TAIL: usize = 1;

impl HistoryItem {
    /// The brackets with their line feed, and the text.
    fn chars(&self) -> usize {
        self.label.chars().count() + 3 + self.text.chars().count()
    }

    fn head_chars(&self) -> usize {
        self.label.chars().count() + 3
    }

    pub(super) fn note(text: String) -> Self {
        Self {
            label: "context".to_owned(),
            text,
            is_stub: true,
        }
    }

    fn push_to(&self, text: &mut String) {
        text.push('[');
        text.push_str(&self.label);
        text.push_str("]\n");
        text.push_str(&self.text);
    }
}

impl History {
    /// All of it, each text within its own limit.
    pub(super) fn of<'a>(
        messages: impl Iterator<Item = &'a Message>,
        prompt: &Prompt<'_>,
        payloads: Payloads,
        window: usize,
    ) -> Self {
        let mut rendered: Vec<Option<Rendered>> =
            messages.map(|message| render(message, payloads)).collect();
        if let Some(Some(last)) = rendered.last()
            && prompt.is_said_by(last)
        {
            rendered.pop();
        }
        let most = part_chars(window);
        let mut history = Self::default();
        for rendered in rendered.into_iter().flatten() {
            let item = history.item(rendered, most);
            history.items.push(item);
        }
        history
    }

    fn item(&mut self, rendered: Rendered, most: usize) -> HistoryItem {
        let Rendered {
            label,
            parts,
            is_stub,
            idempotency_key: _,
        } = rendered;
        let mut text = String::new();
        for part in &parts {
            if !text.is_empty() {
                text.push('\n');
            }
            let shown = shortened(part, most);
            self.cut.shortened += usize::from(shown.is_some());
            text.push_str(&neutralise(shown.as_deref().unwrap_or(part)));
        }
        HistoryItem {
            label,
            text,
            is_stub,
        }
    }

    /// Cut to this many characters: first what only says that a tool was there, then the oldest.
    pub(super) fn within(mut self, most: usize) -> Self {
        let whole = self.chars();
        if whole <= most {
            return self;
        }
        let before = self.items.len();
        self.items.retain(|item| !item.is_stub);
        self.cut.stubs = before - self.items.len();
        let useful = self.chars();
        // Enough for any number of characters that may be named.
        for digits in 1..=20 {
            let note_chars = note(0).chars().count() - 1 + digits + GAP.len();
            let room = most.saturating_sub(note_chars);
            let (first, tail) = self.newest(room);
            let kept = match tail {
                Some(tail) => self.kept_chars(first, tail),
                None => 0,
            };
            let omitted = whole - kept;
            if omitted.to_string().len() > digits {
                continue;
            }
            debug_assert!(useful >= kept);
            return self.cut_to(first, tail, omitted, most);
        }
        self
    }

    /// From which message on, and with how many characters of its text, the rest fits into `room`.
    fn newest(&self, room: usize) -> (usize, Option<usize>) {
        let mut left = room;
        let mut found = (self.items.len(), None);
        for (place, item) in self.items.iter().enumerate().rev() {
            let gap = if found.1.is_some() { GAP.len() } else { 0 };
            let chars = item.chars() + gap;
            if chars <= left {
                left -= chars;
                found = (place, Some(item.text.chars().count()));
                continue;
            }
            let tail = left.saturating_sub(gap + item.head_chars());
            if tail >= MIN_TAIL {
                found = (place, Some(tail));
            }
            break;
        }
        found
    }

    /// The characters of the messages from `first` on, of which `tail` are the first one's text.
    fn kept_chars(&self, first: usize, tail: usize) -> usize {
        let items = self.items.get(first..).unwrap_or_default();
        let Some((cut, whole)) = items.split_first() else {
            return 0;
        };
        let whole: usize = whole.iter().map(|item| item.chars() + GAP.len()).sum();
        cut.head_chars() + tail + whole
    }

    fn cut_to(mut self, first: usize, tail: Option<usize>, omitted: usize, most: usize) -> Self {
        self.items.drain(..first);
        if let (Some(item), Some(tail)) = (self.items.first_mut(), tail) {
            let from = item.text.chars().count().saturating_sub(tail);
            item.text = item.text.chars().skip(from).collect();
        }
        self.cut.chars = omitted;
        let text = note(omitted);
        // Where not even the note has room, nothing is shown.
        self.note = (text.chars().count() <= most).then_some(text);
        self
    }

    /// Of the whole text.
    pub(super) fn chars(&self) -> usize {
        let note = self.note.iter().map(|note| note.chars().count());
        let items = self.items.iter().map(HistoryItem::chars);
        let (count, chars) = note
            .chain(items)
            .fold((0_usize, 0), |(count, chars), more| {
                (count + 1, chars + more)
            });
        chars + count.saturating_sub(1) * GAP.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.note.is_none() && self.items.is_empty()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(note) = &self.note {
            text.push_str(note);
        }
        for item in &self.items {
            if !text.is_empty() {
                text.push_str(GAP);
            }
            item.push_to(&mut text);
        }
        text
    }
}

fn note(omitted: usize) -> String {
    format!("[{omitted} characters of earlier context omitted]")
}

/// The head of a text with a note, `most` characters in all; `None` where it is no longer.
fn shortened(text: &str, most: usize) -> Option<String> {
    // As many bytes at least as characters: most texts need no counting.
    if text.len() <= most {
        return None;
    }
    let chars = text.chars().count();
    if chars <= most {
        return None;
    }
    (1..=20).find_map(|digits| {
        let note = "\n[ characters truncated]".len() + digits;
        let kept = most.saturating_sub(note);
        let left_out = chars - kept;
        (left_out.to_string().len() == digits).then(|| {
            let end = text
                .char_indices()
                .nth(kept)
                .map_or(text.len(), |(at, _)| at);
            let head = text.get(..end).unwrap_or_default();
            format!("{head}\n[{left_out} characters truncated]")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shortened_to_the_character() {
        assert_eq!(shortened(&"ä".repeat(100), 100), None);
        let cut = shortened(&"ä".repeat(101), 100).unwrap();
        assert_eq!(cut.chars().count(), 100);
        assert_eq!(
            cut,
            format!("{}\n[27 characters truncated]", "ä".repeat(74))
        );
    }
}
