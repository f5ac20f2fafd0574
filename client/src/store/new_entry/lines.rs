//! The lines that an append becomes.

use std::collections::HashMap;

use bytes::Bytes;
use contextwire_engine::EntryId;
use contextwire_engine::json::Cursor;

use super::{BranchSummary, Compaction, EntryBody, NewEntry, Placement};
use crate::store::error::StoreError;
use crate::store::id::NativeId;
use crate::store::line::Line;
use crate::store::tree::Tree;

/// The lines of an append and their ids, in order.
///
/// # Errors
/// As [`TranscriptStore::append`](crate::store::TranscriptStore::append).
pub(in crate::store) fn lines(
    tree: &Tree,
    entries: &[NewEntry],
) -> Result<Vec<(NativeId, Bytes)>, StoreError> {
    let mut writing = Writing {
        tree,
        added: HashMap::new(),
        leaf: tree.leaf().map(|leaf| leaf.id().clone()),
    };
    entries.iter().map(|entry| writing.line(entry)).collect()
}

struct Writing<'a> {
    tree: &'a Tree,
    /// What this append added so far, and where.
    added: HashMap<NativeId, Placement>,
    leaf: Option<NativeId>,
}

impl Writing<'_> {
    fn line(&mut self, entry: &NewEntry) -> Result<(NativeId, Bytes), StoreError> {
        let id = entry.id.clone().unwrap_or_else(NativeId::mint);
        if self.tree.contains(&id) || self.added.contains_key(&id) {
            return Err(StoreError::DuplicateEntry { id });
        }
        let entry_type = entry.body.entry_type();
        let mut line = Line::entry(entry_type, &id, self.leaf.as_ref(), entry.timestamp_ms);
        if entry.placement == Placement::Side {
            line = line.text("appendMode", "side");
        }
        let line = self.body(line, &id, &entry.body)?.finish();
        self.added.insert(id.clone(), entry.placement);
        if entry.placement == Placement::Branch {
            self.leaf = Some(id.clone());
        }
        Ok((id, line))
    }

    fn body(&self, line: Line, id: &NativeId, body: &EntryBody) -> Result<Line, StoreError> {
        Ok(match body {
            EntryBody::Message(payload) => {
                check_payload(payload)?;
                line.json("message", payload)
            }
            EntryBody::Compaction(compaction) => self.compaction(line, id, compaction)?,
            EntryBody::BranchSummary(branch) => self.branch_summary(line, branch)?,
            EntryBody::Reset { reason, first_kept } => {
                let line = line.text("reason", reason.name());
                match first_kept {
                    Some(first) => line.text("firstKeptEntryId", self.kept(first)?.as_str()),
                    None => line,
                }
            }
            EntryBody::Custom { custom_type, data } => {
                let line = line.text("customType", custom_type);
                line.maybe("data", checked("data", data.as_ref())?)
            }
            EntryBody::CustomMessage {
                custom_type,
                content,
                details,
                display,
            } => line
                .text("customType", custom_type)
                .maybe("content", checked("content", Some(content))?)
                .maybe("details", checked("details", details.as_ref())?)
                .json("display", if *display { b"true" } else { b"false" }),
            EntryBody::ThinkingLevelChange { level } => line.text("thinkingLevel", level),
            EntryBody::ModelChange { provider, model_id } => {
                line.text("provider", provider).text("modelId", model_id)
            }
            EntryBody::Label { target, label } => {
                let line = line.text("targetId", self.named(target)?.as_str());
                label
                    .iter()
                    .fold(line, |line, label| line.text("label", label))
            }
            EntryBody::SessionInfo { name } => {
                name.iter().fold(line, |line, name| line.text("name", name))
            }
        })
    }

    fn compaction(
        &self,
        line: Line,
        id: &NativeId,
        compaction: &Compaction,
    ) -> Result<Line, StoreError> {
        let Compaction {
            summary,
            first_kept,
            tokens_before,
            details,
            from_hook,
        } = compaction;
        // A compaction that keeps nothing names itself.
        let kept = match first_kept {
            Some(first) => self.kept(first)?,
            None => id.clone(),
        };
        Ok(line
            .text("summary", summary)
            .text("firstKeptEntryId", kept.as_str())
            .json("tokensBefore", tokens_before.to_string().as_bytes())
            .maybe("details", checked("details", details.as_ref())?)
            .maybe("fromHook", from_hook.then_some(b"true")))
    }

    fn branch_summary(&self, line: Line, branch: &BranchSummary) -> Result<Line, StoreError> {
        let BranchSummary {
            summary,
            details,
            from_hook,
        } = branch;
        let from = self.leaf.as_ref().map_or("root", NativeId::as_str);
        Ok(line
            .text("fromId", from)
            .text("summary", summary)
            .maybe("details", checked("details", details.as_ref())?)
            .maybe("fromHook", from_hook.then_some(b"true")))
    }

    /// The native id of an entry of the active branch.
    fn kept(&self, lineage: &EntryId) -> Result<NativeId, StoreError> {
        let added = self.added_as(lineage);
        if let Some((id, Placement::Branch)) = added {
            return Ok(id);
        }
        match self.tree.of_lineage(lineage) {
            Some((entry, Some(_))) => Ok(entry.id().clone()),
            Some((_, None)) | None => Err(unknown(lineage)),
        }
    }

    /// The native id of any entry.
    fn named(&self, lineage: &EntryId) -> Result<NativeId, StoreError> {
        if let Some((id, _)) = self.added_as(lineage) {
            return Ok(id);
        }
        let found = self.tree.of_lineage(lineage);
        found
            .map(|(entry, _)| entry.id().clone())
            .ok_or_else(|| unknown(lineage))
    }

    fn added_as(&self, lineage: &EntryId) -> Option<(NativeId, Placement)> {
        let id = NativeId::new(lineage.as_str()).ok()?;
        let placement = self.added.get(&id).copied()?;
        Some((id, placement))
    }
}

fn unknown(lineage: &EntryId) -> StoreError {
    StoreError::UnknownEntry {
        id: lineage.as_str().to_owned(),
    }
}

/// # Errors
/// [`StoreError::InvalidEntry`] where the payload is not one JSON object on one line.
pub(in crate::store) fn check_payload(payload: &[u8]) -> Result<(), StoreError> {
    let invalid = |problem| StoreError::InvalidEntry {
        field: "payload",
        problem,
    };
    if !payload.starts_with(b"{") {
        return Err(invalid("does not begin as a JSON object"));
    }
    check("payload", payload)
}

fn checked<'a>(
    field: &'static str,
    value: Option<&'a Bytes>,
) -> Result<Option<&'a [u8]>, StoreError> {
    if let Some(value) = value {
        check(field, value)?;
    }
    Ok(value.map(AsRef::as_ref))
}

/// What a line gives back has to be what went in, so the value must fill its bytes.
fn check(field: &'static str, value: &[u8]) -> Result<(), StoreError> {
    let invalid = |problem| StoreError::InvalidEntry { field, problem };
    if value.contains(&b'\n') {
        return Err(invalid("holds a line feed"));
    }
    match Cursor::new(value).skip_value() {
        Ok(span) if span == (0..value.len()) => Ok(()),
        Ok(_) | Err(_) => Err(invalid("is not one JSON value")),
    }
}
