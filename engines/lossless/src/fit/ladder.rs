//! Which elements are shown when not all fit.
//!
//! The choice is a ladder whose rungs do not depend on the budget: with each, one element is shown in a
//! richer way. The highest rung that the budget pays for is taken, so that a larger budget never shows
//! less.

use super::element::{Class, Element, Shown};
use super::limits::{NOTE_TOKENS, steps};

/// A newer summary counts up to twice as much as an older one of the same density.
const RECENCY: u64 = 2;
/// A summary that stands for more than this many times its size is not worth more for it.
const MAX_DENSITY: u64 = 64 * 1_024;

/// What is shown of each element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) shown: Vec<Shown>,
    /// Whether notes stand in for what is not.
    pub(crate) has_notes: bool,
}

/// A rung: an element to show, and how.
#[derive(Clone, Copy, Debug)]
struct Rung {
    element: usize,
    shown: Shown,
    /// Of an old entry: tokens of the log before it.
    mark: Option<u64>,
}

impl Choice {
    /// Everything that can be shown.
    pub(crate) fn everything(elements: &[Element]) -> Self {
        let shown = elements.iter().map(|element| match element.class {
            Class::Never => Shown::Out,
            Class::Fixed | Class::Tail | Class::Summary | Class::Old => Shown::Full,
        });
        Self {
            shown: shown.collect(),
            has_notes: true,
        }
    }

    /// What the budget pays for. `mark` says how many tokens of the log lie before an element.
    pub(crate) fn within(elements: &[Element], room: u64, mark: impl Fn(&Element) -> u64) -> Self {
        let rungs = rungs(elements, mark);
        let mut best = None;
        for (step, top) in steps(room) {
            best = best.max(highest(elements, &rungs, room, (step, top)));
        }
        let mut climb = Climb::new(elements);
        for rung in rungs.iter().take(best.unwrap_or_default()) {
            climb.take(rung);
        }
        Self {
            shown: climb.shown,
            has_notes: best.is_some(),
        }
    }

    /// What it costs at most.
    pub(crate) fn cost(&self, elements: &[Element]) -> u64 {
        let mut climb = Climb::new(elements);
        for (element, shown) in self.shown.iter().enumerate() {
            climb.take(&Rung {
                element,
                shown: *shown,
                mark: None,
            });
        }
        climb.cost()
    }
}

/// How many rungs the budget pays for; none where it does not even pay for the notes.
fn highest(
    elements: &[Element],
    rungs: &[Rung],
    room: u64,
    (step, top): (u64, u64),
) -> Option<usize> {
    let mut climb = Climb::new(elements);
    let mut best = (climb.cost() <= room).then_some(0);
    let mut rungs = rungs.iter().enumerate().peekable();
    while let Some((at, rung)) = rungs.next() {
        climb.take(rung);
        let next = rungs.peek().and_then(|(_, next)| next.mark);
        let (limit, may_end) = match (rung.mark, next) {
            (None, _) => (room, true),
            (Some(_), None) => (top, true),
            (Some(mark), Some(next)) => (top, mark / step != next / step),
        };
        if may_end && climb.cost() <= limit {
            best = Some(at + 1);
        }
    }
    best
}

/// A line about each summary, the tail, the summaries, old entries.
fn rungs(elements: &[Element], mark: impl Fn(&Element) -> u64) -> Vec<Rung> {
    let of = |class: Class| {
        let elements = elements.iter().enumerate();
        elements.filter(move |(_, element)| element.class == class)
    };
    let full = |element: usize| Rung {
        element,
        shown: Shown::Full,
        mark: None,
    };
    let newest: Vec<Rung> = of(Class::Tail).map(|(at, _)| full(at)).collect();
    let count = of(Class::Summary).count();
    let mut summaries: Vec<(u64, usize)> = of(Class::Summary)
        .enumerate()
        .map(|(rank, (at, element))| (worth(element, rank, count), at))
        .collect();
    summaries.sort_unstable_by(|a, b| b.cmp(a));
    let brief = summaries.iter().map(|(_, at)| Rung {
        shown: Shown::Brief,
        ..full(*at)
    });
    let whole = summaries.iter().map(|(_, at)| full(*at));
    let old: Vec<Rung> = of(Class::Old)
        .map(|(at, element)| Rung {
            mark: Some(mark(element)),
            ..full(at)
        })
        .collect();
    brief
        .chain(newest.into_iter().rev())
        .chain(whole)
        .chain(old.into_iter().rev())
        .collect()
}

/// What a summary says for a token of it: how much it stands for, and more where it is newer.
fn worth(element: &Element, rank: usize, count: usize) -> u64 {
    let (rank, count) = (rank as u64, count.max(1) as u64);
    let density = element.density.min(MAX_DENSITY);
    density.saturating_mul(count + (RECENCY - 1) * rank) / count
}

/// The cost of a choice, kept up to date with each rung.
struct Climb<'a> {
    elements: &'a [Element],
    shown: Vec<Shown>,
    /// Cost without notes, but for the lines in them.
    cost: u64,
    /// Runs of elements that a note stands in for.
    notes: u64,
}

impl<'a> Climb<'a> {
    /// Only what is shown whatever it costs.
    fn new(elements: &'a [Element]) -> Self {
        let mut climb = Self {
            elements,
            shown: vec![Shown::Out; elements.len()],
            cost: 0,
            notes: u64::from(!elements.is_empty()),
        };
        for (element, _) in elements
            .iter()
            .enumerate()
            .filter(|(_, element)| element.class == Class::Fixed)
        {
            climb.take(&Rung {
                element,
                shown: Shown::Full,
                mark: None,
            });
        }
        climb
    }

    fn cost(&self) -> u64 {
        self.cost + self.notes * NOTE_TOKENS
    }

    fn is_out(&self, at: Option<usize>) -> bool {
        at.and_then(|at| self.shown.get(at))
            .is_some_and(|shown| *shown != Shown::Full)
    }

    fn take(&mut self, rung: &Rung) {
        let at = rung.element;
        let (Some(element), Some(before)) = (self.elements.get(at), self.shown.get(at).copied())
        else {
            return;
        };
        if rung.shown <= before {
            return;
        }
        let price = |shown: Shown| match shown {
            Shown::Out => 0,
            Shown::Brief => element.brief.as_ref().map_or(0, |(_, tokens)| *tokens),
            Shown::Full => element.cost(),
        };
        self.cost = (self.cost + price(rung.shown)).saturating_sub(price(before));
        if rung.shown == Shown::Full {
            let left = self.is_out(at.checked_sub(1));
            let right = self.is_out(at.checked_add(1));
            match (left, right) {
                (true, true) => self.notes += 1,
                (false, false) => self.notes = self.notes.saturating_sub(1),
                (true, false) | (false, true) => {}
            }
        }
        if let Some(shown) = self.shown.get_mut(at) {
            *shown = rung.shown;
        }
    }
}
