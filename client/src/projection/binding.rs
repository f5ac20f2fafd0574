//! What is remembered of a backend's thread (HOST-SEMANTICS 6.2, R10.3).

use serde::{Deserialize, Serialize};

use super::requested::ThreadProjection;

/// The form of bindings that this version writes; a thread bound in another form is not gone on in.
pub const SCHEMA_VERSION: u32 = 1;

/// What a thread was begun under: a turn goes on in it only where all of it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTerms {
    /// The engine's own id.
    pub engine_id: String,
    /// [`policy_fingerprint`](super::policy_fingerprint) of the engine and the host.
    pub policy_fingerprint: String,
    /// Of the tools that the thread was begun with; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_fingerprint: Option<String>,
    /// What the thread was shown; absent where it is shown a context with every turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<ThreadProjection>,
}

/// A thread, as far as it is known to have received what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "phase",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum BoundThread {
    /// The context was on its way; whether it arrived, nobody knows.
    Pending {
        /// The thread, where it had an id already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_id: Option<String>,
    },
    /// The thread acknowledged it.
    Confirmed {
        /// The thread.
        thread_id: String,
    },
}

/// Which thread has what, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// [`SCHEMA_VERSION`] of whoever wrote it.
    pub schema_version: u32,
    /// The thread.
    pub thread: BoundThread,
    /// What it was begun under.
    #[serde(flatten)]
    pub terms: ThreadTerms,
    /// The engine's addition to the developer instructions in the last turn, for turns in which
    /// the engine says nothing (R10.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addition: Option<String>,
}

/// A binding to be, until a thread has acknowledged what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingDraft {
    /// What the thread is begun under.
    pub terms: ThreadTerms,
    /// The addition of its first turn.
    pub addition: Option<String>,
}

impl BindingDraft {
    /// Before the injection. `thread_id` where the backend has begun the thread already.
    pub fn pending(&self, thread_id: Option<String>) -> Binding {
        self.bind(BoundThread::Pending { thread_id })
    }

    /// After the thread acknowledged it.
    pub fn confirmed(&self, thread_id: impl Into<String>) -> Binding {
        self.bind(BoundThread::Confirmed {
            thread_id: thread_id.into(),
        })
    }

    fn bind(&self, thread: BoundThread) -> Binding {
        Binding {
            schema_version: SCHEMA_VERSION,
            thread,
            terms: self.terms.clone(),
            addition: self.addition.clone(),
        }
    }
}

impl Binding {
    /// The thread, where it is known to have received what belongs to it, in a form that this
    /// version knows.
    pub fn usable_thread(&self) -> Option<&str> {
        match &self.thread {
            BoundThread::Confirmed { thread_id } if self.schema_version == SCHEMA_VERSION => {
                Some(thread_id)
            }
            BoundThread::Confirmed { .. } | BoundThread::Pending { .. } => None,
        }
    }

    /// Whether the thread was shown a context once, for an epoch.
    pub fn is_bootstrap(&self) -> bool {
        self.terms.projection.is_some()
    }

    /// What remains after the backend compacted its thread by itself: the thread, and nothing of
    /// what it was shown, so that the next turn begins another one (BR-137).
    #[must_use]
    pub fn after_native_compaction(mut self) -> Self {
        self.terms.projection = None;
        self
    }

    /// What remains after the engine compacted: a thread that was shown an epoch goes on, and the
    /// next answer says whether that is still the one; any other begins anew (HOST-SEMANTICS 6.5).
    pub fn after_engine_compaction(self) -> Option<Self> {
        self.is_bootstrap().then_some(self)
    }
}
