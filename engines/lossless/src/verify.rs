//! Whether nothing is lost: every entry reachable from exactly one item of the plan (C01).

use std::sync::Arc;

use crate::node::{NodeId, NodeState, Sources, SummaryNode};
use crate::plan::FrontierItem;
use crate::snapshot::Snapshot;
use crate::span::Span;

/// What is wrong with a plan or its summaries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Places that no item stands for, or more than one.
    #[error("the plan does not stand for {span} exactly once")]
    Uncovered {
        /// The places.
        span: Span,
    },
    /// A summary is not in the store.
    #[error("the store does not have {id:?}")]
    Missing {
        /// Which.
        id: NodeId,
    },
    /// A summary is not what its id says.
    #[error("{id:?} is damaged")]
    Damaged {
        /// Which.
        id: NodeId,
    },
    /// A plan shows a summary of something erased.
    #[error("{id:?} stands in the plan and is erased")]
    Erased {
        /// Which.
        id: NodeId,
    },
    /// The sources of a summary do not make up its span.
    #[error("the sources of {id:?} are not {span}")]
    Sources {
        /// Which.
        id: NodeId,
        /// Its span.
        span: Span,
    },
    /// An entry is not what it was when the summary was written.
    #[error("entry {place} changed under {id:?}")]
    Changed {
        /// Which leaf.
        id: NodeId,
        /// The entry's place.
        place: u64,
    },
}

/// Every fault of a snapshot, as deep as its summaries go; none where nothing is lost. Reads every entry.
pub fn verify(snapshot: &Snapshot<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut end = 0;
    for item in snapshot.plan.frontier(snapshot.log.end()) {
        let span = item.span();
        if span.start != end {
            faults.push(Fault::Uncovered {
                span: Span::new(span.start.min(end), span.start.max(end)),
            });
        }
        end = span.end;
        if let FrontierItem::Summary(placed) = item {
            match snapshot.nodes.node(placed.id) {
                Some(node) if node.state() == NodeState::Erased => {
                    faults.push(Fault::Erased { id: placed.id });
                }
                Some(node) if node.span() == placed.span => {
                    node_faults(snapshot, node, &mut faults);
                }
                Some(node) => faults.push(Fault::Sources {
                    id: node.id(),
                    span: placed.span,
                }),
                None => faults.push(Fault::Missing { id: placed.id }),
            }
        }
    }
    if end != snapshot.log.end() {
        faults.push(Fault::Uncovered {
            span: Span::new(end, snapshot.log.end()),
        });
    }
    faults
}

/// Faults of a node and of everything under it.
fn node_faults(snapshot: &Snapshot<'_>, node: Arc<SummaryNode>, faults: &mut Vec<Fault>) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let (id, span) = (node.id(), node.span());
        if !node.is_genuine() {
            faults.push(Fault::Damaged { id });
        }
        match &node.parts().sources {
            Sources::Entries(digests) => {
                if digests.len() as u64 != span.len() {
                    faults.push(Fault::Sources { id, span });
                }
                let places = span.places().zip(digests);
                faults.extend(
                    places
                        .filter(|(place, digest)| {
                            let entry = snapshot.log.entry(*place);
                            entry.is_none_or(|entry| entry.message().digest() != **digest)
                        })
                        .map(|(place, _)| Fault::Changed { id, place }),
                );
            }
            Sources::Nodes(ids) => {
                let mut end = span.start;
                for source in ids {
                    let Some(source) = snapshot.nodes.node(*source) else {
                        faults.push(Fault::Missing { id: *source });
                        continue;
                    };
                    if source.span().start != end || source.depth() >= node.depth() {
                        faults.push(Fault::Sources { id, span });
                    }
                    end = source.span().end;
                    open.push(source);
                }
                if end != span.end {
                    faults.push(Fault::Sources { id, span });
                }
            }
        }
    }
}
