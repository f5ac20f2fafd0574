//! The result, in order.

use contextwire_engine::json::quote;
use contextwire_engine::{AssembleReply, Assembled, Message, PromptAuthority};
use contextwire_windowed::form;

use super::element::{Element, Shown};
use super::epoch::{Epoch, fingerprint};
use super::item::{Item, Left, LeftOut, Piece, Why};
use super::ladder::Choice;
use super::line::Lines;
use super::press::tokens;
use super::render::Renderer;
use super::unit::{Unit, Unsent};
use super::{Fit, Fitted};
use crate::span::Span;

/// A result as it is written down.
pub(crate) struct Emitted<'r> {
    renderer: &'r Renderer<'r>,
    items: Vec<Item>,
    left_out: Vec<LeftOut>,
    epoch: Epoch,
    /// Whether the conversation has begun, and as providers want it.
    has_begun: bool,
}

/// Elements in a row that are not shown.
#[derive(Default)]
struct Gap {
    messages: u64,
    places: Option<Span>,
    lines: Vec<String>,
}

impl<'r> Emitted<'r> {
    pub(crate) fn of(lead: Vec<Item>, renderer: &'r Renderer<'r>) -> Self {
        Self {
            renderer,
            items: lead,
            left_out: Vec::new(),
            epoch: Epoch::default(),
            has_begun: false,
        }
    }

    pub(crate) fn add(&mut self, elements: &[Element], choice: &Choice) {
        let mut gap = Gap::default();
        for (element, shown) in elements.iter().zip(&choice.shown) {
            if *shown == Shown::Full {
                self.close(&std::mem::take(&mut gap), choice.has_notes);
                self.show(element);
                continue;
            }
            gap.messages += element.messages;
            gap.places = joined(gap.places, element.places);
            if let (Shown::Brief, Some((line, _))) = (shown, &element.brief) {
                self.epoch.brief(element.summary_id());
                gap.lines.push(line.clone());
            }
        }
        self.close(&gap, choice.has_notes);
    }

    fn show(&mut self, element: &Element) {
        if element.items.is_empty() {
            return;
        }
        let begins = element.is_user || element.summary_id().is_some();
        if !self.has_begun && !begins && !element.is_aside {
            let opening = form::opening(element.timestamp_ms);
            self.items
                .push(self.renderer.invented(opening, Why::Opening));
        }
        self.has_begun |= !element.is_aside;
        self.epoch.show(element);
        self.items.extend(element.items.iter().cloned());
    }

    fn close(&mut self, gap: &Gap, has_notes: bool) {
        if gap.messages == 0 {
            return;
        }
        if !has_notes {
            self.left_out.push(LeftOut {
                places: gap.places,
                messages: gap.messages,
                why: Left::NoRoom,
            });
            return;
        }
        self.has_begun = true;
        let mut item = self.renderer.invented(note(gap), Why::StandIn);
        item.places = gap.places;
        item.stands_for = gap.messages;
        self.items.push(item);
    }

    /// What was not shown for another reason than room.
    pub(crate) fn leave_out(&mut self, lines: &Lines, unsent: &[(usize, Unsent)], cut: &[Unit]) {
        let mut leave = |places: Option<Span>, messages: u64, why: Left| {
            self.left_out.push(LeftOut {
                places,
                messages,
                why,
            });
        };
        let one = |place: u64| Span::new(place, place + 1);
        for (line, why) in unsent {
            let Some(line) = lines.conversation.get(*line) else {
                continue;
            };
            let why = match why {
                Unsent::Blank => Left::Blank,
                Unsent::Heartbeat => Left::Heartbeat,
                Unsent::Orphan => Left::Orphan,
                Unsent::Prefill => Left::Prefill,
            };
            leave(line.key.logged().map(one), u64::from(!line.is_extra), why);
        }
        for line in cut.iter().flat_map(|unit| &unit.lines) {
            if let Some(line) = lines.conversation.get(*line) {
                let messages = u64::from(!line.is_extra);
                leave(line.key.logged().map(one), messages, Left::NewestTooLarge);
            }
        }
        for place in &lines.missing {
            leave(Some(one(*place)), 1, Left::Missing);
        }
        if lines.unread_loose > 0 {
            leave(None, lines.unread_loose as u64, Left::NoRoom);
        }
    }

    pub(crate) fn finish(self, fit: &Fit<'_>, share: Option<u64>, is_cut: bool) -> Fitted {
        let tokens = tokens(&self.items);
        let is_over = share.is_some_and(|share| tokens > share);
        let authority = if is_over || is_cut {
            PromptAuthority::PreassemblyMayOverflow
        } else {
            PromptAuthority::Assembled
        };
        let epoch = self.epoch.finish();
        Fitted {
            fingerprint: fingerprint(&epoch, &self.items, fit.corrections),
            epoch,
            tokens,
            items: self.items,
            left_out: self.left_out,
            authority,
        }
    }
}

fn joined(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Span::new(a.start.min(b.start), a.end.max(b.end))),
        (one, other) => one.or(other),
    }
}

/// A note in place of messages. Nothing in it changes while it stands for the same.
fn note(gap: &Gap) -> Message {
    let places = gap
        .places
        .map_or_else(String::new, |places| format!(" (places {places})"));
    let mut text = format!(
        "[{} messages{places} are left out here for room and kept in the record. A note, not an instruction.]",
        gap.messages
    );
    for line in &gap.lines {
        text.push('\n');
        text.push_str(&crate::node::neutral(line));
    }
    let payload = format!(
        r#"{{"role":"compactionSummary","summary":{}}}"#,
        quote(&text)
    );
    Message::from_payload(payload).with_synthetic(true)
}

impl Fitted {
    /// The hook's answer: ranges of the view and inserts, with a reason for each.
    pub fn reply(&self) -> AssembleReply {
        let mut messages = Assembled::new();
        let mut reasons: Vec<String> = Vec::new();
        for item in &self.items {
            match &item.piece {
                Piece::Keep(index) => messages.push_keep(*index..index + 1),
                Piece::Insert(message) => messages.push_insert(message.clone()),
            }
            // A kept message that touched the range before it made no segment of its own.
            if reasons.len() < messages.segments().len() {
                reasons.push(item.to_string());
            }
        }
        AssembleReply {
            messages,
            estimated_tokens: self.tokens,
            prompt_authority: Some(self.authority),
            reasons,
            ..AssembleReply::default()
        }
    }
}
