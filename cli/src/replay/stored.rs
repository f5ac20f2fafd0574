//! The replayed session as its host stores it, which engines may rewrite and compact.

use std::collections::HashSet;
use std::sync::Arc;

use contextwire_client::SessionHost;
use contextwire_client::store::{
    AnyStore, MemoryStore, NativeId, NewEntry, StoreError, TranscriptStore,
};
use contextwire_engine::{AnyEngine, Host, Message, Session, Transcript};
use contextwire_legacy::{CompactionSite, LegacyEngine, LegacyOptions};

/// A log that follows the recorded one.
#[derive(Debug)]
pub(super) struct Stored {
    /// What was recorded of it, before any engine changed it.
    recorded: Transcript,
    ids: Ids,
    /// Absent for a recording in which some messages have ids and others none: no store keeps such
    /// a log (R2.3).
    store: Option<AnyStore>,
    /// What a delegated compaction comes to: this host's own, without a model. One for the whole
    /// session: it goes on from its last summary.
    compaction: AnyEngine,
}

impl Stored {
    /// An empty log; `messages` are all that it will ever hold.
    pub(super) fn new<'a>(messages: impl Iterator<Item = &'a Message>) -> Self {
        let named: HashSet<bool> = messages.map(|message| native(message).is_some()).collect();
        let ids = if named.contains(&true) {
            Ids::Recorded
        } else {
            Ids::Absent
        };
        Self {
            recorded: Transcript::new(),
            ids,
            store: (named.len() < 2).then(|| ids.store()),
            compaction: AnyEngine::new(LegacyEngine::new(LegacyOptions {
                site: CompactionSite::Engine,
                ..LegacyOptions::default()
            })),
        }
    }

    /// Appends what the recorded log has more than before. One that was branched or reset begins
    /// anew, as the recording does.
    ///
    /// # Errors
    /// When a recorded message cannot be stored.
    pub(super) async fn follow(&mut self, log: &Transcript) -> Result<(), StoreError> {
        if let Some(store) = &mut self.store {
            let mut known = log.common_prefix(&self.recorded);
            if known < self.recorded.len() {
                *store = self.ids.store();
                known = 0;
            }
            let added = log.range(known..log.len()).map(entry);
            store.append(added.collect()).await?;
        }
        self.recorded = log.clone();
        Ok(())
    }

    /// The log as it is now.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn log(&self) -> Result<Transcript, StoreError> {
        match &self.store {
            Some(store) => store.log().await,
            None => Ok(self.recorded.clone()),
        }
    }

    /// What the host would send now: the recorded view, until its own transcript was compacted; then
    /// what that compaction left, and the recorded prompt.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn view(&self, recorded: &Transcript) -> Result<Transcript, StoreError> {
        let Some(store) = &self.store else {
            return Ok(recorded.clone());
        };
        let entries = store.entries().await?;
        if !entries
            .iter()
            .any(|entry| entry.entry_type() == "compaction")
        {
            return Ok(recorded.clone());
        }
        let mut view = store.context().await?;
        view.extend(recorded.last().cloned());
        Ok(view)
    }

    /// Whoever serves what an engine asks of this session.
    pub(super) fn host(&self, session: &Session) -> Host {
        let serve = |store: &AnyStore| {
            let host = SessionHost::new(session.clone(), store.clone())
                .with_compaction(self.compaction.clone());
            Host::new(Arc::new(host))
        };
        self.store.as_ref().map(serve).unwrap_or_default()
    }
}

/// Whether the recorded messages have ids.
#[derive(Clone, Copy, Debug)]
enum Ids {
    Recorded,
    Absent,
}

impl Ids {
    /// An empty store of such messages.
    fn store(self) -> AnyStore {
        AnyStore::new(match self {
            Self::Recorded => MemoryStore::with_entry_ids(),
            Self::Absent => MemoryStore::new(),
        })
    }
}

fn native(message: &Message) -> Option<NativeId> {
    NativeId::new(message.entry_id().as_str()).ok()
}

fn entry(message: &Message) -> NewEntry {
    let timestamp_ms = message.timestamp_ms().unwrap_or_default();
    let entry = NewEntry::message(message.payload().clone(), timestamp_ms);
    match native(message) {
        Some(id) => entry.with_id(id),
        None => entry,
    }
}
