//! The active branch as a host reads it: its messages, and what happened between them.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{Entry, FirstKept, Kind};
use super::message::ContextMessage;
use super::problem::{Problem, Reason};
use super::tree::Tree;

/// A message of the branch.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) message: Arc<ContextMessage>,
    /// Marked `excludeFromContext`: seen only where a reset retained it.
    pub(super) excluded: bool,
}

/// What happened on the branch, in order.
#[derive(Debug)]
pub(super) enum Mark {
    /// A user message, after which the host asks for a context.
    Turn {
        user: Arc<ContextMessage>,
        /// Number of items up to and including it.
        end: usize,
    },
    /// A message of an assistant.
    Answer,
    Boundary(Boundary),
}

/// A compaction or a reset.
#[derive(Debug)]
pub(super) struct Boundary {
    /// What a compaction puts before what it keeps; `None` for a reset.
    pub(super) head: Option<Arc<[Arc<ContextMessage>]>>,
    /// First item that stays.
    pub(super) kept: usize,
    /// Number of items before it.
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) struct Branch {
    /// Indexes of the entries, root first.
    pub(super) path: Vec<usize>,
    pub(super) items: Arc<[Item]>,
    pub(super) marks: Vec<Mark>,
}

/// The entries of a file and how to find one.
pub(super) struct Entries<'a> {
    pub(super) list: &'a [Entry],
    pub(super) tree: &'a Tree,
    /// Entry of each line of the file that is JSON, for version 1.
    pub(super) positions: &'a [Option<usize>],
}

/// How often the past was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundaries {
    /// By a summary, or by what else a compaction put in its place.
    pub compactions: u64,
    /// By a reset.
    pub resets: u64,
}

impl Branch {
    /// Numbers of items before each boundary.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Boundary(boundary) => Some(boundary.at),
            Mark::Turn { .. } | Mark::Answer => None,
        })
    }

    pub(super) fn count(&self) -> Boundaries {
        let mut counted = Boundaries::default();
        for mark in &self.marks {
            match mark {
                Mark::Boundary(Boundary { head: Some(_), .. }) => counted.compactions += 1,
                Mark::Boundary(Boundary { head: None, .. }) => counted.resets += 1,
                Mark::Turn { .. } | Mark::Answer => {}
            }
        }
        counted
    }

    /// Follows the active branch; reports boundaries that name nothing before them.
    pub(super) fn follow(entries: &Entries<'_>, problems: &mut Vec<Problem>) -> Self {
        let path = entries.tree.active_branch();
        let mut items = Vec::new();
        let mut marks = Vec::new();
        // Of each entry of the path so far: how many items stand before it.
        let mut before = HashMap::new();
        for &index in &path {
            let Some(entry) = entries.list.get(index) else {
                continue;
            };
            let at = items.len();
            match &entry.kind {
                Kind::Message { message, excluded } => {
                    items.push(Item {
                        message: Arc::clone(message),
                        excluded: *excluded,
                    });
                    match message.role() {
                        "user" if !excluded => {
                            marks.push(Mark::Turn {
                                user: Arc::clone(message),
                                end: items.len(),
                            });
                        }
                        "assistant" => marks.push(Mark::Answer),
                        _ => {}
                    }
                }
                Kind::Replacement { head } => marks.push(Mark::Boundary(Boundary {
                    head: Some(Arc::clone(head)),
                    kept: at,
                    at,
                })),
                Kind::Compaction { first_kept, .. } | Kind::Reset { first_kept } => {
                    let kept = entries.kept(first_kept, entry, &before);
                    let kept = kept.unwrap_or_else(|reason| {
                        problems.push(Problem::kept(entry.line, reason));
                        None
                    });
                    let summary = entry.message().map(Arc::clone);
                    marks.push(Mark::Boundary(Boundary {
                        head: summary.map(|summary| Arc::from([summary])),
                        kept: kept.unwrap_or(at),
                        at,
                    }));
                }
                Kind::Leaf { .. }
                | Kind::ModelChange(_)
                | Kind::Silent
                | Kind::Foreign
                | Kind::Broken => {}
            }
            before.insert(index, at);
        }
        Self {
            path,
            items: items.into(),
            marks,
        }
    }
}

impl Entries<'_> {
    /// Number of items before the first kept entry; `None` where nothing is kept.
    fn kept(
        &self,
        first_kept: &FirstKept,
        boundary: &Entry,
        before: &HashMap<usize, usize>,
    ) -> Result<Option<usize>, Reason> {
        let (found, reference) = match first_kept {
            FirstKept::Nothing => return Ok(None),
            // A host that keeps nothing may name the boundary itself.
            FirstKept::Id(id) if boundary.id() == Some(id) => return Ok(None),
            FirstKept::Id(id) => (self.tree.find(id), id.clone()),
            FirstKept::Position(position) => {
                let index = usize::try_from(*position).unwrap_or(usize::MAX);
                (
                    self.positions.get(index).copied().flatten(),
                    position.to_string(),
                )
            }
        };
        found
            .and_then(|index| self.tree.visible(index))
            .and_then(|index| before.get(&index).copied())
            .map(Some)
            .ok_or(Reason::UnknownFirstKept { reference })
    }
}
