//! What a host appends.

mod lines;

use std::fmt;

use bytes::Bytes;
use contextwire_engine::EntryId;

use super::id::NativeId;

pub(super) use lines::{check_payload, lines};

/// An entry that a host wants to append. References name lineage ids, also of entries earlier in
/// the same append.
#[derive(Clone)]
pub struct NewEntry {
    /// Its native id; minted where absent.
    pub id: Option<NativeId>,
    /// Now, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// Where it goes.
    pub placement: Placement,
    /// What it says.
    pub body: EntryBody,
}

/// Where an entry goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// At the end of the active branch, which it becomes.
    #[default]
    Branch,
    /// Beside the conversation: a child of the leaf that does not move it.
    Side,
}

/// What an entry says (HOST-SEMANTICS 1.8). Bytes are JSON values, kept as they are; none may
/// hold a line feed, which would end its line.
#[derive(Clone)]
pub enum EntryBody {
    /// A message; the payload is one JSON object.
    Message(Bytes),
    /// A compaction of what stands before it.
    Compaction(Compaction),
    /// The conversation starts anew.
    Reset {
        /// Why.
        reason: ResetReason,
        /// The first entry that stays, on the active branch; absent: nothing stays.
        first_kept: Option<EntryId>,
    },
    /// A summary of a branch that was left. The branch point is the entry that it is appended to.
    BranchSummary(BranchSummary),
    /// State of an extension, never seen by a model.
    Custom {
        /// Whose.
        custom_type: String,
        /// The state.
        data: Option<Bytes>,
    },
    /// A message of an extension, seen by a model.
    CustomMessage {
        /// Whose.
        custom_type: String,
        /// A string or blocks.
        content: Bytes,
        /// The extension's own facts.
        details: Option<Bytes>,
        /// Whether people see it.
        display: bool,
    },
    /// Another thinking level.
    ThinkingLevelChange {
        /// The level.
        level: String,
    },
    /// Another model.
    ModelChange {
        /// Who serves it.
        provider: String,
        /// Which it is.
        model_id: String,
    },
    /// A name for an entry.
    Label {
        /// The entry.
        target: EntryId,
        /// The name; absent: it has none any more.
        label: Option<String>,
    },
    /// Facts about the session.
    SessionInfo {
        /// Its name.
        name: Option<String>,
    },
}

/// A summary that stands for what it compacted.
#[derive(Clone, Default)]
pub struct Compaction {
    /// The summary.
    pub summary: String,
    /// The first entry that stays, on the active branch; absent: nothing stays.
    pub first_kept: Option<EntryId>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// The host's own facts.
    pub details: Option<Bytes>,
    /// Whether a hook made it; written only where it did.
    pub from_hook: bool,
}

/// A summary of a branch that was left.
#[derive(Clone, Default)]
pub struct BranchSummary {
    /// The summary; an empty one is no message.
    pub summary: String,
    /// The host's own facts.
    pub details: Option<Bytes>,
    /// Whether a hook made it; written only where it did.
    pub from_hook: bool,
}

/// Why a conversation starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// The user began another one.
    New,
    /// The user asked for it.
    Reset,
    /// Nothing was said for long.
    Idle,
    /// A day began.
    Daily,
    /// A scheduled session was too old to go on with.
    CronStale,
}

impl ResetReason {
    fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Reset => "reset",
            Self::Idle => "idle",
            Self::Daily => "daily",
            Self::CronStale => "cron-stale",
        }
    }
}

impl NewEntry {
    /// An entry at the end of the active branch, with an id of the store's own.
    pub fn new(body: EntryBody, timestamp_ms: i64) -> Self {
        Self {
            id: None,
            timestamp_ms,
            placement: Placement::Branch,
            body,
        }
    }

    /// A message at the end of the active branch.
    pub fn message(payload: impl Into<Bytes>, timestamp_ms: i64) -> Self {
        Self::new(EntryBody::Message(payload.into()), timestamp_ms)
    }

    /// The same entry under the host's own id.
    #[must_use]
    pub fn with_id(mut self, id: NativeId) -> Self {
        self.id = Some(id);
        self
    }

    /// The same entry beside the conversation.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.placement = Placement::Side;
        self
    }
}

impl fmt::Debug for NewEntry {
    /// Never shows content: transcripts do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEntry")
            .field("type", &self.body.entry_type())
            .field("id", &self.id)
            .field("placement", &self.placement)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EntryBody {
    /// As that of [`NewEntry`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EntryBody")
            .field(&self.entry_type())
            .finish()
    }
}

impl EntryBody {
    fn entry_type(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Compaction(_) => "compaction",
            Self::Reset { .. } => "reset",
            Self::BranchSummary(_) => "branch_summary",
            Self::Custom { .. } => "custom",
            Self::CustomMessage { .. } => "custom_message",
            Self::ThinkingLevelChange { .. } => "thinking_level_change",
            Self::ModelChange { .. } => "model_change",
            Self::Label { .. } => "label",
            Self::SessionInfo { .. } => "session_info",
        }
    }
}

impl fmt::Debug for Compaction {
    /// As that of [`NewEntry`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("first_kept", &self.first_kept)
            .field("tokens_before", &self.tokens_before)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BranchSummary {
    /// As that of [`NewEntry`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BranchSummary").finish_non_exhaustive()
    }
}
