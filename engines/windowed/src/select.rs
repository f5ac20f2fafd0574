//! Which turns fit, and how hard each is pressed.

use contextwire_engine::tokens::IMAGE_TOKENS;

use crate::render::{Item, Lead, Pressure, Rendered, Renderer};
use crate::shorten::level;
use crate::slice::{GoOn, MIN_RESULT_TOKENS, older_result_limit};
use crate::unit::Turn;

/// What replacing an image saves at least: its price without the reference's.
const IMAGE_SAVING: u64 = IMAGE_TOKENS as u64 - 64;

/// What is sent, in order. Instructions, summaries, then the conversation.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) units: Vec<Rendered>,
    /// Whether a part of the newest turn had to be left out.
    pub(crate) is_cut: bool,
}

/// Chooses for a budget in tokens, or everything without one; none when told to stop.
pub(crate) fn select(
    renderer: &Renderer<'_, '_>,
    mut turns: Vec<Turn>,
    budget: Option<u64>,
    go_on: GoOn<'_>,
) -> Option<Selection> {
    let slice = renderer.slice;
    let sent = |index: &usize| !slice.is_dropped(*index);
    let head = slice.instructions().filter(sent);
    let mut chosen = Chosen {
        renderer,
        room: budget,
        result_limit: budget.map(older_result_limit),
        head: head
            .filter_map(|index| renderer.single(index, "leading instructions"))
            .collect(),
        units: Vec::new(),
        is_cut: false,
        has_summary: false,
    };
    chosen.room = budget.map(|budget| budget.saturating_sub(tokens(&chosen.head)));
    if let Some(newest) = turns.pop() {
        chosen.add_newest(&newest);
    }
    let summaries = slice.summaries().filter(sent);
    chosen.add_summaries(
        summaries
            .filter_map(|index| renderer.single(index, "compaction summary"))
            .collect(),
    );
    while let Some(turn) = turns.pop() {
        if !go_on() {
            return None;
        }
        if !chosen.add_older(&turn) {
            break;
        }
    }
    Some(chosen.finish())
}

fn tokens(units: &[Rendered]) -> u64 {
    units.iter().map(Rendered::tokens).sum()
}

fn items(units: &[Rendered]) -> impl Iterator<Item = &Item> {
    units.iter().flat_map(|unit| &unit.items)
}

struct Chosen<'r, 's, 'a> {
    renderer: &'r Renderer<'s, 'a>,
    /// Tokens left; none without a budget.
    room: Option<u64>,
    /// Most tokens of an older tool result.
    result_limit: Option<u32>,
    head: Vec<Rendered>,
    units: Vec<Rendered>,
    is_cut: bool,
    has_summary: bool,
}

impl Chosen<'_, '_, '_> {
    fn fits(&self, tokens: u64) -> bool {
        self.room.is_none_or(|room| tokens <= room)
    }

    fn take(&mut self, units: Vec<Rendered>, opening: u64) {
        self.room = self
            .room
            .map(|room| room.saturating_sub(tokens(&units) + opening));
        self.units.extend(units);
    }

    fn add_newest(&mut self, turn: &Turn) {
        let opening = if turn.is_head(0) {
            0
        } else {
            self.renderer.opening(None).tokens()
        };
        let units = self.renderer.turn(turn, Pressure::default());
        if self.fits(tokens(&units) + opening) {
            return self.take(units, opening);
        }
        let room = self.room.unwrap_or(u64::MAX).saturating_sub(opening);
        let units = self.press(turn, &units, room);
        self.take(units, opening);
        // What the newest turn had to give up is not for older ones.
        self.room = Some(0);
    }

    /// The newest turn: first images give way, oldest first, then tool results are cut, the
    /// longest first, then its oldest units are left out, never its user message and its last unit.
    fn press(&mut self, turn: &Turn, units: &[Rendered], room: u64) -> Vec<Rendered> {
        let excess = tokens(units).saturating_sub(room);
        let all_images: usize = items(units).map(|item| item.images).sum();
        let images = usize::try_from(excess.div_ceil(IMAGE_SAVING)).unwrap_or(usize::MAX);
        let mut pressure = Pressure {
            images: images.min(all_images),
            result_limit: None,
        };
        let units = self.renderer.turn(turn, pressure);
        let excess = tokens(&units).saturating_sub(room);
        if excess == 0 {
            return units;
        }
        let elastic = items(&units)
            .filter(|item| item.is_elastic)
            .map(|item| item.tokens);
        pressure.result_limit = Some(level(elastic, excess).max(MIN_RESULT_TOKENS));
        let units = self.renderer.turn(turn, pressure);
        self.leave_out(turn, units, room)
    }

    fn leave_out(&mut self, turn: &Turn, units: Vec<Rendered>, room: u64) -> Vec<Rendered> {
        let mut excess = tokens(&units).saturating_sub(room);
        let last = units.len().saturating_sub(1);
        let mut kept = Vec::with_capacity(units.len());
        for (position, unit) in units.into_iter().enumerate() {
            if excess > 0 && !turn.is_head(position) && position != last {
                excess = excess.saturating_sub(unit.tokens());
                self.is_cut = true;
            } else {
                kept.push(unit);
            }
        }
        kept
    }

    fn add_summaries(&mut self, summaries: Vec<Rendered>) {
        if self.fits(tokens(&summaries)) {
            self.has_summary = !summaries.is_empty();
            self.room = self.room.map(|room| room - tokens(&summaries));
            self.head.extend(summaries);
        }
    }

    /// Takes an older turn whole, or its user message and newest units; false when it was not taken
    /// whole, so that nothing older follows.
    fn add_older(&mut self, turn: &Turn) -> bool {
        let is_beginning = turn.head.is_none();
        if is_beginning && !self.renderer.slice.is_whole() {
            return false;
        }
        let opening = if is_beginning {
            self.renderer.opening(None).tokens()
        } else {
            0
        };
        for images in [0, usize::MAX] {
            let pressure = Pressure {
                images,
                result_limit: self.result_limit,
            };
            let units = self.renderer.turn(turn, pressure);
            if self.fits(tokens(&units) + opening) {
                self.take(units, opening);
                return true;
            }
            if images > 0 && !is_beginning {
                self.take_end(units);
            }
        }
        false
    }

    fn take_end(&mut self, mut units: Vec<Rendered>) {
        let rest = units.split_off(units.len().min(1));
        let mut taken = tokens(&units);
        let newest = rest.into_iter().rev().take_while(|unit| {
            taken += unit.tokens();
            self.fits(taken)
        });
        units.extend(newest.collect::<Vec<_>>());
        // A user message whose answer is missing entirely says nothing.
        if units.len() > 1 {
            self.take(units, 0);
        }
    }

    fn finish(self) -> Selection {
        let Self {
            renderer,
            head,
            mut units,
            is_cut,
            has_summary,
            ..
        } = self;
        units.sort_by_key(|unit| unit.first);
        let first = units.iter().position(|unit| unit.lead != Lead::Aside);
        let opening = first.and_then(|at| {
            let unit = units
                .get(at)
                .filter(|unit| unit.lead == Lead::No && !has_summary)?;
            Some((at, renderer.opening(Some(unit.first))))
        });
        if let Some((at, opening)) = opening {
            units.insert(at, opening);
        }
        Selection {
            units: head.into_iter().chain(units).collect(),
            is_cut,
        }
    }
}
