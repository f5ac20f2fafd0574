//! A ledger in memory, for tests of engines and of the laws themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::{KeyName, KeyRecord, Ledger, UnixMillis};
use super::order::Pair;
use super::preparation::{Preparation, Stage};
use crate::error::EngineError;
use crate::ids::{HookId, SessionId};

/// A ledger in memory. A clone is an independent copy, so two of them can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLedger {
    keys: BTreeMap<KeyName, KeyRecord>,
    pairs: BTreeMap<SessionId, Pair>,
    closed: BTreeSet<HookId>,
    /// In the order of writing.
    preparations: Vec<Preparation>,
    undone: Vec<String>,
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// A transaction: what `act` did stays when it answers `Ok`, and is gone when it answers `Err`.
    ///
    /// # Errors
    /// Those of `act`.
    pub fn transaction<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut draft = self.clone();
        let done = act(&mut draft)?;
        *self = draft;
        Ok(done)
    }

    /// The spawn ids whose preparation was undone, in order.
    pub fn undone(&self) -> &[String] {
        &self.undone
    }
}

impl Ledger for MemoryLedger {
    fn key(&self, name: &KeyName) -> Result<Option<KeyRecord>, EngineError> {
        Ok(self.keys.get(name).cloned())
    }

    fn put_key(&mut self, name: &KeyName, record: &KeyRecord) -> Result<(), EngineError> {
        self.keys.insert(name.clone(), record.clone());
        Ok(())
    }

    fn remove_key(&mut self, name: &KeyName) -> Result<(), EngineError> {
        self.keys.remove(name);
        Ok(())
    }

    fn highest_pair(&self, session: &SessionId) -> Result<Option<Pair>, EngineError> {
        Ok(self.pairs.get(session).copied())
    }

    fn put_highest_pair(&mut self, session: &SessionId, pair: Pair) -> Result<(), EngineError> {
        self.pairs.insert(session.clone(), pair);
        Ok(())
    }

    fn is_closed(&self, hook: HookId) -> Result<bool, EngineError> {
        Ok(self.closed.contains(&hook))
    }

    fn close(&mut self, hook: HookId) -> Result<(), EngineError> {
        self.closed.insert(hook);
        Ok(())
    }

    fn preparation(&self, spawn_id: &str) -> Result<Option<Preparation>, EngineError> {
        let mut all = self.preparations.iter();
        Ok(all.find(|known| known.spawn_id == spawn_id).cloned())
    }

    fn put_preparation(&mut self, preparation: &Preparation) -> Result<(), EngineError> {
        let mut all = self.preparations.iter_mut();
        match all.find(|known| known.spawn_id == preparation.spawn_id) {
            Some(known) => known.clone_from(preparation),
            None => self.preparations.push(preparation.clone()),
        }
        Ok(())
    }

    fn remove_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        self.preparations.retain(|known| known.spawn_id != spawn_id);
        Ok(())
    }

    fn open_preparation(
        &self,
        child_session_key: &str,
    ) -> Result<Option<Preparation>, EngineError> {
        let open = self.preparations.iter().filter(|known| {
            known.stage == Stage::Open && known.child_session_key == child_session_key
        });
        Ok(open.max_by_key(|known| known.prepared_at).cloned())
    }

    fn due_preparations(&self, now: UnixMillis) -> Result<Vec<Preparation>, EngineError> {
        let due = self.preparations.iter().filter(|known| {
            matches!(known.stage, Stage::Open | Stage::Tombstone) && known.expires_at <= now
        });
        Ok(due.cloned().collect())
    }

    fn undo_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        self.undone.push(spawn_id.to_owned());
        Ok(())
    }
}
