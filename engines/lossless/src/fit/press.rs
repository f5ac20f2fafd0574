//! The newest turn when it alone is larger than the budget.

use contextwire_engine::tokens::IMAGE_TOKENS;
use contextwire_windowed::form::{can_shorten, level};

use super::item::{Item, Why};
use super::limits::MIN_RESULT_TOKENS;
use super::render::{Pressure, Renderer};
use super::unit::{Turn, Unit};

/// What replacing an image saves at least: its price without the reference's.
const IMAGE_SAVING: u64 = IMAGE_TOKENS as u64 - 64;

/// The newest turn as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    pub(crate) units: Vec<(Unit, Vec<Item>)>,
    /// Units that had to go.
    pub(crate) left: Vec<Unit>,
}

pub(crate) fn tokens<'a>(items: impl IntoIterator<Item = &'a Item>) -> u64 {
    items.into_iter().map(|item| u64::from(item.tokens)).sum()
}

impl Newest {
    /// The turn within a room: as it is, or else first images give way, oldest first, then tool
    /// results are cut, the longest first, then its oldest units go, never its user message, a pinned
    /// one, or its last.
    pub(crate) fn of(
        renderer: &Renderer<'_>,
        turn: Turn,
        oversize: Option<u32>,
        room: Option<u64>,
    ) -> Self {
        let mut pressure = Pressure {
            images: 0,
            result_limit: oversize,
        };
        let rendered = render(renderer, &turn, pressure);
        let Some(room) = room else {
            return Self::whole(turn, rendered);
        };
        let excess = total(&rendered).saturating_sub(room);
        if excess == 0 {
            return Self::whole(turn, rendered);
        }
        let user = turn.units.iter().rposition(|unit| unit.is_user);
        pressure.images = pressed_images(renderer, &turn, user, excess);
        let rendered = render(renderer, &turn, pressure);
        let excess = total(&rendered).saturating_sub(room);
        if excess == 0 {
            return Self::whole(turn, rendered);
        }
        let elastic = elastic(renderer, &turn, &rendered);
        pressure.result_limit = Some(level(elastic, excess).max(MIN_RESULT_TOKENS));
        let rendered = render(renderer, &turn, pressure);
        Self::cut(turn, rendered, room)
    }

    fn whole(turn: Turn, rendered: Vec<Vec<Item>>) -> Self {
        Self {
            units: turn.units.into_iter().zip(rendered).collect(),
            left: Vec::new(),
        }
    }

    fn cut(turn: Turn, rendered: Vec<Vec<Item>>, room: u64) -> Self {
        let mut excess = total(&rendered).saturating_sub(room);
        let last = turn.units.len().saturating_sub(1);
        let user = turn.units.iter().rposition(|unit| unit.is_user);
        let mut newest = Self::default();
        for (at, (unit, items)) in turn.units.into_iter().zip(rendered).enumerate() {
            let stays = unit.is_pinned || Some(at) == user || at == last;
            if excess > 0 && !stays {
                excess = excess.saturating_sub(tokens(&items));
                newest.left.push(unit);
            } else {
                newest.units.push((unit, items));
            }
        }
        newest
    }
}

fn total(rendered: &[Vec<Item>]) -> u64 {
    tokens(rendered.iter().flatten())
}

fn render(renderer: &Renderer<'_>, turn: &Turn, mut pressure: Pressure) -> Vec<Vec<Item>> {
    let user = turn.units.iter().rposition(|unit| unit.is_user);
    let units = turn.units.iter().enumerate();
    units
        .map(|(at, unit)| {
            if Some(at) == user {
                // What the user said now is shown as it was said.
                let mut none = Pressure::default();
                return renderer.unit(unit, &mut none, Why::Newest);
            }
            renderer.unit(unit, &mut pressure, Why::Newest)
        })
        .collect()
}

fn pressed_images(renderer: &Renderer<'_>, turn: &Turn, user: Option<usize>, excess: u64) -> usize {
    let others = turn
        .units
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != user);
    let all: usize = others
        .flat_map(|(_, unit)| &unit.lines)
        .map(|line| renderer.images_of(*line))
        .sum();
    let wanted = usize::try_from(excess.div_ceil(IMAGE_SAVING)).unwrap_or(usize::MAX);
    wanted.min(all)
}

/// Costs of what can be shortened.
fn elastic(renderer: &Renderer<'_>, turn: &Turn, rendered: &[Vec<Item>]) -> Vec<u32> {
    let units = turn.units.iter().zip(rendered);
    let costs = units.flat_map(|(unit, items)| unit.lines.iter().zip(items));
    costs
        .filter(|(line, _)| {
            let line = renderer.lines.get(**line);
            line.is_some_and(|line| can_shorten(line.entry.message()))
        })
        .map(|(_, item)| item.tokens)
        .collect()
}
