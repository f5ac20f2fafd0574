//! A transcript that lives as long as its process.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use contextwire_engine::{
    EntryAnchor, EntryId, ReadTranscript, RewriteEntries, Rewritten, Transcript, TranscriptPage,
};
use tokio::sync::watch;

use super::TranscriptStore;
use super::entry::Entry;
use super::error::StoreError;
use super::id::NativeId;
use super::new_entry::NewEntry;
use super::rewrite::RewriteTerms;
use super::state::{Journal, State, Step, StoreChange};
use super::tree::{EntryIds, Tree};
use super::turn::{RangeLimits, TurnRange};

/// A transcript in memory.
#[derive(Debug)]
pub struct MemoryStore {
    state: State,
    writer: Mutex<Nowhere>,
}

/// Lines of a store that keeps none.
#[derive(Debug)]
struct Nowhere;

impl Journal for Nowhere {
    fn write(&mut self, _: &[Bytes], _: Step) -> Result<(), StoreError> {
        Ok(())
    }

    fn settled(&mut self) {}
}

impl MemoryStore {
    /// An empty transcript whose messages carry no ids, as the contract asks of a host without
    /// durable storage (R2.3): no engine can ask for a rewrite by id.
    pub fn new() -> Self {
        Self::with(EntryIds::Empty)
    }

    /// An empty transcript with lineage ids, for sessions that end with their process and for
    /// tests. Such a session must never be opened again under the same session id.
    pub fn with_entry_ids() -> Self {
        Self::with(EntryIds::Sent)
    }

    fn with(ids: EntryIds) -> Self {
        Self {
            state: State::new(Tree::new(ids)),
            writer: Mutex::new(Nowhere),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl TranscriptStore for MemoryStore {
    async fn append(&self, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.append(&mut *writer, &entries)
    }

    async fn branch(&self, after: Option<NativeId>, now_ms: i64) -> Result<(), StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.branch(&mut *writer, after.as_ref(), now_ms)
    }

    async fn rewrite(
        &self,
        request: RewriteEntries,
        terms: RewriteTerms,
    ) -> Result<Rewritten, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.rewrite(&mut *writer, &request, &terms)
    }

    async fn log(&self) -> Result<Transcript, StoreError> {
        Ok(self.state.log())
    }

    async fn log_ids(&self) -> Result<Vec<EntryId>, StoreError> {
        Ok(self.state.log_ids())
    }

    async fn context(&self) -> Result<Transcript, StoreError> {
        Ok(self.state.context())
    }

    async fn read(&self, request: ReadTranscript) -> Result<TranscriptPage, StoreError> {
        self.state.read(&request)
    }

    async fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        Ok(self.state.entries())
    }

    async fn anchor(&self, entry: EntryId) -> Result<Option<EntryAnchor>, StoreError> {
        Ok(self.state.anchor(&entry))
    }

    async fn turn(
        &self,
        admission: EntryAnchor,
        terminal: EntryAnchor,
        limits: RangeLimits,
    ) -> Result<TurnRange, StoreError> {
        Ok(self.state.turn(&admission, &terminal, limits))
    }

    fn changes(&self) -> watch::Receiver<StoreChange> {
        self.state.changes()
    }
}
