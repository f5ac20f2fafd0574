//! The tree of entries: whose continuation each one is, and where the conversation ends now.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{Entry, Kind, Parent};
use super::problem::Reason;

/// Built in file order. A parent always stands before its child, so there is no cycle: what a file
/// says otherwise is reported, and the entry is read as a continuation of what stands before it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<Arc<str>, usize>,
    /// Newest entry of the active branch.
    leaf: Option<usize>,
    /// What the host's writer names as the parent of its next entry. Differs from the leaf after an
    /// entry beside the conversation, whose child continues the leaf all the same.
    cursor: Option<usize>,
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    line: u64,
    /// A `leaf` entry stands for its target and is part of no branch.
    marker: bool,
}

/// Where an entry belongs.
struct Place {
    parent: Option<usize>,
    /// Whether the file names the parent and it exists.
    explicit: bool,
    reason: Option<Reason>,
}

struct NoSuchEntry;

impl Tree {
    /// The line of an earlier entry with the same id.
    pub(super) fn line_of(&self, id: &str) -> Option<u64> {
        self.find(id)
            .and_then(|index| self.nodes.get(index))
            .map(|node| node.line)
    }

    /// Index of the entry with this id, in order of insertion.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// What stands in a branch for this entry: itself, or the target of a `leaf` entry.
    pub(super) fn visible(&self, index: usize) -> Option<usize> {
        match self.nodes.get(index) {
            Some(node) if node.marker => node.parent,
            Some(_) | None => Some(index),
        }
    }

    /// Whose continuation an entry is; `None` for a root.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        self.nodes.get(index).and_then(|node| node.parent)
    }

    /// Newest entry of the active branch.
    pub(super) fn leaf(&self) -> Option<usize> {
        self.leaf
    }

    /// Goes on after an earlier entry, as after a `leaf` entry that names it.
    pub(super) fn rewind(&mut self, to: Option<usize>) {
        self.leaf = to;
        self.cursor = to;
    }

    /// Adds the next entry of the file; says what is odd about its place.
    pub(super) fn insert(&mut self, entry: &Entry) -> Option<Reason> {
        let index = self.nodes.len();
        let (node, reason) = match &entry.kind {
            Kind::Leaf { target, append } => self.move_leaf(entry, target, append),
            Kind::Message { .. }
            | Kind::Compaction { .. }
            | Kind::Replacement { .. }
            | Kind::Reset { .. }
            | Kind::ModelChange(_)
            | Kind::Silent
            | Kind::Foreign
            | Kind::Broken => self.grow(index, entry),
        };
        self.nodes.push(node);
        if let Some(id) = &entry.id {
            self.by_id.insert(Arc::clone(id), index);
        }
        reason
    }

    fn grow(&mut self, index: usize, entry: &Entry) -> (Node, Option<Reason>) {
        let Place {
            mut parent,
            explicit,
            reason,
        } = self.place(&entry.parent);
        let canonical = entry.is_canonical();
        if explicit && canonical && !entry.side && parent == self.cursor {
            parent = self.leaf;
        }
        let parent = parent.and_then(|parent| self.visible(parent));
        // A foreign entry outside the tree is none of the host's: the writer's cursor stays.
        if explicit || canonical || reason.is_some() {
            self.cursor = Some(index);
        }
        if canonical && !entry.side {
            self.leaf = Some(index);
        }
        let missing_id = (explicit && entry.id.is_none()).then_some(Reason::MissingId);
        (
            Node {
                parent,
                line: entry.line,
                marker: false,
            },
            reason.or(missing_id),
        )
    }

    fn place(&self, parent: &Parent) -> Place {
        let here = |reason| Place {
            parent: self.leaf,
            explicit: false,
            reason,
        };
        match parent {
            Parent::Absent => here(None),
            Parent::Malformed => here(Some(Reason::MalformedParent)),
            Parent::Root => Place {
                parent: None,
                explicit: true,
                reason: None,
            },
            Parent::Id(id) => match self.find(id) {
                Some(parent) => Place {
                    parent: Some(parent),
                    explicit: true,
                    reason: None,
                },
                None => here(Some(Reason::UnknownParent { id: id.clone() })),
            },
        }
    }

    /// An invalid marker changes nothing; its children continue its own parent.
    fn move_leaf(
        &mut self,
        entry: &Entry,
        target: &Parent,
        append: &Parent,
    ) -> (Node, Option<Reason>) {
        let append = if *append == Parent::Absent {
            target
        } else {
            append
        };
        let (Ok(target), Ok(append)) = (self.resolve(target), self.resolve(append)) else {
            let parent = self
                .place(&entry.parent)
                .parent
                .and_then(|parent| self.visible(parent));
            let node = Node {
                parent,
                line: entry.line,
                marker: true,
            };
            return (node, Some(Reason::UnknownLeafTarget));
        };
        self.leaf = target.and_then(|target| self.visible(target));
        self.cursor = append;
        (
            Node {
                parent: self.leaf,
                line: entry.line,
                marker: true,
            },
            None,
        )
    }

    /// `Ok(None)` is the root.
    fn resolve(&self, reference: &Parent) -> Result<Option<usize>, NoSuchEntry> {
        match reference {
            Parent::Root => Ok(None),
            Parent::Id(id) => self.find(id).map(Some).ok_or(NoSuchEntry),
            Parent::Absent | Parent::Malformed => Err(NoSuchEntry),
        }
    }

    /// Indexes of the active branch, root first.
    pub(super) fn active_branch(&self) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = self.leaf;
        while let Some(index) = next {
            path.push(index);
            next = self.nodes.get(index).and_then(|node| node.parent);
        }
        path.reverse();
        path
    }
}
