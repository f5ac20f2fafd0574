//! The messages that an assembly can show as they are, found from the newest back.

use std::collections::BTreeSet;
use std::sync::Arc;

use contextwire_engine::tokens::ModelFamily;

use super::Fit;
use super::limits::{MIN_RESULT_TOKENS, PRESSED_RESULT_TOKENS, TAIL_MESSAGES, TAIL_TOKENS};
use crate::entry::Entry;
use crate::pair::{LOOK_AROUND, pair_of};
use crate::plan::FrontierItem;
use crate::span::Span;

/// What a message counts at least while lines are gathered, so that a history of nothing ends.
const MIN_MESSAGE_TOKENS: u64 = 4;

/// Where a message stands: at a place of the log, or loose before one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) place: u64,
    /// Order before the place; the place's own entry is last.
    order: usize,
}

impl Key {
    pub(crate) fn at(place: u64) -> Self {
        Self {
            place,
            order: usize::MAX,
        }
    }

    /// Loose before a place, in the order of the view.
    pub(crate) fn before(place: u64, index: usize) -> Self {
        Self {
            place,
            order: index,
        }
    }

    /// The place in the log; none for a loose message.
    pub(crate) fn logged(self) -> Option<u64> {
        (self.order == usize::MAX).then_some(self.place)
    }
}

/// A message with where it stands and where the host shows it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) key: Key,
    pub(crate) view: Option<usize>,
    pub(crate) entry: Arc<Entry>,
    /// Whether a summary of the plan stands for it as well.
    pub(crate) is_extra: bool,
}

impl Line {
    pub(crate) fn is_user(&self) -> bool {
        self.entry.message().role() == "user" && !self.entry.look().is_blank
    }
}

/// What can be shown as it is, and what was not even looked at.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Instructions at the head.
    pub(crate) lead: Vec<Line>,
    /// The conversation, oldest first.
    pub(crate) conversation: Vec<Line>,
    /// Runs of entries that cannot fit, in order.
    pub(crate) unread: Vec<Span>,
    /// Loose messages that cannot fit.
    pub(crate) unread_loose: usize,
    /// Entries that are gone from the store.
    pub(crate) missing: Vec<u64>,
}

impl Lines {
    /// Everything without a budget; with one, back to where nothing more can fit.
    pub(crate) fn of(fit: &Fit<'_>, family: ModelFamily, share: Option<u64>) -> Self {
        let mut lines = Self::default();
        let lead_end = fit.snapshot.lead_end();
        lines.add_lead(fit, lead_end);
        let spans = entries(fit, lead_end);
        let from = lines.add_newest(fit, &spans, family, share);
        lines.unread = spans
            .iter()
            .map(|span| Span::new(span.start, span.end.min(from.place)))
            .filter(|span| !span.is_empty())
            .collect();
        lines.add_newest_user(fit);
        lines.add_pins(fit, from);
        lines.conversation.sort_by_key(|line| line.key);
        lines
    }

    fn add_lead(&mut self, fit: &Fit<'_>, lead_end: u64) {
        for index in fit.view.lead() {
            self.lead.extend(loose(fit, Key::before(0, index), index));
        }
        for place in 0..lead_end {
            self.lead.extend(logged(fit, place));
        }
    }

    /// Adds lines newest first; gives the key of the oldest that was added.
    fn add_newest(
        &mut self,
        fit: &Fit<'_>,
        spans: &[Span],
        family: ModelFamily,
        share: Option<u64>,
    ) -> Key {
        let mut loose_keys = fit.view.loose().iter().rev().peekable();
        let mut places = spans.iter().rev().flat_map(|span| span.places().rev());
        let mut place = places.next();
        let (mut reached, mut beyond) = (Reached::default(), 0);
        let mut oldest = Key::at(u64::MAX);
        loop {
            if share.is_some_and(|share| reached.is_enough(share)) {
                let begins_turn = self.conversation.last().is_some_and(Line::is_user);
                beyond += 1;
                if begins_turn || beyond > LOOK_AROUND {
                    break;
                }
            }
            let is_loose = loose_keys
                .peek()
                .is_some_and(|(key, _)| place.is_none_or(|place| *key > Key::at(place)));
            let (key, line) = if is_loose {
                let Some((key, index)) = loose_keys.next() else {
                    break;
                };
                (*key, loose(fit, *key, *index))
            } else if let Some(at) = place {
                place = places.next();
                let line = logged(fit, at);
                if line.is_none() {
                    self.missing.push(at);
                }
                (Key::at(at), line)
            } else {
                return Key::at(0);
            };
            oldest = key;
            let Some(line) = line else { continue };
            reached.add(&line, family);
            self.conversation.push(line);
        }
        self.unread_loose = loose_keys.count();
        oldest
    }

    /// Adds the newest user message where it lies before everything that fits: it is always shown.
    ///
    /// Looks back some entries at a time, and no further than to one that is not at hand: a log that
    /// reads its entries when they are asked for reads these first and is asked again.
    fn add_newest_user(&mut self, fit: &Fit<'_>) {
        if self.conversation.iter().any(Line::is_user) {
            return;
        }
        let mut end = self.unread.last().map_or(0, |span| span.end);
        while end > 0 {
            let start = end.saturating_sub(LOOK_AROUND);
            let window = self.unread.iter().rev().flat_map(|span| {
                let part = Span::new(span.start.max(start), span.end.min(end));
                part.places().rev()
            });
            let read: Vec<Option<Line>> = window.map(|place| logged(fit, place)).collect();
            let is_whole = read.iter().all(Option::is_some);
            let user = read.into_iter().flatten().find(Line::is_user);
            if let Some(user) = user {
                self.read(user.key.place);
                self.conversation.push(user);
                return;
            }
            if !is_whole {
                return;
            }
            end = start;
        }
    }

    /// A place is read after all.
    fn read(&mut self, place: u64) {
        self.unread = self
            .unread
            .iter()
            .flat_map(|span| without(*span, place))
            .collect();
    }

    /// Adds pinned entries that a summary stands for or that were not read, each with the calls or
    /// results that go with it.
    fn add_pins(&mut self, fit: &Fit<'_>, from: Key) {
        let is_here =
            |place: u64| Key::at(place) >= from && fit.snapshot.plan.summary_at(place).is_none();
        let mut wanted = BTreeSet::new();
        for place in fit.snapshot.pins.iter().filter(|place| !is_here(**place)) {
            wanted.extend(pair_of(fit.snapshot.log, *place));
        }
        let lead: BTreeSet<u64> = self
            .lead
            .iter()
            .filter_map(|line| line.key.logged())
            .collect();
        for place in wanted {
            let is_known = |line: &Line| line.key == Key::at(place);
            if is_here(place) || lead.contains(&place) || self.conversation.iter().any(is_known) {
                continue;
            }
            self.conversation.extend(logged(fit, place));
            self.read(place);
        }
    }
}

/// How much was read so far.
#[derive(Debug, Default)]
struct Reached {
    /// The least that all of it can cost.
    tokens: u64,
    has_user: bool,
    /// Lines before the newest user message, and the least that they can cost.
    older: (usize, u64),
}

impl Reached {
    fn add(&mut self, line: &Line, family: ModelFamily) {
        // Only the newest turn's results are ever pressed to the least.
        let limit = if self.has_user {
            PRESSED_RESULT_TOKENS
        } else {
            MIN_RESULT_TOKENS
        };
        let tokens = least(line, family, limit);
        self.tokens += tokens;
        if self.has_user {
            self.older = (self.older.0 + 1, self.older.1 + tokens);
        }
        self.has_user |= line.is_user();
    }

    /// Whether nothing more can fit. The whole fresh tail is read whether it fits or not, with some to
    /// spare: what comes after it in the order of choice must not depend on the budget.
    fn is_enough(&self, share: u64) -> bool {
        let (lines, tokens) = self.older;
        let has_tail = lines > 2 * TAIL_MESSAGES || tokens > 2 * TAIL_TOKENS;
        self.tokens > share && (has_tail || !self.has_user)
    }
}

fn without(span: Span, place: u64) -> impl Iterator<Item = Span> {
    let parts = if span.contains(place) {
        [Span::new(span.start, place), Span::new(place + 1, span.end)]
    } else {
        [span, Span::new(0, 0)]
    };
    parts.into_iter().filter(|part| !part.is_empty())
}

/// The runs of entries that stand for themselves, in order, without the instructions at the head.
fn entries(fit: &Fit<'_>, lead_end: u64) -> Vec<Span> {
    let items = fit.snapshot.plan.frontier(fit.snapshot.log.end());
    let spans = items.into_iter().filter_map(|item| match item {
        FrontierItem::Entries(span) => Some(Span::new(span.start.max(lead_end), span.end)),
        FrontierItem::Summary(_) => None,
    });
    spans.filter(|span| !span.is_empty()).collect()
}

fn loose(fit: &Fit<'_>, key: Key, index: usize) -> Option<Line> {
    Some(Line {
        key,
        view: Some(index),
        entry: Arc::new(Entry::new(fit.view.message(index)?.clone())),
        is_extra: false,
    })
}

/// An entry as the host shows it; a host may decorate what it stores.
fn logged(fit: &Fit<'_>, place: u64) -> Option<Line> {
    let entry = fit.snapshot.log.entry(place)?;
    let view = fit.view.index_of(place);
    let shown = view.and_then(|index| fit.view.message(index));
    let entry = match shown {
        Some(shown) if shown.payload() != entry.message().payload() => {
            Arc::new(Entry::new(shown.clone()))
        }
        Some(_) | None => entry,
    };
    Some(Line {
        key: Key::at(place),
        view,
        entry,
        is_extra: fit.snapshot.plan.summary_at(place).is_some(),
    })
}

fn least(line: &Line, family: ModelFamily, limit: u32) -> u64 {
    let is_result = line.entry.message().tool_result_for().is_some();
    let limit = if is_result { limit } else { u32::MAX };
    u64::from(line.entry.tokens(family).min(limit)).max(MIN_MESSAGE_TOKENS)
}
