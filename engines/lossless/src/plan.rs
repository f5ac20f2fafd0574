//! What stands for a session's log now: summaries for runs of it, and its entries for the rest.
//!
//! A plan is one immutable version. Every place of the log is in exactly one item of it: in a
//! summary, or among the entries between summaries and behind the last one. So nothing is lost, and
//! entries that are appended belong to the plan without a new version of it.

use std::sync::Arc;

use contextwire_engine::Digest;

use crate::identity::Identity;
use crate::node::{NodeId, SummaryNode};
use crate::span::Span;

/// A summary in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    /// Which summary.
    pub id: NodeId,
    /// What it stands for.
    pub span: Span,
}

impl From<&SummaryNode> for Placed {
    fn from(node: &SummaryNode) -> Self {
        Self {
            id: node.id(),
            span: node.span(),
        }
    }
}

/// An item of a plan's frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierItem {
    /// Entries as they are.
    Entries(Span),
    /// A summary in place of entries.
    Summary(Placed),
}

impl FrontierItem {
    /// The places that it stands for.
    pub fn span(&self) -> Span {
        match self {
            Self::Entries(span) => *span,
            Self::Summary(placed) => placed.span,
        }
    }
}

/// Why there is no such plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A summary stands for nothing.
    #[error("the summary at {span} stands for no entry")]
    Empty {
        /// Its span.
        span: Span,
    },
    /// Two summaries stand for one place, or they are out of order.
    #[error("the summary at {span} begins before the end of the one before it")]
    Overlap {
        /// Span of the later one.
        span: Span,
    },
    /// A new summary stands for a part of an older one only.
    #[error("the summary at {span} would replace a part of the one at {old}")]
    Cuts {
        /// Span of the new one.
        span: Span,
        /// Span of the older one.
        old: Span,
    },
}

/// One version of what stands for the log. A clone costs a reference count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    version: u64,
    summaries: Arc<[Placed]>,
    digest: Digest,
}

impl Default for Plan {
    fn default() -> Self {
        Self::entries()
    }
}

impl Plan {
    /// The first plan of every session, version 0: all entries as they are.
    pub fn entries() -> Self {
        Self::of(0, Arc::from([]))
    }

    /// A plan as it was stored, from its summaries in the order of the log.
    ///
    /// # Errors
    /// [`PlanError`] where the summaries are empty, overlap, or are out of order.
    pub fn stored(version: u64, summaries: impl Into<Arc<[Placed]>>) -> Result<Self, PlanError> {
        let summaries = summaries.into();
        let mut end = 0;
        for placed in summaries.iter() {
            let span = placed.span;
            if span.is_empty() {
                return Err(PlanError::Empty { span });
            }
            if span.start < end {
                return Err(PlanError::Overlap { span });
            }
            end = span.end;
        }
        Ok(Self::of(version, summaries))
    }

    fn of(version: u64, summaries: Arc<[Placed]>) -> Self {
        let identity = summaries
            .iter()
            .fold(Identity::of("plan"), |identity, placed| {
                identity
                    .number(placed.span.start)
                    .number(placed.span.end)
                    .digest(placed.id.0)
            });
        Self {
            version,
            digest: identity.finish(),
            summaries,
        }
    }

    /// Counts the versions of a session, from 0.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Hash of what the plan says, whatever its version: appended entries never change it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its summaries in the order of the log.
    pub fn summaries(&self) -> &[Placed] {
        &self.summaries
    }

    /// One beyond the last place that a summary stands for: everything from here on is entries.
    pub fn end(&self) -> u64 {
        self.summaries.last().map_or(0, |placed| placed.span.end)
    }

    /// The summary that stands for a place.
    pub fn summary_at(&self, place: u64) -> Option<Placed> {
        let next = self
            .summaries
            .partition_point(|placed| placed.span.end <= place);
        let placed = *self.summaries.get(next)?;
        placed.span.contains(place).then_some(placed)
    }

    /// The frontier over a log of this length: every place in exactly one item, in order. A summary
    /// beyond the end of the log, which no sound store has, is given all the same.
    pub fn frontier(&self, log: u64) -> Vec<FrontierItem> {
        let mut items = Vec::with_capacity(self.summaries.len() * 2 + 1);
        let mut end = 0;
        let rest = Span::new(self.end(), log);
        for placed in self.summaries.iter() {
            let gap = Span::new(end, placed.span.start);
            if !gap.is_empty() {
                items.push(FrontierItem::Entries(gap));
            }
            items.push(FrontierItem::Summary(*placed));
            end = placed.span.end;
        }
        if !rest.is_empty() {
            items.push(FrontierItem::Entries(rest));
        }
        items
    }

    /// The next version, in which a summary stands for its span: in place of entries, of summaries
    /// that it covers whole, or of both.
    ///
    /// # Errors
    /// [`PlanError`] where it stands for nothing or for a part of a summary only.
    pub fn with(&self, placed: Placed) -> Result<Self, PlanError> {
        let span = placed.span;
        if span.is_empty() {
            return Err(PlanError::Empty { span });
        }
        let from = self
            .summaries
            .partition_point(|old| old.span.end <= span.start);
        let to = self
            .summaries
            .partition_point(|old| old.span.start < span.end);
        let covered = self.summaries.get(from..to).unwrap_or_default();
        if let Some(old) = covered.iter().find(|old| !span.covers(old.span)) {
            return Err(PlanError::Cuts {
                span,
                old: old.span,
            });
        }
        let before = self.summaries.get(..from).unwrap_or_default();
        let after = self.summaries.get(to..).unwrap_or_default();
        let summaries = [before, &[placed], after].concat();
        Ok(Self::of(self.version + 1, summaries.into()))
    }

    /// The next version without a summary: what it was made of stands for itself again, `sources`
    /// where it was condensed from summaries, and entries otherwise. The same plan where it holds no
    /// such summary.
    ///
    /// # Errors
    /// [`PlanError`] where the sources overlap, or reach beyond the summary's span.
    pub fn without(&self, id: NodeId, sources: &[Placed]) -> Result<Self, PlanError> {
        let Some(at) = self.summaries.iter().position(|placed| placed.id == id) else {
            return Ok(self.clone());
        };
        let before = self.summaries.get(..at).unwrap_or_default();
        let after = self.summaries.get(at + 1..).unwrap_or_default();
        Self::stored(self.version + 1, [before, sources, after].concat())
    }

    /// The next version for a log that is the same only up to a place: summaries that reach beyond
    /// it are gone, and the entries before it stand for themselves. The same plan where none does.
    #[must_use]
    pub fn up_to(&self, place: u64) -> Self {
        let kept = self
            .summaries
            .partition_point(|placed| placed.span.end <= place);
        if kept == self.summaries.len() {
            return self.clone();
        }
        let summaries = self.summaries.get(..kept).unwrap_or_default();
        Self::of(self.version + 1, summaries.into())
    }

    /// The same content under another number: several steps of one compaction are one version.
    #[must_use]
    pub fn as_version(&self, version: u64) -> Self {
        Self {
            version,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests;
