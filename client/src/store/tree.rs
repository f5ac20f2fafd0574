//! All entries of a transcript: whose continuation each one is, and where the conversation ends.

use std::collections::HashMap;

use contextwire_engine::{EntryId, Message};

use super::branch::Branch;
use super::entry::{Entry, Kind, LINEAGE_FIELD, Target};
use super::error::LineProblem;
use super::id::NativeId;
use super::message;

/// Whether messages carry lineage ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryIds {
    /// They do.
    Sent,
    /// They carry empty ones throughout, as for a host without durable storage (R2.3).
    Empty,
}

/// Built in the order of appends; nothing is ever taken out.
#[derive(Debug)]
pub(super) struct Tree {
    ids: EntryIds,
    nodes: Vec<Node>,
    by_id: HashMap<NativeId, usize>,
    /// Newest node of each lineage; older ones follow by [`Node::prior`].
    by_lineage: HashMap<EntryId, usize>,
    leaf: Option<usize>,
    /// What a host's writer names as the parent of its next entry. Differs from the leaf after an
    /// entry beside the conversation, whose child continues the leaf all the same.
    cursor: Option<usize>,
    generation: u64,
    pub(super) branch: Branch,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) entry: Entry,
    pub(super) parent: Option<usize>,
    /// The entry's message, made when it first joined the active branch.
    pub(super) message: Option<Message>,
    /// Position on the active branch.
    pub(super) place: Option<usize>,
    /// The node of the same lineage before this one.
    prior: Option<usize>,
}

impl Tree {
    pub(super) fn new(ids: EntryIds) -> Self {
        Self {
            ids,
            nodes: Vec::new(),
            by_id: HashMap::new(),
            by_lineage: HashMap::new(),
            leaf: None,
            cursor: None,
            generation: 0,
            branch: Branch::default(),
        }
    }

    /// Changes with everything that is not an append at the end of the log. Counted from the file,
    /// so that it survives a restart.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn contains(&self, id: &NativeId) -> bool {
        self.by_id.contains_key(id)
    }

    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    pub(super) fn node_mut(&mut self, index: usize) -> Option<&mut Node> {
        self.nodes.get_mut(index)
    }

    /// The last entry of the active branch.
    pub(super) fn leaf(&self) -> Option<&Entry> {
        self.leaf.and_then(|leaf| self.entry(leaf))
    }

    pub(super) fn leaf_index(&self) -> Option<usize> {
        self.leaf
    }

    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.node(index).map(|node| &node.entry)
    }

    /// The entry with this lineage: the one on the active branch, else the newest.
    pub(super) fn of_lineage(&self, lineage: &EntryId) -> Option<(&Entry, Option<usize>)> {
        let newest = self.node(*self.by_lineage.get(lineage)?)?;
        let mut next = Some(newest);
        while let Some(node) = next {
            if node.place.is_some() {
                return Some((&node.entry, node.place));
            }
            next = node.prior.and_then(|prior| self.node(prior));
        }
        Some((&newest.entry, None))
    }

    /// The newest node of a lineage, the one on the active branch before others.
    pub(super) fn node_of_lineage(&self, lineage: &EntryId) -> Option<&Node> {
        let (entry, _) = self.of_lineage(lineage)?;
        self.node(*self.by_id.get(entry.id())?)
    }

    /// Where the first entry of a lineage stands among all that were ever appended.
    pub(super) fn first_of_lineage(&self, lineage: &EntryId) -> Option<usize> {
        let mut first = *self.by_lineage.get(lineage)?;
        while let Some(prior) = self.node(first).and_then(|node| node.prior) {
            first = prior;
        }
        Some(first)
    }

    /// Position on the active branch of the entry that an id names, also by way of a leaf marker.
    pub(super) fn place(&self, id: &NativeId) -> Option<usize> {
        let index = self.visible(*self.by_id.get(id)?)?;
        self.node(index)?.place
    }

    /// Adds the next entry. The active branch follows with [`Branch::settle`].
    ///
    /// # Errors
    /// [`LineProblem`] for a taken id and for references to nothing earlier; nothing is added then.
    pub(super) fn insert(&mut self, entry: Entry) -> Result<(), LineProblem> {
        if self.contains(entry.id()) {
            return Err(LineProblem::DuplicateId);
        }
        let named = match entry.parent() {
            Some(parent) => Some(self.find(parent, "parentId")?),
            None => None,
        };
        let starts_lineage = entry.entry_id().as_str() == entry.id().as_str();
        if !starts_lineage && !self.by_lineage.contains_key(entry.entry_id()) {
            return Err(LineProblem::Unknown(LINEAGE_FIELD));
        }
        let index = self.nodes.len();
        let parent = match entry.kind() {
            Kind::Leaf { target, append } => self.move_leaf(target, append)?,
            Kind::Message { .. }
            | Kind::CustomMessage { .. }
            | Kind::BranchSummary { .. }
            | Kind::Compaction { .. }
            | Kind::Reset { .. }
            | Kind::Label { .. }
            | Kind::Silent
            | Kind::Foreign => self.grow(index, named, &entry),
        };
        self.by_id.insert(entry.id().clone(), index);
        let prior = self.by_lineage.insert(entry.entry_id().clone(), index);
        self.nodes.push(Node {
            entry,
            parent,
            message: None,
            place: None,
            prior,
        });
        Ok(())
    }

    fn grow(&mut self, index: usize, named: Option<usize>, entry: &Entry) -> Option<usize> {
        let moves = entry.is_canonical() && !entry.is_side();
        let parent = if moves && named == self.cursor {
            self.leaf
        } else {
            named
        };
        let parent = parent.and_then(|parent| self.visible(parent));
        self.cursor = Some(index);
        if moves {
            self.leaf = Some(index);
            if let Kind::Reset { .. } = entry.kind() {
                self.generation += 1;
            }
        }
        parent
    }

    fn move_leaf(
        &mut self,
        target: &Target,
        append: &Target,
    ) -> Result<Option<usize>, LineProblem> {
        let target = self.resolve(target, "targetId")?;
        let append = match append {
            Target::Absent => target,
            Target::Root | Target::Id(_) => self.resolve(append, "appendParentId")?,
        };
        self.leaf = target.and_then(|target| self.visible(target));
        self.cursor = append;
        self.generation += 1;
        Ok(self.leaf)
    }

    fn resolve(&self, target: &Target, field: &'static str) -> Result<Option<usize>, LineProblem> {
        match target {
            Target::Id(id) => self.find(id, field).map(Some),
            Target::Absent | Target::Root => Ok(None),
        }
    }

    fn find(&self, id: &NativeId, field: &'static str) -> Result<usize, LineProblem> {
        let found = self.by_id.get(id).copied();
        found.ok_or(LineProblem::Unknown(field))
    }

    /// What stands in a branch for a node: itself, or the target of a leaf marker.
    fn visible(&self, index: usize) -> Option<usize> {
        let node = self.node(index)?;
        match node.entry.kind() {
            Kind::Leaf { .. } => node.parent,
            Kind::Message { .. }
            | Kind::CustomMessage { .. }
            | Kind::BranchSummary { .. }
            | Kind::Compaction { .. }
            | Kind::Reset { .. }
            | Kind::Label { .. }
            | Kind::Silent
            | Kind::Foreign => Some(index),
        }
    }

    /// The message of a node that joins the active branch. One of the same lineage and the same
    /// bytes is the same object, which keeps its digest and its token count.
    pub(super) fn make_message(&self, node: &Node) -> Option<Message> {
        let lineage = |id: &NativeId| {
            let entry = self.entry(*self.by_id.get(id)?)?;
            Some(entry.entry_id().clone())
        };
        let payload = message::payload(&node.entry, lineage)?;
        let prior = node.prior.and_then(|prior| self.node(prior));
        if let Some(prior) = prior.and_then(|prior| prior.message.as_ref())
            && *prior.payload() == payload
        {
            return Some(prior.clone());
        }
        Some(self.named(Message::from_payload(payload), node.entry.entry_id()))
    }

    /// The message under its lineage id, where this store sends ids.
    pub(super) fn named(&self, message: Message, id: &EntryId) -> Message {
        match self.ids {
            EntryIds::Sent => message.with_entry_id(id.clone()),
            EntryIds::Empty => message,
        }
    }

    /// The message as an item of a view that shows this log entry.
    pub(super) fn as_view(&self, message: &Message, id: &EntryId) -> Message {
        match self.ids {
            EntryIds::Sent => message.clone().with_log_entry_id(Some(id.clone())),
            EntryIds::Empty => message.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
