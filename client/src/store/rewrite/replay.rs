//! The suffix of a rewrite: each entry again, under a new id, with its references mapped.

use std::collections::HashMap;

use bytes::Bytes;
use contextwire_engine::json::{Edit, quote, splice};

use crate::store::entry::{Entry, Kind, LINEAGE_FIELD};
use crate::store::error::StoreError;
use crate::store::fields::Fields;
use crate::store::id::NativeId;

/// Entries that were appended again so far.
pub(super) struct Replay {
    lines: Vec<Bytes>,
    /// What the next entry continues.
    parent: Option<NativeId>,
    /// Old ids and the new ones in their place; an entry that was dropped goes by its twin's.
    renamed: HashMap<NativeId, NativeId>,
    users: HashMap<Bytes, NativeId>,
    compactions: HashMap<CompactionKey, NativeId>,
}

/// What makes two compactions one: the kept boundary, summary, tokens, details and hook flag.
type CompactionKey = (Option<NativeId>, [Option<Vec<u8>>; 4]);

impl Replay {
    /// Nothing yet, after an entry or at the root.
    pub(super) fn after(parent: Option<NativeId>) -> Self {
        Self {
            lines: Vec::new(),
            parent,
            renamed: HashMap::new(),
            users: HashMap::new(),
            compactions: HashMap::new(),
        }
    }

    /// Appends an entry again, with another payload where there is one. One that says what an
    /// earlier one said is dropped, unless it is pinned (rule 7).
    ///
    /// # Errors
    /// [`StoreError::InvalidEntry`] where the stored line cannot be edited.
    pub(super) fn push(
        &mut self,
        entry: &Entry,
        replacement: Option<&Bytes>,
        pinned: bool,
    ) -> Result<(), StoreError> {
        let fields = Fields::scan(entry.json()).map_err(|_| unreadable())?;
        let id = NativeId::mint();
        let payload = replacement.or_else(|| entry.payload());
        let twin = match entry.kind() {
            Kind::Message { .. } => payload
                .filter(|payload| is_user(payload))
                .and_then(|payload| twin(&mut self.users, payload.clone(), &id)),
            Kind::Compaction { first_kept } => {
                let key = self.compaction_key(entry, first_kept.as_ref(), &fields);
                twin(&mut self.compactions, key, &id)
            }
            Kind::CustomMessage { .. }
            | Kind::BranchSummary { .. }
            | Kind::Reset { .. }
            | Kind::Label { .. }
            | Kind::Leaf { .. }
            | Kind::Silent
            | Kind::Foreign => None,
        };
        if let Some(twin) = twin
            && !pinned
        {
            self.renamed.insert(entry.id().clone(), twin);
            return Ok(());
        }
        self.renamed.insert(entry.id().clone(), id.clone());
        let line = self.line(entry, &fields, &id, replacement)?;
        self.lines.push(line);
        self.parent = Some(id);
        Ok(())
    }

    /// The lines, and the id of the last entry.
    pub(super) fn finish(self) -> (Vec<Bytes>, Option<NativeId>) {
        (self.lines, self.parent)
    }

    fn compaction_key(
        &self,
        entry: &Entry,
        first_kept: Option<&NativeId>,
        fields: &Fields<'_>,
    ) -> CompactionKey {
        // One that names itself keeps nothing.
        let kept = first_kept
            .filter(|kept| *kept != entry.id())
            .map(|kept| self.renamed.get(kept).unwrap_or(kept).clone());
        let said = ["summary", "tokensBefore", "details", "fromHook"]
            .map(|key| fields.raw(key).map(<[u8]>::to_vec));
        (kept, said)
    }

    /// The entry's own line with new ids in it and every other byte as it was.
    fn line(
        &self,
        entry: &Entry,
        fields: &Fields<'_>,
        id: &NativeId,
        replacement: Option<&Bytes>,
    ) -> Result<Bytes, StoreError> {
        let mut named = quote(id.as_str());
        let mut edits = Vec::new();
        let mut put = |key: &str, value: String| match fields.span(key) {
            Some(span) => edits.push(Edit::new(span, value)),
            None => named = format!("{named},{}:{value}", quote(key)),
        };
        put(LINEAGE_FIELD, quote(entry.entry_id().as_str()));
        put("appendMode", quote("side"));
        let parent = self.parent.as_ref();
        put(
            "parentId",
            parent.map_or("null".to_owned(), |id| quote(id.as_str())),
        );
        if let Some((key, old)) = reference(entry.kind())
            && let Some(new) = self.renamed.get(old)
        {
            put(key, quote(new.as_str()));
        }
        let span = fields.span("id").ok_or_else(unreadable)?;
        edits.push(Edit::new(span, named));
        if let Some(payload) = replacement {
            let span = fields.span("message").ok_or_else(unreadable)?;
            edits.push(Edit::new(span, payload.clone()));
        }
        edits.sort_by_key(|edit| edit.span.start);
        let line = splice(entry.json(), &edits).map_err(|_| unreadable())?;
        Ok(line.into())
    }
}

/// The reference to another entry that an entry may hold (rule 6).
fn reference(kind: &Kind) -> Option<(&'static str, &NativeId)> {
    let (key, id) = match kind {
        Kind::Compaction { first_kept } | Kind::Reset { first_kept } => {
            ("firstKeptEntryId", first_kept)
        }
        Kind::BranchSummary { from } => ("fromId", from),
        Kind::Label { target } => ("targetId", target),
        Kind::Message { .. }
        | Kind::CustomMessage { .. }
        | Kind::Leaf { .. }
        | Kind::Silent
        | Kind::Foreign => return None,
    };
    id.as_ref().map(|id| (key, id))
}

fn is_user(payload: &[u8]) -> bool {
    Fields::scan(payload).is_ok_and(|fields| fields.text("role").as_deref() == Some("user"))
}

/// The id of the first entry with this content; remembers the given one where it is the first.
fn twin<K: std::hash::Hash + Eq>(
    seen: &mut HashMap<K, NativeId>,
    content: K,
    id: &NativeId,
) -> Option<NativeId> {
    match seen.entry(content) {
        std::collections::hash_map::Entry::Occupied(first) => Some(first.get().clone()),
        std::collections::hash_map::Entry::Vacant(slot) => {
            slot.insert(id.clone());
            None
        }
    }
}

fn unreadable() -> StoreError {
    StoreError::InvalidEntry {
        field: "line",
        problem: "cannot be edited",
    }
}
