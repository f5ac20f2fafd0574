//! The active branch and the two lists that come out of it: the log, and a model's context.

use std::ops::Range;
use std::sync::OnceLock;

use contextwire_engine::{Message, Transcript};

use super::entry::{Entry, Kind};
use super::id::NativeId;
use super::message;
use super::tree::Tree;

/// Kept up to date by [`Tree::settle`]; an append costs what was appended.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// Indexes of nodes, root first.
    path: Vec<usize>,
    /// Of each position: how many messages the log holds up to and including it.
    log_lens: Vec<usize>,
    log: Transcript,
    /// Position at which the log starts: after the last reset, or at what that reset kept.
    log_start: usize,
    /// Position of the last reset.
    reset: Option<usize>,
    /// Position of the last compaction or reset.
    boundary: Option<usize>,
    context: OnceLock<Transcript>,
}

impl Branch {
    pub(super) fn log(&self) -> &Transcript {
        &self.log
    }

    pub(super) fn len(&self) -> usize {
        self.path.len()
    }

    /// Whether a position is part of the log.
    pub(super) fn is_logged(&self, place: usize) -> bool {
        place >= self.log_start
    }

    /// Drops everything from a position on; says whether a boundary went with it, so that older
    /// ones come to light again.
    fn cut(&mut self, len: usize) -> bool {
        self.path.truncate(len);
        self.log_lens.truncate(len);
        let lost = self.boundary.is_some_and(|place| place >= len);
        if lost {
            self.boundary = None;
            self.reset = None;
        }
        lost
    }
}

/// The boundary that an entry is, if it is one.
#[derive(Clone, Copy)]
struct Boundary<'a> {
    kind: BoundaryKind,
    first_kept: Option<&'a NativeId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundaryKind {
    Compaction,
    Reset,
}

fn boundary(entry: &Entry) -> Option<Boundary<'_>> {
    let (kind, first_kept) = match entry.kind() {
        Kind::Compaction { first_kept } => (BoundaryKind::Compaction, first_kept),
        Kind::Reset { first_kept } => (BoundaryKind::Reset, first_kept),
        Kind::Message { .. }
        | Kind::CustomMessage { .. }
        | Kind::BranchSummary { .. }
        | Kind::Label { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign => return None,
    };
    let first_kept = first_kept.as_ref();
    Some(Boundary { kind, first_kept })
}

fn is_excluded(entry: &Entry) -> bool {
    match entry.kind() {
        Kind::Message { excluded, .. } | Kind::CustomMessage { excluded } => *excluded,
        Kind::BranchSummary { .. }
        | Kind::Compaction { .. }
        | Kind::Reset { .. }
        | Kind::Label { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign => false,
    }
}

impl Tree {
    /// The entries of the active branch from a position on, root first.
    pub(super) fn entries_from(&self, place: usize) -> impl Iterator<Item = &Entry> {
        let path = self.branch.path.get(place..).unwrap_or_default();
        path.iter().filter_map(|index| self.entry(*index))
    }

    /// The entries from a position on that stand for a message.
    pub(super) fn spoken_from(&self, place: usize) -> impl Iterator<Item = &Entry> {
        let path = self.branch.path.get(place..).unwrap_or_default();
        let nodes = path.iter().filter_map(|index| self.node(*index));
        let spoken = nodes.filter(|node| node.message.is_some());
        spoken.map(|node| &node.entry)
    }

    /// The entries of the log's messages.
    pub(super) fn logged(&self) -> impl Iterator<Item = &Entry> {
        self.spoken_from(self.branch.log_start)
    }

    pub(super) fn entry_at(&self, place: usize) -> Option<&Entry> {
        self.entry(*self.branch.path.get(place)?)
    }

    /// Moves the active branch to the leaf.
    pub(super) fn settle(&mut self) {
        let (kept, fresh) = self.way_to_leaf();
        let cut = kept < self.branch.len();
        if !cut && fresh.is_empty() {
            return;
        }
        for place in kept..self.branch.len() {
            let index = self.branch.path.get(place).copied();
            if let Some(node) = index.and_then(|index| self.node_mut(index)) {
                node.place = None;
            }
        }
        let lost_boundary = self.branch.cut(kept);
        for index in &fresh {
            self.join(*index);
        }
        let had_boundary = self.branch.boundary;
        self.find_boundaries(if lost_boundary { 0 } else { kept });
        let context = std::mem::take(&mut self.branch.context).into_inner();
        let log_start = self.log_start();
        let moved = std::mem::replace(&mut self.branch.log_start, log_start) != log_start;
        let first = if moved { 0 } else { kept };
        self.log_from(first);
        if !cut && self.branch.boundary == had_boundary {
            self.extend_context(context, kept);
        }
    }

    /// How much of the active branch stays, and the nodes that follow it to the leaf.
    fn way_to_leaf(&self) -> (usize, Vec<usize>) {
        let mut fresh = Vec::new();
        let mut next = self.leaf_index();
        let mut kept = 0;
        while let Some((index, node)) = next.and_then(|index| Some((index, self.node(index)?))) {
            if let Some(place) = node.place {
                kept = place + 1;
                break;
            }
            fresh.push(index);
            next = node.parent;
        }
        fresh.reverse();
        (kept, fresh)
    }

    fn join(&mut self, index: usize) {
        let place = self.branch.path.len();
        self.branch.path.push(index);
        let Some(node) = self.node(index) else {
            return;
        };
        let message = match &node.message {
            Some(message) => Some(message.clone()),
            None => self.make_message(node),
        };
        if let Some(node) = self.node_mut(index) {
            node.message = message;
            node.place = Some(place);
        }
    }

    /// Finds the last boundaries among the positions from `first` on.
    fn find_boundaries(&mut self, first: usize) {
        let places = first..self.branch.len();
        let mut kinds = places.rev().filter_map(|place| {
            let boundary = boundary(self.entry_at(place)?)?;
            Some((place, boundary.kind))
        });
        let newest = kinds.next();
        let is_reset = |(_, kind): &(usize, BoundaryKind)| *kind == BoundaryKind::Reset;
        let reset = newest.filter(is_reset).or_else(|| kinds.find(is_reset));
        self.branch.boundary = newest.map(|(place, _)| place).or(self.branch.boundary);
        self.branch.reset = reset.map(|(place, _)| place).or(self.branch.reset);
    }

    fn log_start(&self) -> usize {
        self.branch.reset.map_or(0, |reset| self.first_kept(reset))
    }

    /// Position from which on a boundary keeps what stands before it; its own where it keeps
    /// nothing.
    fn first_kept(&self, place: usize) -> usize {
        let found = self.entry_at(place).and_then(boundary);
        found
            .and_then(|boundary| boundary.first_kept)
            .and_then(|id| self.place(id))
            .filter(|kept| *kept < place)
            .unwrap_or(place)
    }

    /// Builds the log again from a position on.
    fn log_from(&mut self, first: usize) {
        let before = first
            .checked_sub(1)
            .map_or(Some(0), |last| self.branch.log_lens.get(last).copied());
        let before = before.unwrap_or(0);
        if before < self.branch.log.len() {
            self.branch.log = self.branch.log.prefix(before);
        }
        self.branch.log_lens.truncate(first);
        for place in first..self.branch.len() {
            if self.branch.is_logged(place)
                && let Some(message) = self.message_at(place).cloned()
            {
                self.branch.log.push(message);
            }
            self.branch.log_lens.push(self.branch.log.len());
        }
    }

    fn message_at(&self, place: usize) -> Option<&Message> {
        let index = self.branch.path.get(place)?;
        self.node(*index)?.message.as_ref()
    }

    /// What a model would see.
    pub(super) fn context(&self) -> &Transcript {
        self.branch.context.get_or_init(|| self.build_context())
    }

    fn build_context(&self) -> Transcript {
        let mut context = Transcript::new();
        let mut start = 0;
        if let Some(boundary) = self.branch.boundary {
            start = self.first_kept(boundary);
            context.extend(self.summary(boundary));
        }
        context.extend(self.items(start..self.branch.len()));
        context
    }

    /// The summary of a compaction, which stands at the head of the context.
    fn summary(&self, place: usize) -> Option<Message> {
        let entry = self.entry_at(place)?;
        if boundary(entry)?.kind != BoundaryKind::Compaction {
            return None;
        }
        let payload = message::summary(entry)?;
        Some(self.named(Message::from_payload(payload), entry.entry_id()))
    }

    /// The view's items of a range of positions. What a reset retained on purpose is seen even
    /// where it is excluded otherwise.
    fn items(&self, range: Range<usize>) -> impl Iterator<Item = Message> + '_ {
        let retained = match (self.branch.reset, self.branch.boundary) {
            (Some(reset), Some(boundary)) if reset == boundary => reset,
            _ => 0,
        };
        range.filter_map(move |place| {
            let entry = self.entry_at(place)?;
            if is_excluded(entry) && place >= retained {
                return None;
            }
            let message = self.message_at(place)?;
            Some(if self.branch.is_logged(place) {
                self.as_view(message, entry.entry_id())
            } else {
                message.clone()
            })
        })
    }

    /// Carries a context on that was asked for before.
    fn extend_context(&mut self, context: Option<Transcript>, kept: usize) {
        let Some(mut context) = context else {
            return;
        };
        context.extend(self.items(kept..self.branch.len()));
        self.branch.context = OnceLock::from(context);
    }
}
