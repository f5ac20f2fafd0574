//! The pieces of a context between which there is a choice.

use contextwire_engine::tokens::{ModelFamily, count_text};
use contextwire_engine::{Digest, Message};

use super::item::{Form, Item, Piece, Why};
use super::limits::BRIEF_CHARS;
use super::line::{Key, Line};
use super::press::tokens;
use super::unit::Unit;
use crate::node::{NodeId, SummaryNode};
use crate::span::Span;

/// How much of an element is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// A note counts it.
    #[default]
    Out,
    /// The note has a line about it.
    Brief,
    /// All of it.
    Full,
}

/// What decides about an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It is shown whatever it costs.
    Fixed,
    /// The newest entries before the newest turn.
    Tail,
    Summary,
    /// Older entries.
    Old,
    /// It cannot be shown: not read, or not in the store.
    Never,
}

/// A summary, a turn's units, or a run that was not read.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) key: Key,
    pub(crate) class: Class,
    /// What of the log it is.
    pub(crate) places: Option<Span>,
    /// Messages that are not shown without it.
    pub(crate) messages: u64,
    pub(crate) items: Vec<Item>,
    /// A line about it, with its tokens.
    pub(crate) brief: Option<(String, u64)>,
    /// What it says for what it costs.
    pub(crate) density: u64,
    /// Digests of the pinned entries in it, in order.
    pub(crate) pins: Vec<Digest>,
    pub(crate) is_user: bool,
    /// Whether it stands outside the conversation: instructions in the middle of it.
    pub(crate) is_aside: bool,
    /// Time of its first message.
    pub(crate) timestamp_ms: Option<i64>,
}

impl Element {
    pub(crate) fn cost(&self) -> u64 {
        tokens(&self.items)
    }

    /// A run that is counted and nothing else.
    pub(crate) fn unread(span: Span) -> Self {
        Self {
            key: Key::at(span.start),
            class: Class::Never,
            places: Some(span),
            messages: span.len(),
            items: Vec::new(),
            brief: None,
            density: 0,
            pins: Vec::new(),
            is_user: false,
            is_aside: false,
            timestamp_ms: None,
        }
    }

    pub(crate) fn summary(node: &SummaryNode, family: ModelFamily) -> Self {
        let tokens = node.tokens(family);
        let line = brief(node);
        let brief_tokens = u64::from(count_text(family, &line)) + 1;
        let covered = node.parts().source_tokens.saturating_mul(1_024);
        Self {
            class: Class::Summary,
            items: vec![Item {
                piece: Piece::Insert(node.message().clone()),
                tokens,
                why: Why::Summary(node.id(), node.depth()),
                form: Form::Whole,
                places: Some(node.span()),
                stands_for: node.span().len(),
            }],
            brief: Some((line, brief_tokens)),
            density: covered / u64::from(tokens.max(1)),
            ..Self::unread(node.span())
        }
    }

    /// Units that stand together, rendered.
    pub(crate) fn units(units: &[&Unit], lines: &[Line], items: Vec<Item>, class: Class) -> Self {
        let lines = units
            .iter()
            .flat_map(|unit| &unit.lines)
            .filter_map(|line| lines.get(*line));
        let logged = lines.clone().filter_map(|line| line.key.logged());
        let places = logged
            .clone()
            .min()
            .zip(logged.max())
            .map(|(first, last)| Span::new(first, last + 1));
        let pinned = units.first().is_some_and(|unit| unit.is_pinned);
        let digests = lines.clone().map(|line| line.entry.message().digest());
        let first = units.first();
        let message = lines.clone().next().map(|line| line.entry.message());
        Self {
            key: first.map_or(Key::at(0), |unit| unit.key),
            class,
            places,
            messages: lines.filter(|line| !line.is_extra).count() as u64,
            items,
            brief: None,
            density: 0,
            pins: if pinned {
                digests.collect()
            } else {
                Vec::new()
            },
            is_user: first.is_some_and(|unit| unit.is_user),
            is_aside: message
                .is_some_and(|message| matches!(message.role(), "system" | "developer")),
            timestamp_ms: message.and_then(Message::timestamp_ms),
        }
    }

    /// The nodes that it shows when it is shown whole.
    pub(crate) fn summary_id(&self) -> Option<NodeId> {
        match self.items.first().map(|item| item.why) {
            Some(Why::Summary(id, _)) => Some(id),
            Some(_) | None => None,
        }
    }
}

/// One line about a summary.
fn brief(node: &SummaryNode) -> String {
    let headless = node
        .text()
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .unwrap_or_default();
    let line: String = headless.chars().take(BRIEF_CHARS).collect();
    format!("- {} ({}): {line}", node.span(), node.id().handle())
}
