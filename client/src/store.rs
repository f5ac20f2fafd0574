//! Where a host keeps its transcripts: a tree of entries, in memory or in a JSON Lines file.
//!
//! A transcript is OpenClaw's entry tree (HOST-SEMANTICS 1.8). Nothing in it is ever changed or
//! removed: entries are appended, and the conversation is the branch from the root to the *leaf*.
//! [`TranscriptStore::rewrite`] branches before the first replaced entry and re-appends what
//! follows under new native ids; the *lineage id* that engines know an entry by stays (R2.3).
//!
//! Two lists come out of a store. [`TranscriptStore::log`] is the branch as it is stored, from the
//! last reset on, for engines that keep a log; compactions hide nothing in it.
//! [`TranscriptStore::context`] is what the host itself would show a model. Payloads keep their
//! bytes everywhere.
//!
//! ```
//! use contextwire_client::engine::RewriteEntries;
//! use contextwire_client::store::{MemoryStore, NewEntry, RewriteTerms, TranscriptStore};
//! use contextwire_client::engine::Message;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::with_entry_ids();
//! let now_ms = 1_767_225_600_000;
//! let ids = store
//!     .append(vec![NewEntry::message(r#"{"role":"user","content":"a long text"}"#, now_ms)])
//!     .await?;
//!
//! let request = RewriteEntries {
//!     replacements: vec![(
//!         ids[0].clone(),
//!         Message::from_payload(r#"{"role":"user","content":"short"}"#),
//!     )],
//!     ..RewriteEntries::default()
//! };
//! let done = store.rewrite(request, RewriteTerms::at(now_ms)).await?;
//! assert_eq!((done.rewritten_entries, done.bytes_freed), (1, 6));
//!
//! let log = store.log().await?;
//! assert_eq!(log.get(0).map(Message::entry_id), Some(&ids[0]));
//! # Ok(())
//! # }
//! ```

mod any;
mod branch;
pub mod derived;
mod entry;
mod error;
mod fields;
mod id;
mod journal;
mod jsonl;
mod line;
mod load;
mod memory;
mod message;
mod new_entry;
mod page;
mod rewrite;
mod state;
mod tree;
mod turn;

use std::future::Future;

use contextwire_engine::{
    EntryAnchor, EntryId, ReadTranscript, RewriteEntries, Rewritten, Transcript, TranscriptPage,
};
use tokio::sync::watch;

pub use any::AnyStore;
pub use entry::Entry;
pub use error::{LineProblem, StoreError};
pub use id::NativeId;
pub use jsonl::{Access, Durability, JsonlOptions, JsonlStore};
pub use line::iso;
pub use load::CutTail;
pub use memory::MemoryStore;
pub use new_entry::{BranchSummary, Compaction, EntryBody, NewEntry, Placement, ResetReason};
pub use rewrite::RewriteTerms;
pub use state::StoreChange;
pub use turn::{RangeLimits, TurnRange, UnreadableTurn};

/// One session's transcript as its host stores it.
///
/// A call that changes the transcript does so wholly or not at all, with the one exception that
/// [`TranscriptStore::append`] names. Dropping the future of such a call does not undo it. Calls
/// may run at the same time; changes happen one after the other.
pub trait TranscriptStore: Send + Sync + 'static {
    /// Appends entries in order; gives their lineage ids, which at first sight are the native ones.
    ///
    /// A process that dies inside the call leaves the first few of them, each one whole.
    ///
    /// # Errors
    /// [`StoreError::InvalidEntry`], [`StoreError::DuplicateEntry`] and
    /// [`StoreError::UnknownEntry`] before anything is written; [`StoreError::Io`].
    fn append(
        &self,
        entries: Vec<NewEntry>,
    ) -> impl Future<Output = Result<Vec<EntryId>, StoreError>> + Send;

    /// Goes on after another entry; `None` starts at the root again, the leaf itself is no change.
    /// Also undoes a rewrite, whose old entries are all still there. `now_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`StoreError::UnknownEntry`], [`StoreError::Io`].
    fn branch(
        &self,
        after: Option<NativeId>,
        now_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Replaces messages of the active branch (HOST-SEMANTICS 8.1). Requests name lineage ids.
    ///
    /// A replacement that has the stored bytes already replaces nothing. `allowed_suffix` covers
    /// the entries of the log from the first replaced one to the end, that one included.
    ///
    /// # Errors
    /// [`StoreError::Stale`], [`StoreError::Closed`], [`StoreError::PendingInput`],
    /// [`StoreError::InvalidEntry`] with nothing written; [`StoreError::Io`].
    fn rewrite(
        &self,
        request: RewriteEntries,
        terms: RewriteTerms,
    ) -> impl Future<Output = Result<Rewritten, StoreError>> + Send;

    /// The log: every message of the active branch since the last reset and of what that reset
    /// kept, under lineage ids.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the store has to ask a disk or a database.
    fn log(&self) -> impl Future<Output = Result<Transcript, StoreError>> + Send;

    /// The lineage ids of the log's messages in order, also where the log itself goes out without
    /// ids (R2.3): for work inside this process, which has to name entries.
    ///
    /// # Errors
    /// As [`TranscriptStore::log`].
    fn log_ids(&self) -> impl Future<Output = Result<Vec<EntryId>, StoreError>> + Send;

    /// What a model would see: the newest summary, what its compaction or reset kept, and
    /// everything after (HOST-SEMANTICS 1.8). A view: items name their log entries.
    ///
    /// # Errors
    /// As [`TranscriptStore::log`].
    fn context(&self) -> impl Future<Output = Result<Transcript, StoreError>> + Send;

    /// A page of the log, oldest first.
    ///
    /// # Errors
    /// [`StoreError::CursorLost`] after a rewrite, a branch or a reset, and for a cursor that is
    /// not this store's.
    fn read(
        &self,
        request: ReadTranscript,
    ) -> impl Future<Output = Result<TranscriptPage, StoreError>> + Send;

    /// The entries of the active branch, root first, under both ids.
    ///
    /// # Errors
    /// As [`TranscriptStore::log`].
    fn entries(&self) -> impl Future<Output = Result<Vec<Entry>, StoreError>> + Send;

    /// The anchor of an entry, as a turn's commit names its ends; absent: no such entry. What only the
    /// host knows of it (agent, session, path) is blank.
    ///
    /// # Errors
    /// As [`TranscriptStore::log`].
    fn anchor(
        &self,
        entry: EntryId,
    ) -> impl Future<Output = Result<Option<EntryAnchor>, StoreError>> + Send;

    /// The messages of a closed turn: from its admission through its last entry, which has to descend
    /// from it, whether or not both are on the active branch (HOST-SEMANTICS 9.2).
    ///
    /// # Errors
    /// As [`TranscriptStore::log`].
    fn turn(
        &self,
        admission: EntryAnchor,
        terminal: EntryAnchor,
        limits: RangeLimits,
    ) -> impl Future<Output = Result<TurnRange, StoreError>> + Send;

    /// Follows the active branch: the newest change, and a wake-up for each further one.
    fn changes(&self) -> watch::Receiver<StoreChange>;
}

#[cfg(test)]
mod tests;
