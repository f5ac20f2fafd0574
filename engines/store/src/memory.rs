//! The rows of a store in memory: a model to test against, as plain as it can be.

use std::collections::BTreeMap;

use contextwire_engine::durable::{
    KeyName, KeyRecord, Ledger, MemoryLedger, Pair, Preparation, UnixMillis,
};
use contextwire_engine::{
    Digest, EngineError, ErrorKind, HookId, Message, SessionId, TranscriptState,
};

use crate::log::{Heard, LogRows, Marks, SessionRow, Stored, Unclaimed};

/// Sessions, entries and records in memory. A clone is an independent copy.
#[derive(Clone, Debug, Default)]
pub struct MemoryRows {
    records: MemoryLedger,
    sessions: BTreeMap<SessionId, SessionRow>,
    heard: BTreeMap<i64, Heard>,
    /// By their number, which is their index.
    entries: Vec<MemoryEntry>,
}

#[derive(Clone, Debug)]
struct MemoryEntry {
    session: i64,
    stored: Stored,
    message: Message,
}

impl MemoryRows {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of the sessions, sorted.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.sessions.keys().cloned().collect()
    }

    /// The log of a session in its order, each entry with its number.
    pub fn log(&self, session: i64) -> Vec<(Stored, Message)> {
        let mut log: Vec<_> = self.placed(session, 0).collect();
        log.sort_by_key(|entry| entry.stored.place());
        log.into_iter()
            .map(|entry| (entry.stored.clone(), entry.message.clone()))
            .collect()
    }

    /// The bodies of a session that left its log, the oldest first.
    pub fn history(&self, session: i64) -> Vec<Stored> {
        let gone = self
            .of(session)
            .filter(|entry| entry.stored.place.is_none());
        gone.map(|entry| entry.stored.clone()).collect()
    }

    /// How many bodies there are, of all sessions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn of(&self, session: i64) -> impl Iterator<Item = &MemoryEntry> {
        self.entries
            .iter()
            .filter(move |entry| entry.session == session)
    }

    fn placed(&self, session: i64, from: u64) -> impl Iterator<Item = &MemoryEntry> {
        self.of(session)
            .filter(move |entry| entry.stored.place.is_some() && entry.stored.place() >= from)
    }

    fn first<'e>(entries: impl Iterator<Item = &'e MemoryEntry>) -> Option<Stored> {
        entries
            .min_by_key(|entry| entry.stored.place())
            .map(|entry| entry.stored.clone())
    }

    fn entry(&mut self, id: i64) -> Result<&mut Stored, EngineError> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        let entry = self.entries.get_mut(index);
        entry.map(|entry| &mut entry.stored).ok_or_else(missing)
    }
}

fn missing() -> EngineError {
    EngineError::new(ErrorKind::Failure, "the model has no such row")
}

impl LogRows for MemoryRows {
    fn session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        let found = self.sessions.get(name).cloned();
        let highest = self.records.highest_pair(name)?;
        Ok(found.map(|row| SessionRow { highest, ..row }))
    }

    fn add_session(&mut self, name: &SessionId) -> Result<SessionRow, EngineError> {
        let row = SessionRow {
            id: i64::try_from(self.sessions.len()).unwrap_or(i64::MAX),
            highest: self.records.highest_pair(name)?,
            placed: TranscriptState::EMPTY,
            total: TranscriptState::EMPTY,
        };
        self.sessions.insert(name.clone(), row.clone());
        Ok(row)
    }

    fn write_ends(&mut self, session: &SessionRow) -> Result<(), EngineError> {
        let mut all = self.sessions.values_mut();
        let row = all.find(|row| row.id == session.id).ok_or_else(missing)?;
        row.clone_from(session);
        Ok(())
    }

    fn by_entry_id(&self, session: i64, id: &str) -> Result<Option<Stored>, EngineError> {
        let placed = self.placed(session, 0);
        Ok(Self::first(
            placed.filter(|entry| entry.stored.entry_id == id),
        ))
    }

    fn entries_from(&self, session: i64, place: u64) -> Result<Vec<Stored>, EngineError> {
        let placed = self.placed(session, place);
        let mut found: Vec<_> = placed.map(|entry| entry.stored.clone()).collect();
        found.sort_by_key(Stored::place);
        Ok(found)
    }

    fn chain_at(&self, session: i64, place: u64) -> Result<[u8; 32], EngineError> {
        self.placed(session, place)
            .find_map(|entry| entry.stored.place.filter(|(at, _)| *at == place))
            .map(|(_, chain)| chain)
            .ok_or_else(missing)
    }

    fn retired(
        &self,
        session: i64,
        entry_id: &str,
        digest: Digest,
    ) -> Result<Vec<Stored>, EngineError> {
        let retired = self
            .of(session)
            .map(|entry| &entry.stored)
            .filter(|stored| {
                stored.place.is_none() && stored.entry_id == entry_id && stored.digest == digest
            });
        let mut found: Vec<_> = retired.cloned().collect();
        found.reverse();
        Ok(found)
    }

    fn first_unclaimed(
        &self,
        session: i64,
        digest: Digest,
        from: u64,
        unclaimed: Unclaimed,
    ) -> Result<Option<Stored>, EngineError> {
        let is_free = |stored: &Stored| match unclaimed {
            Unclaimed::ByIngest => !stored.marks.ingested,
            Unclaimed::ByTurn => stored.marks.turn.is_none(),
        };
        let free = self.placed(session, from).filter(|entry| {
            let stored = &entry.stored;
            stored.entry_id.is_empty() && stored.digest == digest && is_free(stored)
        });
        Ok(Self::first(free))
    }

    fn uncommitted(
        &self,
        session: i64,
        digest: Digest,
        limit: usize,
    ) -> Result<Vec<Stored>, EngineError> {
        let mut found = self.entries_from(session, 0)?;
        found.retain(|stored| {
            stored.entry_id.is_empty() && stored.digest == digest && stored.marks.turn.is_none()
        });
        let older = found.len().saturating_sub(limit);
        Ok(found.split_off(older))
    }

    fn window(&self, session: i64, place: u64, limit: usize) -> Result<Vec<Stored>, EngineError> {
        let mut found = self.entries_from(session, place)?;
        found.truncate(limit);
        Ok(found)
    }

    fn has_left(&self, session: i64, entry_id: &str) -> Result<bool, EngineError> {
        Ok(self
            .history(session)
            .iter()
            .any(|stored| stored.entry_id == entry_id))
    }

    fn claim(&mut self, session: i64, before: u64) -> Result<(), EngineError> {
        for entry in &mut self.entries {
            let stored = &mut entry.stored;
            if entry.session == session && stored.entry_id.is_empty() && stored.place() < before {
                stored.marks.ingested = true;
            }
        }
        Ok(())
    }

    fn heard(&self, session: i64) -> Result<Heard, EngineError> {
        Ok(self.heard.get(&session).copied().unwrap_or_default())
    }

    fn put_heard(&mut self, session: i64, heard: &Heard) -> Result<(), EngineError> {
        self.heard.insert(session, *heard);
        Ok(())
    }

    fn last_of_turn(&self, session: i64, from: u64) -> Result<Option<Stored>, EngineError> {
        let placed = self.placed(session, from);
        let last = placed
            .filter(|entry| entry.stored.marks.turn.is_some())
            .max_by_key(|entry| entry.stored.place());
        Ok(last.map(|entry| entry.stored.clone()))
    }

    fn clear(&mut self, session: i64, place: u64) -> Result<(), EngineError> {
        for entry in &mut self.entries {
            if entry.session == session && entry.stored.place.is_some_and(|(at, _)| at >= place) {
                entry.stored.place = None;
            }
        }
        Ok(())
    }

    fn put(&mut self, id: i64, at: (u64, [u8; 32])) -> Result<(), EngineError> {
        self.entry(id)?.place = Some(at);
        Ok(())
    }

    fn insert(
        &mut self,
        session: i64,
        message: &Message,
        marks: &Marks,
        at: (u64, [u8; 32]),
    ) -> Result<(), EngineError> {
        let stored = Stored {
            id: i64::try_from(self.entries.len()).unwrap_or(i64::MAX),
            place: Some(at),
            entry_id: message.entry_id().as_str().to_owned(),
            digest: message.digest(),
            marks: marks.clone(),
        };
        self.entries.push(MemoryEntry {
            session,
            stored,
            message: message.clone(),
        });
        Ok(())
    }

    fn mark(&mut self, id: i64, marks: &Marks) -> Result<(), EngineError> {
        self.entry(id)?.marks = marks.clone();
        Ok(())
    }
}

impl Ledger for MemoryRows {
    fn key(&self, name: &KeyName) -> Result<Option<KeyRecord>, EngineError> {
        self.records.key(name)
    }

    fn put_key(&mut self, name: &KeyName, record: &KeyRecord) -> Result<(), EngineError> {
        self.records.put_key(name, record)
    }

    fn remove_key(&mut self, name: &KeyName) -> Result<(), EngineError> {
        self.records.remove_key(name)
    }

    fn highest_pair(&self, session: &SessionId) -> Result<Option<Pair>, EngineError> {
        self.records.highest_pair(session)
    }

    fn put_highest_pair(&mut self, session: &SessionId, pair: Pair) -> Result<(), EngineError> {
        self.records.put_highest_pair(session, pair)
    }

    fn is_closed(&self, hook: HookId) -> Result<bool, EngineError> {
        self.records.is_closed(hook)
    }

    fn close(&mut self, hook: HookId) -> Result<(), EngineError> {
        self.records.close(hook)
    }

    fn preparation(&self, spawn_id: &str) -> Result<Option<Preparation>, EngineError> {
        self.records.preparation(spawn_id)
    }

    fn put_preparation(&mut self, preparation: &Preparation) -> Result<(), EngineError> {
        self.records.put_preparation(preparation)
    }

    fn remove_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        self.records.remove_preparation(spawn_id)
    }

    fn open_preparation(&self, child: &str) -> Result<Option<Preparation>, EngineError> {
        self.records.open_preparation(child)
    }

    fn due_preparations(&self, now: UnixMillis) -> Result<Vec<Preparation>, EngineError> {
        self.records.due_preparations(now)
    }
}
