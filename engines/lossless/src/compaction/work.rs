//! What a compaction does next: leaves over the oldest entries, then summaries of summaries.

use std::sync::Arc;

use contextwire_engine::Digest;
use contextwire_engine::tokens::ModelFamily;

use super::border::Leaves;
use super::draft::Draft;
use super::memory::Memory;
use super::settings::Settings;
use crate::node::{NodeState, Sources, SummaryNode};
use crate::span::Span;

/// A run of fewer tokens is not worth a leaf unless somebody insists.
const MIN_LEAF_SHARE: u64 = 4;
/// A run of fewer tokens is never worth one.
const MIN_LEAF_TOKENS: u64 = 300;
/// A condensed summary that saves less than this part of its sources is not worth a call.
const MIN_GAIN_SHARE: u64 = 8;

/// One summary to write.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) span: Span,
    pub(crate) of: Of,
    /// Tokens of what stands there now.
    pub(crate) tokens: u64,
}

/// What it is of.
#[derive(Clone, Debug)]
pub(crate) enum Of {
    Entries,
    Nodes(Vec<Arc<SummaryNode>>),
}

/// How far a compaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Tokens at which it ends.
    pub(crate) goal: u64,
    /// First place that stays as it is.
    pub(crate) tail: u64,
    /// Tokens of one leaf, as the summariser's window allows.
    pub(crate) leaf_tokens: u64,
    /// Whether small runs are worth a leaf.
    pub(crate) insists: bool,
    /// How far summaries are condensed.
    pub(crate) condensing: Condensing,
}

/// How far summaries are condensed, which loses detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condensing {
    /// Not at all: there is room enough (BR-069).
    No,
    /// Those of one depth.
    OneDepth,
    /// Any neighbours, since the context does not fit.
    Any,
}

impl Work {
    pub(crate) fn depth(&self) -> u32 {
        match &self.of {
            Of::Entries => 0,
            Of::Nodes(nodes) => {
                let deepest = nodes.iter().map(|node| node.depth()).max();
                deepest.map_or(1, |depth| depth + 1)
            }
        }
    }

    /// Digests of the entries, zeros for one that is gone from the store, or ids of the summaries.
    pub(crate) fn sources(&self, draft: &Draft<'_>) -> Sources {
        match &self.of {
            Of::Entries => {
                let digests = self.span.places().map(|place| {
                    let entry = draft.snapshot.log.entry(place);
                    entry.map_or(Digest([0; 32]), |entry| entry.message().digest())
                });
                Sources::Entries(digests.collect())
            }
            Of::Nodes(nodes) => Sources::Nodes(nodes.iter().map(|node| node.id()).collect()),
        }
    }
}

/// The next round: as many leaves as should reach the goal, or else as many condensed summaries. What
/// the memory knows to be in vain is left out. Nothing, where nothing is left to do.
pub(crate) fn next_round(
    draft: &Draft<'_>,
    settings: &Settings,
    reach: &Reach,
    memory: &Memory,
) -> Vec<Work> {
    let leaves = leaves(draft, settings, reach, memory);
    if leaves.is_empty() && reach.condensing != Condensing::No {
        condensed(draft, settings, reach, memory)
    } else {
        leaves
    }
}

fn leaves(draft: &Draft<'_>, settings: &Settings, reach: &Reach, memory: &Memory) -> Vec<Work> {
    let least = if reach.insists {
        MIN_LEAF_TOKENS
    } else {
        (reach.leaf_tokens / MIN_LEAF_SHARE).max(MIN_LEAF_TOKENS)
    };
    let mut expected = draft.tokens();
    let mut works = Vec::new();
    let runs = draft.runs(reach.tail);
    let (log, bytes) = (draft.snapshot.log, settings.leaf_bytes());
    let spans = runs
        .iter()
        .flat_map(|run| Leaves::new(log, *run, reach.leaf_tokens, bytes));
    for span in spans {
        if expected <= reach.goal {
            break;
        }
        let tokens = draft.entries(span);
        if tokens < least || memory.is_stubborn(span) {
            continue;
        }
        let output = settings.leaf_output_tokens.min(tokens / 2);
        expected = expected.saturating_sub(tokens - output);
        works.push(Work {
            span,
            of: Of::Entries,
            tokens,
        });
    }
    works
}

fn condensed(draft: &Draft<'_>, settings: &Settings, reach: &Reach, memory: &Memory) -> Vec<Work> {
    let (least, most) = (settings.fanout.0.max(2), settings.fanout.1.max(2));
    let mut rows = rows(draft);
    rows.retain(|row| row.len() >= 2);
    let mut groups: Vec<Vec<Arc<SummaryNode>>> = Vec::new();
    for row in &rows {
        for same in row.chunk_by(|a, b| a.depth() == b.depth()) {
            groups.extend(grouped(same, least, most, reach));
        }
    }
    groups.sort_by_key(|group| group.first().map(|node| (node.depth(), node.span().start)));
    if groups.is_empty() && reach.condensing == Condensing::Any {
        groups = rows
            .iter()
            .flat_map(|row| grouped(row, 2, most, reach))
            .collect();
    }
    let mut expected = draft.tokens();
    let mut works = Vec::new();
    for nodes in groups {
        if expected <= reach.goal {
            break;
        }
        let Some(span) = joined(&nodes).filter(|span| !memory.is_stubborn(*span)) else {
            continue;
        };
        let tokens = draft.standing(span);
        let output = settings.condensed_output_tokens.min(tokens / 2);
        let gain = tokens - output;
        if gain < tokens / MIN_GAIN_SHARE {
            continue;
        }
        expected = expected.saturating_sub(gain);
        works.push(Work {
            span,
            of: Of::Nodes(nodes),
            tokens,
        });
    }
    works
}

/// Runs of summaries with no entry between them. A provisional one parts them: it is mended first.
fn rows(draft: &Draft<'_>) -> Vec<Vec<Arc<SummaryNode>>> {
    let mut rows: Vec<Vec<Arc<SummaryNode>>> = vec![Vec::new()];
    let mut end = 0;
    for placed in draft.plan.summaries() {
        let node = draft
            .node(placed.id)
            .filter(|node| node.state() == NodeState::Sound);
        if placed.span.start != end || node.is_none() {
            rows.push(Vec::new());
        }
        end = placed.span.end;
        if let (Some(node), Some(row)) = (node, rows.last_mut()) {
            row.push(node);
        } else {
            rows.push(Vec::new());
        }
    }
    rows
}

/// Groups of neighbours, oldest first, each as large as one call can read.
fn grouped(
    row: &[Arc<SummaryNode>],
    least: usize,
    most: usize,
    reach: &Reach,
) -> Vec<Vec<Arc<SummaryNode>>> {
    let mut groups = Vec::new();
    let mut rest = row;
    while rest.len() >= least {
        let mut tokens = 0;
        let fits = rest.iter().take(most).take_while(|node| {
            tokens += u64::from(node.tokens(ModelFamily::Other));
            tokens <= reach.leaf_tokens
        });
        let count = fits.count().max(least.min(rest.len()));
        let (group, later) = rest.split_at(count);
        groups.push(group.to_vec());
        rest = later;
    }
    groups
}

fn joined(nodes: &[Arc<SummaryNode>]) -> Option<Span> {
    let (first, last) = nodes.first().zip(nodes.last())?;
    Some(Span::new(first.span().start, last.span().end))
}

/// Summaries that a model should write anew.
pub(crate) fn repairs(draft: &Draft<'_>, memory: &Memory) -> Vec<Work> {
    let wanted = draft.plan.summaries().iter().filter_map(|placed| {
        let node = draft.node(placed.id)?;
        (node.state() == NodeState::Repair && !memory.is_stubborn(placed.span)).then_some(node)
    });
    let works = wanted.filter_map(|node| {
        let of = match &node.parts().sources {
            Sources::Entries(_) => Of::Entries,
            Sources::Nodes(ids) => {
                let nodes = ids.iter().map(|id| draft.node(*id));
                Of::Nodes(nodes.collect::<Option<Vec<_>>>()?)
            }
        };
        Some(Work {
            span: node.span(),
            of,
            tokens: draft.entries(node.span()),
        })
    });
    works.collect()
}
