//! What a summary is made of, as a text for whoever writes it.

use std::sync::Arc;

use contextwire_engine::Message;
use contextwire_legacy::{neutral, render_message};
use contextwire_windowed::form::Heartbeat;

use super::draft::Draft;
use super::identifier::Identifiers;
use super::work::{Of, Work};
use crate::entry::{self, Entry};

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
}

impl Material {
    /// The material of some work in at most about so many characters: long texts lose their middle.
    pub(crate) fn of(draft: &Draft<'_>, work: &Work, max_chars: usize) -> Self {
        let mut material = Self {
            text: String::new(),
            messages: Vec::new(),
            times: None,
        };
        match &work.of {
            Of::Entries => {
                let places = work.span.places();
                let entries =
                    places.filter_map(|place| Some((place, draft.snapshot.log.entry(place)?)));
                let entries: Vec<_> = entries.collect();
                for (_, entry) in &entries {
                    if let Some(time) = entry.message().timestamp_ms() {
                        let first = material.times.map_or(time, |(first, _)| first);
                        material.times = Some((first, time));
                    }
                }
                let entries = without_heartbeats(entries);
                let told = entries.iter();
                material.messages = told.map(|(_, entry)| entry.message().clone()).collect();
                material.text = within(max_chars, |room| {
                    let told = entries
                        .iter()
                        .filter_map(|(place, entry)| line(*place, entry, room));
                    told.collect::<Vec<_>>().join("\n\n")
                });
            }
            Of::Nodes(nodes) => {
                let first = nodes.iter().find_map(|node| node.parts().times);
                let last = nodes.iter().rev().find_map(|node| node.parts().times);
                material.times = first.zip(last).map(|(first, last)| (first.0, last.1));
                material.messages = nodes.iter().map(|node| node.message().clone()).collect();
                material.text = within(max_chars, |room| {
                    let records = nodes.iter().map(|node| {
                        let text: String = node.text().chars().take(room).collect();
                        let handle = node.id().handle();
                        format!(
                            "[Record of messages {}; {handle}]\n{}",
                            node.span(),
                            neutral(&text)
                        )
                    });
                    records.collect::<Vec<_>>().join("\n\n")
                });
            }
        }
        material
    }
}

/// The identifiers of what is summarised: what user and model wrote, not what tools printed.
pub(crate) fn identifiers(draft: &Draft<'_>, work: &Work) -> Identifiers {
    let mut found = Identifiers::default();
    match &work.of {
        Of::Entries => {
            for place in work.span.places() {
                let Some(entry) = draft.snapshot.log.entry(place) else {
                    continue;
                };
                let bonus = match entry.message().role() {
                    "user" => 2,
                    "assistant" => 1,
                    _ => continue,
                };
                let text = render_message(&stripped(entry.message()), usize::MAX);
                found.add(&text.unwrap_or_default(), &entry::handle(place), bonus);
            }
        }
        Of::Nodes(nodes) => {
            for node in nodes {
                found.add_summary(node.text(), &node.id().handle());
            }
        }
    }
    found
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

fn line(place: u64, entry: &Entry, room: usize) -> Option<String> {
    if entry.look().is_blank {
        return None;
    }
    let text = render_message(&stripped(entry.message()), room)?;
    Some(format!("({}) {text}", entry::handle(place)))
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
