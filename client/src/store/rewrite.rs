//! Replacing stored messages: branch before the first one and append what follows again
//! (HOST-SEMANTICS 8.1).

mod replay;

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use contextwire_engine::{Cancellation, EntryId, Message, RewriteEntries};

use super::entry::Entry;
use super::error::StoreError;
use super::fields::Fields;
use super::id::NativeId;
use super::line::Line;
use super::new_entry::check_payload;
use super::tree::Tree;

use replay::Replay;

/// What a host knows about a rewrite that the engine cannot.
#[derive(Clone, Debug)]
pub struct RewriteTerms {
    /// Now, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// Whoever asked; a rewrite of one that was stopped or replaced fails before it writes.
    pub owner: Option<Cancellation>,
    /// Inputs of running turns, by lineage id: they may be shortened, not become another input,
    /// and no rewrite drops one.
    pub pending_inputs: Vec<EntryId>,
}

impl RewriteTerms {
    /// No owner to ask and no turn running.
    pub fn at(now_ms: i64) -> Self {
        Self {
            now_ms,
            owner: None,
            pending_inputs: Vec::new(),
        }
    }

    pub(super) fn check_owner(&self) -> Result<(), StoreError> {
        match &self.owner {
            Some(owner) if owner.is_cancelled() => Err(StoreError::Closed),
            Some(_) | None => Ok(()),
        }
    }
}

/// What a request comes to.
pub(super) enum Verdict {
    /// Nothing, for this reason.
    Unchanged(&'static str),
    Changed(Plan),
}

/// The lines of a rewrite. The new branch grows beside the conversation, and one last line makes
/// it the conversation: without that line nothing has happened.
pub(super) struct Plan {
    pub(super) beside: Vec<Bytes>,
    pub(super) leaf: Bytes,
    pub(super) rewritten_entries: u64,
    pub(super) bytes_freed: u64,
}

/// A message of the active branch that gets another payload.
struct Match<'a> {
    place: usize,
    entry: &'a Entry,
    old: &'a Bytes,
    new: &'a Message,
}

/// # Errors
/// [`StoreError::Stale`], [`StoreError::PendingInput`], [`StoreError::InvalidEntry`].
pub(super) fn plan(
    tree: &Tree,
    request: &RewriteEntries,
    terms: &RewriteTerms,
) -> Result<Verdict, StoreError> {
    let head = tree.branch.log().state();
    if request.expected.is_some_and(|expected| expected != head) {
        return Err(StoreError::Stale { head });
    }
    // Of two replacements of one entry the last counts.
    let wanted: HashMap<&EntryId, &Message> = request
        .replacements
        .iter()
        .filter(|(id, _)| !id.as_str().trim().is_empty())
        .map(|(id, message)| (id, message))
        .collect();
    if wanted.is_empty() {
        return Ok(Verdict::Unchanged("no replacements requested"));
    }
    if tree.branch.len() == 0 {
        return Ok(Verdict::Unchanged("empty session"));
    }
    let mut matches = find(tree, &wanted);
    if matches.is_empty() {
        return Ok(Verdict::Unchanged("no matching message entries"));
    }
    matches.retain(|found| found.old != found.new.payload());
    let Some(first) = matches.iter().map(|found| found.place).min() else {
        return Ok(Verdict::Unchanged("replacements are already stored"));
    };
    if !is_allowed(tree, first, request.allowed_suffix.as_deref()) {
        return Ok(Verdict::Unchanged("rewrite suffix guard failed"));
    }
    for found in &matches {
        check(found, terms)?;
    }
    branch(tree, first, &matches, terms).map(Verdict::Changed)
}

fn find<'a>(tree: &'a Tree, wanted: &HashMap<&EntryId, &'a Message>) -> Vec<Match<'a>> {
    let found = wanted.iter().filter_map(|(id, new)| {
        let (entry, place) = tree.of_lineage(id)?;
        Some(Match {
            place: place?,
            entry,
            old: entry.payload()?,
            new,
        })
    });
    found.collect()
}

fn check(found: &Match<'_>, terms: &RewriteTerms) -> Result<(), StoreError> {
    if found.new.omitted().is_some() {
        return Err(StoreError::InvalidEntry {
            field: "payload",
            problem: "is a stub of a body that did not travel",
        });
    }
    check_payload(found.new.payload())?;
    let id = found.entry.entry_id();
    if terms.pending_inputs.contains(id) && !is_same_input(found.old, found.new.payload()) {
        return Err(StoreError::PendingInput { id: id.clone() });
    }
    Ok(())
}

/// Whether both are one input of a user: the same role under the same key, or of the same time
/// where there is no key.
fn is_same_input(old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (Fields::scan(old), Fields::scan(new)) else {
        return false;
    };
    let same = |key| old.raw(key) == new.raw(key);
    let by_time = old.raw("idempotencyKey").is_none();
    same("role") && same("idempotencyKey") && (!by_time || same("timestamp"))
}

/// The guard covers what an engine can know of: entries that stand for a message. Labels and the
/// like have ids that no engine ever sees.
fn is_allowed(tree: &Tree, first: usize, allowed: Option<&[EntryId]>) -> bool {
    let Some(allowed) = allowed else {
        return true;
    };
    let allowed: HashSet<&EntryId> = allowed.iter().collect();
    let mut spoken = tree.spoken_from(first);
    spoken.all(|entry| allowed.contains(entry.entry_id()))
}

fn branch(
    tree: &Tree,
    first: usize,
    matches: &[Match<'_>],
    terms: &RewriteTerms,
) -> Result<Plan, StoreError> {
    let parent = first.checked_sub(1).and_then(|place| tree.entry_at(place));
    let mut replay = Replay::after(parent.map(|parent| parent.id().clone()));
    let replaced: HashMap<&NativeId, &Bytes> = matches
        .iter()
        .map(|found| (found.entry.id(), found.new.payload()))
        .collect();
    for entry in tree.entries_from(first) {
        let pinned = terms.pending_inputs.contains(entry.entry_id());
        replay.push(entry, replaced.get(entry.id()).copied(), pinned)?;
    }
    let (beside, last) = replay.finish();
    let freed = matches.iter().map(|found| {
        let (old, new) = (found.old.len(), found.new.payload().len());
        old.saturating_sub(new) as u64
    });
    Ok(Plan {
        beside,
        leaf: leaf_line(last.as_ref(), terms.now_ms),
        rewritten_entries: matches.len() as u64,
        bytes_freed: freed.sum(),
    })
}

/// A line that moves the leaf. Its parent is its target, so that readers that do not know leaf
/// entries see the same branch.
pub(super) fn leaf_line(target: Option<&NativeId>, now_ms: i64) -> Bytes {
    Line::entry("leaf", &NativeId::mint(), target, now_ms)
        .reference("targetId", target)
        .finish()
}
