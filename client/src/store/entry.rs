//! One entry of the tree: its envelope as values, everything else as the bytes of its line.

mod parse;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use contextwire_engine::EntryId;

use super::id::NativeId;

pub(super) use parse::{Parsed, parse};

/// Names the lineage of an entry that was appended again. It stands in the entry's own line, so
/// that no crash can part the two (R2.3).
pub(super) const LINEAGE_FIELD: &str = "lineageId";

/// A stored entry. A clone copies no payload.
#[derive(Clone)]
pub struct Entry(Arc<Body>);

struct Body {
    json: Bytes,
    entry_type: Box<str>,
    id: NativeId,
    entry_id: EntryId,
    parent: Option<NativeId>,
    timestamp_ms: Option<i64>,
    side: bool,
    kind: Kind,
}

/// What an entry says, as far as the tree and its two lists need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message {
        payload: Bytes,
        /// Marked `excludeFromContext`.
        excluded: bool,
    },
    CustomMessage {
        excluded: bool,
    },
    BranchSummary {
        from: Option<NativeId>,
    },
    Compaction {
        first_kept: Option<NativeId>,
    },
    Reset {
        first_kept: Option<NativeId>,
    },
    Label {
        target: Option<NativeId>,
    },
    /// Moves the leaf; stands for its target and is part of no branch.
    Leaf {
        target: Target,
        append: Target,
    },
    /// Known, and never seen by a model.
    Silent,
    /// Of a type that this store does not know: keeps its place in the tree and its bytes.
    Foreign,
}

/// What a reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Absent,
    /// null
    Root,
    Id(NativeId),
}

impl Entry {
    /// Id of this very entry; another one after it was appended again.
    pub fn id(&self) -> &NativeId {
        &self.0.id
    }

    /// Lineage id: what engines know this entry by, whatever became of it.
    pub fn entry_id(&self) -> &EntryId {
        &self.0.entry_id
    }

    /// The entry that this one names as its parent; `None` at a root.
    pub fn parent(&self) -> Option<&NativeId> {
        self.0.parent.as_ref()
    }

    /// The entry's type, an open string: `message`, `compaction`, `label`, ….
    pub fn entry_type(&self) -> &str {
        &self.0.entry_type
    }

    /// When it was first written, in milliseconds since the Unix epoch; kept in a new append.
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.0.timestamp_ms
    }

    /// The whole entry as the JSON object that it is stored as.
    pub fn json(&self) -> &Bytes {
        &self.0.json
    }

    /// The payload of a `message` entry.
    pub fn payload(&self) -> Option<&Bytes> {
        match &self.0.kind {
            Kind::Message { payload, .. } => Some(payload),
            Kind::CustomMessage { .. }
            | Kind::BranchSummary { .. }
            | Kind::Compaction { .. }
            | Kind::Reset { .. }
            | Kind::Label { .. }
            | Kind::Leaf { .. }
            | Kind::Silent
            | Kind::Foreign => None,
        }
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    pub(super) fn is_side(&self) -> bool {
        self.0.side
    }

    /// Whether hosts know this type: only such an entry moves the end of the conversation.
    pub(super) fn is_canonical(&self) -> bool {
        match self.0.kind {
            Kind::Message { .. }
            | Kind::CustomMessage { .. }
            | Kind::BranchSummary { .. }
            | Kind::Compaction { .. }
            | Kind::Reset { .. }
            | Kind::Label { .. }
            | Kind::Silent => true,
            Kind::Leaf { .. } | Kind::Foreign => false,
        }
    }
}

impl fmt::Debug for Entry {
    /// Never shows a payload: transcripts do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("type", &self.entry_type())
            .field("id", &self.id().as_str())
            .field("entry_id", &self.entry_id().as_str())
            .field("bytes", &self.json().len())
            .finish_non_exhaustive()
    }
}
