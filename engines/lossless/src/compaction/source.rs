//! What a summary is made of, as a text for whoever writes it.

use std::sync::Arc;

use contextwire_engine::Message;
use contextwire_legacy::{neutral, render_message};
use contextwire_windowed::form::Heartbeat;

use super::bodies::Piece;
use super::identifier::Identifiers;
use super::work::Of;
use crate::entry::{self, Entry};
use crate::node::SummaryNode;
use crate::redact::Redaction;

/// Characters of a text that are never cut away.
const MIN_TEXT_CHARS: usize = 200;
/// Blocks that a host puts around a message from its memory: shown in their turn, never summarised
/// (A22).
const INJECTED: [(&str, &str); 2] = [
    ("<relevant-memories>", "</relevant-memories>"),
    ("<memory-context>", "</memory-context>"),
];

/// The material of one summary.
#[derive(Debug)]
pub(crate) struct Material {
    /// The conversation or the records, in order, each under its handle.
    pub(crate) text: String,
    /// The same as messages.
    pub(crate) messages: Vec<Message>,
    /// Time of the first and the last, where known.
    pub(crate) times: Option<(i64, i64)>,
    /// What of it must not be lost: what user and model wrote, not what tools printed.
    pub(crate) identifiers: Identifiers,
}

impl Material {
    /// The material of some work in at most about so many characters: long texts lose their middle.
    pub(crate) fn of(piece: &Piece<'_>, max_chars: usize, redaction: &Redaction) -> Self {
        match &piece.work.of {
            Of::Entries => Self::of_entries(piece.entries.clone(), max_chars, redaction),
            Of::Nodes(nodes) => Self::of_nodes(nodes, max_chars, redaction),
        }
    }

    fn of_entries(
        entries: Vec<(u64, Arc<Entry>)>,
        max_chars: usize,
        redaction: &Redaction,
    ) -> Self {
        let mut times = None;
        for (_, entry) in &entries {
            if let Some(time) = entry.message().timestamp_ms() {
                let first = times.map_or(time, |(first, _)| first);
                times = Some((first, time));
            }
        }
        let told = without_heartbeats(entries).into_iter();
        let told: Vec<Told> = told
            .map(|(place, entry)| Told::of(place, entry, redaction))
            .collect();
        let mut identifiers = Identifiers::default();
        for one in &told {
            one.add_to(&mut identifiers);
        }
        Self {
            text: within(max_chars, |room| {
                let lines = told.iter().filter_map(|one| one.line(room, redaction));
                lines.collect::<Vec<_>>().join("\n\n")
            }),
            messages: told.iter().map(|one| one.entry.message().clone()).collect(),
            times,
            identifiers,
        }
    }

    fn of_nodes(nodes: &[Arc<SummaryNode>], max_chars: usize, redaction: &Redaction) -> Self {
        let first = nodes.iter().find_map(|node| node.parts().times);
        let last = nodes.iter().rev().find_map(|node| node.parts().times);
        let mut identifiers = Identifiers::default();
        for node in nodes {
            identifiers.add_summary(&redaction.masked(node.text()), &node.id().handle());
        }
        let records = |room: usize| {
            let records = nodes.iter().map(|node| {
                let text = redaction.masked(node.text());
                let text: String = text.chars().take(room).collect();
                let handle = node.id().handle();
                format!(
                    "[Record of messages {}; {handle}]\n{}",
                    node.span(),
                    neutral(&text)
                )
            });
            records.collect::<Vec<_>>().join("\n\n")
        };
        Self {
            text: within(max_chars, records),
            messages: nodes
                .iter()
                .map(|node| redaction.message(node.message()))
                .collect(),
            times: first.zip(last).map(|(first, last)| (first.0, last.1)),
            identifiers,
        }
    }
}

/// An entry of the material.
struct Told {
    place: u64,
    entry: Arc<Entry>,
    /// How much an identifier in it counts beyond its kind; none where a tool printed it.
    bonus: Option<u32>,
    /// The whole text, where it is looked through for identifiers.
    whole: Option<String>,
}

impl Told {
    fn of(place: u64, entry: Arc<Entry>, redaction: &Redaction) -> Self {
        let entry = if redaction.is_none() {
            entry
        } else {
            Arc::new(Entry::new(redaction.message(entry.message())))
        };
        let bonus = match entry.message().role() {
            "user" => Some(2),
            "assistant" => Some(1),
            _ => None,
        };
        let whole = bonus.and_then(|_| render_message(&stripped(entry.message()), usize::MAX));
        // Across the texts that were masked one by one.
        let whole = whole.map(|whole| redaction.masked(&whole).into_owned());
        Self {
            place,
            entry,
            bonus,
            whole,
        }
    }

    fn add_to(&self, identifiers: &mut Identifiers) {
        if let (Some(bonus), Some(text)) = (self.bonus, &self.whole) {
            identifiers.add(text, &entry::handle(self.place), bonus);
        }
    }

    /// Its line, with texts of at most so many characters.
    fn line(&self, room: usize, redaction: &Redaction) -> Option<String> {
        if self.entry.look().is_blank {
            return None;
        }
        let handle = entry::handle(self.place);
        // No text of it is longer than the whole, so that nothing of it is cut for want of room.
        if let Some(whole) = self.whole.as_ref().filter(|whole| whole.len() <= room) {
            return Some(format!("({handle}) {whole}"));
        }
        let text = render_message(&stripped(self.entry.message()), room)?;
        Some(format!("({handle}) {}", redaction.masked(&text)))
    }
}

/// The entries without polls of the host that were answered with nothing (I11).
fn without_heartbeats(entries: Vec<(u64, Arc<Entry>)>) -> Vec<(u64, Arc<Entry>)> {
    let beats: Vec<Heartbeat> = entries
        .iter()
        .map(|(_, entry)| entry.look().heartbeat)
        .collect();
    let is_silent = |at: usize| {
        beats.get(at) == Some(&Heartbeat::Poll) && beats.get(at + 1) == Some(&Heartbeat::Ack)
    };
    let told = entries.into_iter().enumerate();
    told.filter(|(at, _)| !is_silent(*at) && !at.checked_sub(1).is_some_and(is_silent))
        .map(|(_, entry)| entry)
        .collect()
}

/// A user's message without what the host's memory put into it.
fn stripped(message: &Message) -> Message {
    let is_injected = |payload: &[u8]| {
        let names = INJECTED.iter().map(|(open, _)| open.as_bytes());
        names
            .into_iter()
            .any(|open| memchr::memmem::find(payload, open).is_some())
    };
    if message.role() != "user" || !is_injected(message.payload()) {
        return message.clone();
    }
    let mut payload = String::from_utf8_lossy(message.payload()).into_owned();
    for (open, close) in INJECTED {
        while let Some(start) = payload.find(open) {
            let rest = payload.get(start..).unwrap_or_default();
            let end = rest.find(close).map(|at| start + at + close.len());
            // A block that is never closed stays: what ends it is not known.
            let Some(end) = end else { break };
            payload.replace_range(start..end, "");
        }
    }
    Message::from_payload(payload)
}

/// Shortens texts until all together fit.
fn within(max_chars: usize, text: impl Fn(usize) -> String) -> String {
    let mut room = max_chars.max(MIN_TEXT_CHARS);
    loop {
        let whole = text(room);
        if whole.len() <= max_chars || room <= MIN_TEXT_CHARS {
            return whole;
        }
        room = (room / 2).max(MIN_TEXT_CHARS);
    }
}
