//! Units as they would be sent, with their cost.

use std::collections::HashMap;

use contextwire_engine::Message;
use contextwire_engine::tokens::{ModelFamily, estimate_message};

use crate::clean::{self, Reader};
use crate::shorten::{can_shorten, shorten};
use crate::slice::Slice;
use crate::unit::{Turn, Unit};
use crate::{image, invent};

/// How hard a turn is pressed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pressure {
    /// How many of the turn's oldest images give way to a reference.
    pub(crate) images: usize,
    /// The most that a tool result may cost, in tokens.
    pub(crate) result_limit: Option<u32>,
}

/// A message of the result.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The transcript's own, by index.
    Keep(usize),
    /// An edited or an invented one.
    Insert(Message),
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) piece: Piece,
    pub(crate) tokens: u32,
    pub(crate) reason: &'static str,
    /// Images in it that could give way.
    pub(crate) images: usize,
    /// Whether it can be shortened.
    pub(crate) is_elastic: bool,
}

/// A unit as it would be sent.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Index of its first message; its place in the order.
    pub(crate) first: usize,
    pub(crate) items: Vec<Item>,
    pub(crate) lead: Lead,
}

/// Whether a conversation may start with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Providers take it as the user's.
    Yes,
    /// It is the model's.
    No,
    /// It stands outside the conversation: the next unit decides.
    Aside,
}

impl Rendered {
    pub(crate) fn tokens(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.tokens)).sum()
    }
}

#[derive(Debug)]
pub(crate) struct Renderer<'s, 'a> {
    pub(crate) slice: &'s Slice<'a>,
    family: ModelFamily,
    reader: Reader<'s>,
    /// By message: images that give way without any pressure.
    images: HashMap<usize, usize>,
}

impl<'s, 'a> Renderer<'s, 'a> {
    pub(crate) fn new(slice: &'s Slice<'a>, family: ModelFamily, reader: Reader<'s>) -> Self {
        Self {
            slice,
            family,
            reader,
            images: image::replaced(slice),
        }
    }

    pub(crate) fn turn(&self, turn: &Turn, mut pressure: Pressure) -> Vec<Rendered> {
        turn.units
            .iter()
            .map(|unit| self.unit(unit, &mut pressure))
            .collect()
    }

    /// A message outside the turns, cleaned and nothing else.
    pub(crate) fn single(&self, index: usize, reason: &'static str) -> Option<Rendered> {
        let mut item = self.item(index, &mut Pressure::default())?;
        item.reason = reason;
        Some(Rendered {
            first: index,
            items: vec![item],
            lead: Lead::Yes,
        })
    }

    /// An invented user message in front of a unit that cannot lead.
    pub(crate) fn opening(&self, before: Option<usize>) -> Rendered {
        let first = before.unwrap_or_default();
        let timestamp = self.slice.message(first).and_then(Message::timestamp_ms);
        let item = self.invented(
            invent::opening(timestamp),
            "a list starts with a user message",
        );
        Rendered {
            first,
            items: vec![item],
            lead: Lead::Yes,
        }
    }

    fn unit(&self, unit: &Unit, pressure: &mut Pressure) -> Rendered {
        let own = std::iter::once(&unit.first).chain(&unit.results);
        let mut items: Vec<Item> = own
            .filter_map(|index| self.item(*index, pressure))
            .collect();
        if let (Some(caller), Some(body)) =
            (self.slice.message(unit.first), self.slice.body(unit.first))
        {
            items.extend(unit.unanswered.iter().map(|id| {
                self.invented(
                    invent::missing_result(caller, body, id),
                    "no result was recorded",
                )
            }));
        }
        let lead = match self.slice.message(unit.first).map(Message::role) {
            Some("assistant") => Lead::No,
            Some("system" | "developer") => Lead::Aside,
            Some(_) | None => Lead::Yes,
        };
        Rendered {
            first: unit.first,
            items,
            lead,
        }
    }

    fn item(&self, index: usize, pressure: &mut Pressure) -> Option<Item> {
        let (message, body) = (self.slice.message(index)?, self.slice.body(index)?);
        if self.slice.newest_user() == Some(index) {
            return Some(self.kept(index, message, 0));
        }
        let images = body.images().count();
        let aged = self.images.get(&index).copied().unwrap_or_default();
        let pressed = pressure.images.min(images - aged.min(images));
        pressure.images -= pressed;
        let replaced = aged + pressed;
        let edits = clean::edits(message, body, &self.reader, replaced);
        let edited = if edits.is_empty() {
            None
        } else {
            invent::edited(message, &edits)
        };
        let current = edited.as_ref().unwrap_or(message);
        let limit = pressure.result_limit.filter(|_| can_shorten(message));
        if let Some(short) = limit.and_then(|limit| shorten(current, limit, self.family, None)) {
            let reason = "shortened to fit";
            return Some(self.inserted(short, reason, message, images - replaced.min(images)));
        }
        let images = images - replaced.min(images);
        Some(match edited {
            Some(edited) => self.inserted(edited, "cleaned for the provider", message, images),
            None => self.kept(index, message, images),
        })
    }

    fn kept(&self, index: usize, message: &Message, images: usize) -> Item {
        Item {
            piece: Piece::Keep(index),
            tokens: estimate_message(self.family, message),
            reason: "in the window",
            images,
            is_elastic: can_shorten(message),
        }
    }

    fn inserted(
        &self,
        message: Message,
        reason: &'static str,
        original: &Message,
        images: usize,
    ) -> Item {
        Item {
            images,
            is_elastic: can_shorten(original),
            ..self.invented(message, reason)
        }
    }

    fn invented(&self, message: Message, reason: &'static str) -> Item {
        let tokens = estimate_message(self.family, &message);
        Item {
            piece: Piece::Insert(message),
            tokens,
            reason,
            images: 0,
            is_elastic: false,
        }
    }
}
