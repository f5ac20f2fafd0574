//! One entry of a session: what it says, without a look at any other line.

use std::sync::Arc;

use bytes::Bytes;

use super::message::ContextMessage;

/// What the `session` line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The session's id.
    pub id: Option<String>,
    /// Format version of a session of OpenClaw or pi; 1 where the line names none. 0 for sessions
    /// of others, whose format has no number.
    pub version: u64,
    /// Working directory.
    pub cwd: Option<String>,
    /// Start, in milliseconds since the Unix epoch.
    pub timestamp_ms: Option<i64>,
    /// The session that this one was forked from, as the host names it.
    pub parent_session: Option<String>,
    /// The model at the start, where the line names it.
    pub model: Option<Model>,
}

/// A model as a session names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The provider, for example `anthropic`.
    pub provider: String,
    /// The provider's id of the model.
    pub id: String,
}

/// An entry of the transcript.
#[derive(Debug)]
pub struct Entry {
    pub(super) line: u64,
    pub(super) id: Option<Arc<str>>,
    pub(super) tag: Arc<str>,
    pub(super) timestamp_ms: Option<i64>,
    pub(super) parent: Parent,
    pub(super) side: bool,
    pub(super) kind: Kind,
    pub(super) json: Bytes,
    pub(super) size: u64,
}

impl Entry {
    /// Line number in its file, counted from 1; in a database, the number of its row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The entry's own id; `None` in sessions without ids.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The entry's `type`, an open string. Of a Codex record also that of what it holds, behind a
    /// slash, as in `event_msg/token_count`.
    pub fn entry_type(&self) -> &str {
        &self.tag
    }

    /// When it was written, in milliseconds since the Unix epoch.
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.timestamp_ms
    }

    /// The entry or record as its host wrote it; empty for records of Codex that became a message,
    /// which would stand twice in memory.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Bytes of it in the file. Where a message is made of several records, of the first of them.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The message that a model sees for this entry. A compaction's is its summary, which stands at
    /// the head of the context, not in the entry's place.
    pub fn message(&self) -> Option<&Arc<ContextMessage>> {
        match &self.kind {
            Kind::Message { message, .. }
            | Kind::Compaction {
                summary: message, ..
            } => Some(message),
            Kind::Replacement { .. }
            | Kind::Reset { .. }
            | Kind::Leaf { .. }
            | Kind::ModelChange(_)
            | Kind::Silent
            | Kind::Foreign
            | Kind::Broken => None,
        }
    }

    /// Whether hosts know this type: only such an entry moves the end of the conversation.
    pub(super) fn is_canonical(&self) -> bool {
        match self.kind {
            Kind::Message { .. }
            | Kind::Compaction { .. }
            | Kind::Replacement { .. }
            | Kind::Reset { .. }
            | Kind::ModelChange(_)
            | Kind::Silent => true,
            Kind::Leaf { .. } | Kind::Foreign | Kind::Broken => false,
        }
    }
}

/// What a `parentId` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// Nothing: the entry continues what stands before it.
    Absent,
    /// null: the entry starts a tree.
    Root,
    Id(String),
    Malformed,
}

/// From where on a compaction or reset keeps what came before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FirstKept {
    Nothing,
    Id(String),
    /// Version 1: position among the lines of the file that are JSON, the header being 0.
    Position(u64),
}

#[derive(Debug)]
pub(super) enum Kind {
    Message {
        message: Arc<ContextMessage>,
        /// Marked `excludeFromContext`.
        excluded: bool,
    },
    Compaction {
        summary: Arc<ContextMessage>,
        first_kept: FirstKept,
    },
    /// A compaction that puts these messages in the place of everything before it.
    Replacement {
        head: Arc<[Arc<ContextMessage>]>,
    },
    Reset {
        first_kept: FirstKept,
    },
    Leaf {
        target: Parent,
        append: Parent,
    },
    ModelChange(Model),
    /// Known, and never seen by a model.
    Silent,
    /// Of a type that hosts do not know.
    Foreign,
    /// Of a known type with an unusable body: keeps its place in the tree and says nothing.
    Broken,
}
