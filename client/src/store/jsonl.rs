//! A transcript in a JSON Lines file that is only ever appended to.

mod file;

use std::path::PathBuf;
use std::sync::Arc;

use contextwire_engine::{
    EntryAnchor, EntryId, ReadTranscript, RewriteEntries, Rewritten, SessionId, Transcript,
    TranscriptPage,
};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;

use super::TranscriptStore;
use super::entry::Entry;
use super::error::StoreError;
use super::id::NativeId;
use super::load::CutTail;
use super::new_entry::NewEntry;
use super::rewrite::RewriteTerms;
use super::state::{State, StoreChange};
use super::turn::{RangeLimits, TurnRange};

use file::{OpenJournal, Opened};

/// How to open a file.
#[derive(Clone, Debug)]
pub struct JsonlOptions {
    /// Whose transcript it is; a file of another session is refused.
    pub session: SessionId,
    /// Working folder, for the header of a new file.
    pub cwd: Option<String>,
    /// Now, in milliseconds since the Unix epoch, for the header of a new file.
    pub now_ms: i64,
    /// What an answered append survives.
    pub durability: Durability,
    /// What for.
    pub access: Access,
}

impl JsonlOptions {
    /// For writing, and what is answered survives power loss.
    pub fn new(session: SessionId, now_ms: i64) -> Self {
        Self {
            session,
            cwd: None,
            now_ms,
            durability: Durability::PowerLoss,
            access: Access::Write,
        }
    }
}

/// What an answered append survives. A rewrite and a branch survive power loss always: their
/// lineage ids are on disk before their answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss: the file is synced for each append.
    #[default]
    PowerLoss,
    /// The death of this process: the system has the bytes.
    ProcessDeath,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading and appending, as the only writer.
    #[default]
    Write,
    /// Reading what is there now, beside any writer. Nothing of the file is changed.
    Read,
}

/// A transcript in a file of one JSON object a line, mode 0600.
///
/// One store at a time writes a file, across processes: the lock is on `FILE.lock` beside it, which
/// stays. All entries are in memory, payloads as slices of what was read. Readers of the file may
/// see its last line unfinished and every other one whole.
#[derive(Clone, Debug)]
pub struct JsonlStore {
    state: Arc<State>,
    /// Absent where the file was opened for reading.
    journal: Option<Arc<Mutex<OpenJournal>>>,
    cut: Option<CutTail>,
}

impl JsonlStore {
    /// Opens a file, and makes it where it is to be written and does not exist. A last line that a
    /// crash cut short is dropped; [`JsonlStore::cut_tail`] says so.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another store writes the file, [`StoreError::OtherSession`],
    /// [`StoreError::NotATranscript`], [`StoreError::UnsupportedVersion`], [`StoreError::Corrupt`]
    /// for damage before the last line, [`StoreError::Io`].
    pub async fn open(path: impl Into<PathBuf>, options: JsonlOptions) -> Result<Self, StoreError> {
        let path = path.into();
        let opened = spawn_blocking(move || file::open(&path, &options)).await;
        let Opened { tree, journal, cut } = opened.map_err(|_| StoreError::Stopped)??;
        Ok(Self {
            state: Arc::new(State::new(tree)),
            journal: journal.map(|journal| Arc::new(Mutex::new(journal))),
            cut,
        })
    }

    /// The unfinished line that the file ended with when it was opened.
    pub fn cut_tail(&self) -> Option<CutTail> {
        self.cut
    }

    /// Runs one change off the runtime's threads, after the one before it. It runs to its end also
    /// where nobody waits for it any more.
    async fn change<T: Send + 'static>(
        &self,
        job: impl FnOnce(&State, &mut OpenJournal) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let journal = self.journal.as_ref().ok_or(StoreError::ReadOnly)?;
        let mut journal = Arc::clone(journal).lock_owned().await;
        let state = Arc::clone(&self.state);
        let done = spawn_blocking(move || job(&state, &mut journal)).await;
        done.map_err(|_| StoreError::Stopped)?
    }
}

impl TranscriptStore for JsonlStore {
    async fn append(&self, entries: Vec<NewEntry>) -> Result<Vec<EntryId>, StoreError> {
        self.change(move |state, journal| state.append(journal, &entries))
            .await
    }

    async fn branch(&self, after: Option<NativeId>, now_ms: i64) -> Result<(), StoreError> {
        self.change(move |state, journal| state.branch(journal, after.as_ref(), now_ms))
            .await
    }

    async fn rewrite(
        &self,
        request: RewriteEntries,
        terms: RewriteTerms,
    ) -> Result<Rewritten, StoreError> {
        self.change(move |state, journal| state.rewrite(journal, &request, &terms))
            .await
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
