//! The plan as a compaction changes it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contextwire_engine::tokens::ModelFamily;

use crate::node::{NodeId, NodeState, SummaryNode};
use crate::pair::pair_of;
use crate::plan::{FrontierItem, Placed, Plan};
use crate::snapshot::Snapshot;
use crate::span::Span;

/// The tokens of all figures here: a session has one count, whoever reads it.
const FAMILY: ModelFamily = ModelFamily::Other;

/// A plan that is being written, over the state that it started from.
pub(crate) struct Draft<'a> {
    pub(crate) snapshot: Snapshot<'a>,
    pub(crate) plan: Plan,
    fresh: HashMap<NodeId, Arc<SummaryNode>>,
    tokens: u64,
}

impl<'a> Draft<'a> {
    pub(crate) fn of(snapshot: Snapshot<'a>) -> Self {
        let mut draft = Self {
            snapshot,
            plan: snapshot.plan.clone(),
            fresh: HashMap::new(),
            tokens: 0,
        };
        let frontier = draft.plan.frontier(snapshot.log.end());
        draft.tokens = frontier.iter().map(|item| draft.weight(item)).sum();
        draft
    }

    /// Estimated tokens of the plan: its entries as they are, and its summaries.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<Arc<SummaryNode>> {
        let fresh = self.fresh.get(&id).cloned();
        fresh.or_else(|| self.snapshot.nodes.node(id))
    }

    /// Estimated tokens of the entries of a span.
    pub(crate) fn entries(&self, span: Span) -> u64 {
        let log = self.snapshot.log;
        log.tokens_before(span.end)
            .saturating_sub(log.tokens_before(span.start))
    }

    fn weight(&self, item: &FrontierItem) -> u64 {
        match item {
            FrontierItem::Entries(span) => self.entries(*span),
            FrontierItem::Summary(placed) => self
                .node(placed.id)
                .map_or(0, |node| u64::from(node.tokens(FAMILY))),
        }
    }

    /// Tokens of what stands for a span now, where it is whole items or a part of one run of entries.
    pub(crate) fn standing(&self, span: Span) -> u64 {
        let covered: Vec<Placed> = self.covered(span);
        let summaries: u64 = covered
            .iter()
            .map(|placed| self.weight(&FrontierItem::Summary(*placed)))
            .sum();
        let hidden: u64 = covered.iter().map(|placed| self.entries(placed.span)).sum();
        summaries + self.entries(span).saturating_sub(hidden)
    }

    /// The plan's summaries within a span.
    pub(crate) fn covered(&self, span: Span) -> Vec<Placed> {
        let summaries = self.plan.summaries();
        let from = summaries.partition_point(|placed| placed.span.end <= span.start);
        let inside = summaries.iter().skip(from);
        inside
            .take_while(|placed| placed.span.start < span.end)
            .copied()
            .collect()
    }

    /// Puts a node in its place. False where it would not save anything, or cannot stand there; a text
    /// that takes the place of a provisional one may be longer than that.
    pub(crate) fn put(&mut self, node: SummaryNode) -> bool {
        let before = self.standing(node.span());
        let after = u64::from(node.tokens(FAMILY));
        let mends = self.covered(node.span()).iter().any(|placed| {
            let old = self.node(placed.id);
            old.is_some_and(|old| old.state() == NodeState::Repair)
        });
        let most = if mends && !node.is_provisional() {
            before.max(self.entries(node.span()) / 2)
        } else {
            before
        };
        if after >= most {
            return false;
        }
        let Ok(plan) = self.plan.with((&node).into()) else {
            return false;
        };
        self.plan = plan;
        self.tokens = (self.tokens + after).saturating_sub(before);
        self.fresh.insert(node.id(), Arc::new(node));
        true
    }

    /// Runs of entries that may be summarised: not the instructions at the head, not from `tail` on, no
    /// pin and nothing that goes with one.
    pub(crate) fn runs(&self, tail: u64) -> Vec<Span> {
        let lead = self.snapshot.lead_end();
        let pins = self.snapshot.pins.iter();
        let pinned: BTreeSet<u64> = pins
            .flat_map(|place| {
                let mut places = pair_of(self.snapshot.log, *place);
                places.insert(*place);
                places
            })
            .collect();
        let mut runs = Vec::new();
        for item in self.plan.frontier(self.snapshot.log.end()) {
            let FrontierItem::Entries(span) = item else {
                continue;
            };
            let mut start = span.start.max(lead);
            let end = span.end.min(tail);
            for place in pinned.range(start..end.max(start)) {
                runs.push(Span::new(start, *place));
                start = place + 1;
            }
            runs.push(Span::new(start, end));
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// The newest entries that stay: the newest user message with everything behind it, and so many
    /// tokens.
    pub(crate) fn tail_start(&self, tokens: u64) -> u64 {
        let log = self.snapshot.log;
        let end = log.end();
        let floor = log.tokens_before(end).saturating_sub(tokens);
        let (mut low, mut high) = (self.plan.end(), end);
        while low < high {
            let middle = low + (high - low) / 2;
            if log.tokens_before(middle) < floor {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let is_user = |place: &u64| {
            log.entry(*place)
                .is_some_and(|entry| entry.message().role() == "user" && !entry.look().is_blank)
        };
        let newest = (self.plan.end()..end).rev().find(is_user);
        newest.map_or(low, |newest| low.min(newest))
    }
}
