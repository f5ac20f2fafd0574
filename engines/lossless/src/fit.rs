//! The current plan fitted into a budget: what the model sees, and why.
//!
//! Shown first is what nothing else can stand for: instructions at the head, the newest user message
//! with everything behind it, pins. Then a note that counts the rest, the fresh tail, the summaries by
//! what they say for a token, and older entries, newest first. While everything fits, everything is
//! shown, so that from turn to turn the context only grows at its end. Equal input, equal output: no
//! clock, no randomness; and the time grows with what is shown, not with the log.

mod element;
mod emit;
mod epoch;
mod item;
mod ladder;
mod limits;
mod line;
mod press;
mod render;
mod unit;
mod view;

#[cfg(test)]
mod tests;

use contextwire_engine::tokens::ModelFamily;
use contextwire_engine::{Digest, PromptAuthority};
use contextwire_windowed::Window;
use contextwire_windowed::form::Reader;

pub use item::{Form, Item, Left, LeftOut, Piece, Why};
pub use view::View;

use crate::node::NodeState;
use crate::snapshot::Snapshot;
use element::{Class, Element};
use ladder::Choice;
use line::{Key, Line, Lines};
use press::{Newest, tokens};
use render::{Pressure, Renderer};
use unit::{Turn, Turns, Unit};

/// What is fitted to what.
#[derive(Clone, Copy, Debug)]
pub struct Fit<'a> {
    /// The session.
    pub snapshot: Snapshot<'a>,
    /// What the host shows of it.
    pub view: &'a View<'a>,
    /// The budget and the reader.
    pub window: Window<'a>,
    /// Entries that were rewritten, corrected or erased, each with the digest of what it is now; a
    /// thread that was shown one of them shows something that is not so any more (R10.1).
    pub corrections: &'a [(u64, Digest)],
}

/// What the model sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The messages in order, each with its reason.
    pub items: Vec<Item>,
    /// Estimated tokens of all of them.
    pub tokens: u64,
    /// What is neither shown nor stood for by a summary or a note, as far as it was read.
    pub left_out: Vec<LeftOut>,
    /// Whether the result may be too large all the same.
    pub authority: PromptAuthority,
    /// Digest of the summaries and pins that are shown, in order.
    pub epoch: String,
    /// Digest of the epoch and of the corrections to what is shown.
    pub fingerprint: String,
}

impl Fit<'_> {
    /// The context.
    pub fn run(&self) -> Fitted {
        let family = ModelFamily::of_model(self.window.model);
        let share = self.window.share();
        let lines = Lines::of(self, family, share);
        let reader = Reader {
            provider: self.window.provider,
            model: self.window.model,
        };
        let renderer = Renderer::new(&lines.conversation, family, reader);
        let is_pinned = |line: &Line| {
            let place = line.key.logged();
            place.is_some_and(|place| self.snapshot.pins.contains(&place))
        };
        let turns = Turns::of(&lines.conversation, is_pinned, self.window.current_turn);
        let lead: Vec<Item> = lines.lead.iter().map(|line| renderer.lead(line)).collect();
        let room = share.map(|share| share.saturating_sub(tokens(&lead)));
        let newest = Newest::of(&renderer, turns.newest, limits::oversize(share), room);
        let sheet = Sheet {
            fit: self,
            renderer: &renderer,
            family,
            lines: &lines,
            older: &turns.older,
            newest: &newest,
        };
        let (elements, choice) = sheet.choose(share, room);
        let mut emitted = emit::Emitted::of(lead, &renderer);
        emitted.add(&elements, &choice);
        emitted.leave_out(&lines, &turns.unsent, &newest.left);
        emitted.finish(self, share, !newest.left.is_empty())
    }
}

/// Everything that there is a choice about.
struct Sheet<'s> {
    fit: &'s Fit<'s>,
    renderer: &'s Renderer<'s>,
    family: ModelFamily,
    lines: &'s Lines,
    older: &'s [Turn],
    newest: &'s Newest,
}

impl Sheet<'_> {
    fn choose(&self, share: Option<u64>, room: Option<u64>) -> (Vec<Element>, Choice) {
        let reserved = limits::OPENING_TOKENS;
        let is_read = self.lines.unread.is_empty() && self.lines.unread_loose == 0;
        if is_read {
            let whole = self.elements(limits::oversize(share), usize::MAX, u64::MAX);
            let everything = Choice::everything(&whole);
            if room.is_none_or(|room| everything.cost(&whole) + reserved <= room) {
                return (whole, everything);
            }
        }
        // Without a budget everything is read and fits.
        let room = room.unwrap_or(u64::MAX);
        let mut elements = self.elements(
            Some(limits::PRESSED_RESULT_TOKENS),
            limits::TAIL_MESSAGES,
            limits::TAIL_TOKENS,
        );
        let room = room.saturating_sub(reserved);
        give_up_pins(&mut elements, room, self.newest);
        let log = self.fit.snapshot.log;
        let mark = |element: &Element| log.tokens_before(element.key.place);
        let choice = Choice::within(&elements, room, mark);
        (elements, choice)
    }

    /// The elements in order; the newest older turns are the tail.
    fn elements(&self, limit: Option<u32>, messages: usize, tokens: u64) -> Vec<Element> {
        let mut elements = self.summaries();
        elements.extend(self.lines.unread.iter().map(|span| Element::unread(*span)));
        let mut borders: Vec<Key> = elements.iter().map(|element| element.key).collect();
        borders.extend(self.newest.units.iter().map(|(unit, _)| unit.key));
        borders.sort_unstable();
        let (mut taken, mut spent) = (0, 0u64);
        let mut is_tail = true;
        for turn in self.older.iter().rev() {
            let parts = self.turn(turn, limit, &borders);
            taken += parts.iter().map(|part| part.items.len()).sum::<usize>();
            spent = spent.saturating_add(parts.iter().map(Element::cost).sum());
            is_tail = is_tail && taken <= messages && spent <= tokens;
            elements.extend(parts.into_iter().map(|part| match part.class {
                Class::Old if is_tail => tail(part),
                Class::Fixed | Class::Tail | Class::Summary | Class::Old | Class::Never => part,
            }));
        }
        for (unit, items) in &self.newest.units {
            let lines = self.renderer.lines;
            elements.push(Element::units(&[unit], lines, items.clone(), Class::Fixed));
        }
        // Stable: a summary comes before what is shown verbatim of its span.
        elements.sort_by_key(|element| element.key);
        elements
    }

    fn summaries(&self) -> Vec<Element> {
        let snapshot = &self.fit.snapshot;
        let placed = snapshot.plan.summaries().iter();
        placed
            .map(|placed| match snapshot.nodes.node(placed.id) {
                Some(node) if node.state() != NodeState::Erased => {
                    Element::summary(&node, self.family)
                }
                Some(_) | None => Element::unread(placed.span),
            })
            .collect()
    }

    /// A turn as elements: what is pinned of it apart from the rest, and nothing across a border.
    fn turn(&self, turn: &Turn, limit: Option<u32>, borders: &[Key]) -> Vec<Element> {
        let is_parted = |a: Key, b: Key| {
            let next = borders.partition_point(|border| *border < a);
            borders.get(next).is_some_and(|border| *border < b)
        };
        let groups = turn
            .units
            .chunk_by(|a, b| a.is_pinned == b.is_pinned && !is_parted(a.key, b.key));
        groups
            .map(|units| {
                let mut pressure = Pressure {
                    images: 0,
                    result_limit: limit,
                };
                let is_pinned = units.first().is_some_and(|unit| unit.is_pinned);
                let items = units.iter().flat_map(|unit| {
                    // What is pinned is shown verbatim.
                    let mut verbatim = Pressure::default();
                    let pressure = if is_pinned {
                        &mut verbatim
                    } else {
                        &mut pressure
                    };
                    self.renderer.unit(unit, pressure, Why::Room)
                });
                let items: Vec<Item> = items.collect();
                let class = if is_pinned { Class::Fixed } else { Class::Old };
                let units: Vec<&Unit> = units.iter().collect();
                Element::units(&units, self.renderer.lines, items, class)
            })
            .collect()
    }
}

fn tail(mut element: Element) -> Element {
    element.class = Class::Tail;
    for item in &mut element.items {
        if item.why == Why::Room {
            item.why = Why::Tail;
        }
    }
    element
}

/// Where the pins do not fit beside the newest turn, the oldest of them give way.
fn give_up_pins(elements: &mut [Element], room: u64, newest: &Newest) {
    let fixed = |elements: &[Element]| -> u64 {
        let fixed = elements
            .iter()
            .filter(|element| element.class == Class::Fixed);
        fixed.map(Element::cost).sum()
    };
    let mut excess = fixed(elements).saturating_sub(room);
    let is_newest =
        |element: &Element| newest.units.iter().any(|(unit, _)| unit.key == element.key);
    for element in elements.iter_mut() {
        if excess == 0 {
            return;
        }
        if element.class == Class::Fixed && !is_newest(element) {
            excess = excess.saturating_sub(element.cost());
            element.class = Class::Never;
            element.pins.clear();
        }
    }
}
