//! The log and the records of hooks, as the rows below have them.

use contextwire_engine::durable::{KeyName, KeyRecord, Ledger, Pair, Preparation, UnixMillis};
use contextwire_engine::{Digest, EngineError, HookId, Message, SessionId};
use contextwire_store::log::{Heard, Marks, Stored, Unclaimed};
use contextwire_store::{LogRows, SessionRow};

use super::PlannedRows;

impl LogRows for PlannedRows {
    fn session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        self.base.session(name)
    }

    fn add_session(&mut self, name: &SessionId) -> Result<SessionRow, EngineError> {
        self.base.add_session(name)
    }

    fn write_ends(&mut self, session: &SessionRow) -> Result<(), EngineError> {
        self.base.write_ends(session)
    }

    fn by_entry_id(&self, session: i64, id: &str) -> Result<Option<Stored>, EngineError> {
        self.base.by_entry_id(session, id)
    }

    fn entries_from(&self, session: i64, place: u64) -> Result<Vec<Stored>, EngineError> {
        self.base.entries_from(session, place)
    }

    fn chain_at(&self, session: i64, place: u64) -> Result<[u8; 32], EngineError> {
        self.base.chain_at(session, place)
    }

    fn retired(&self, session: i64, id: &str, digest: Digest) -> Result<Vec<Stored>, EngineError> {
        self.base.retired(session, id, digest)
    }

    fn first_unclaimed(
        &self,
        session: i64,
        digest: Digest,
        from: u64,
        unclaimed: Unclaimed,
    ) -> Result<Option<Stored>, EngineError> {
        self.base.first_unclaimed(session, digest, from, unclaimed)
    }

    fn uncommitted(
        &self,
        session: i64,
        digest: Digest,
        limit: usize,
    ) -> Result<Vec<Stored>, EngineError> {
        self.base.uncommitted(session, digest, limit)
    }

    fn window(&self, session: i64, place: u64, limit: usize) -> Result<Vec<Stored>, EngineError> {
        self.base.window(session, place, limit)
    }

    fn has_left(&self, session: i64, entry_id: &str) -> Result<bool, EngineError> {
        self.base.has_left(session, entry_id)
    }

    fn claim(&mut self, session: i64, before: u64) -> Result<(), EngineError> {
        self.base.claim(session, before)
    }

    fn heard(&self, session: i64) -> Result<Heard, EngineError> {
        self.base.heard(session)
    }

    fn put_heard(&mut self, session: i64, heard: &Heard) -> Result<(), EngineError> {
        self.base.put_heard(session, heard)
    }

    fn last_of_turn(&self, session: i64, from: u64) -> Result<Option<Stored>, EngineError> {
        self.base.last_of_turn(session, from)
    }

    fn clear(&mut self, session: i64, place: u64) -> Result<(), EngineError> {
        self.base.clear(session, place)
    }

    fn put(&mut self, id: i64, at: (u64, [u8; 32])) -> Result<(), EngineError> {
        self.base.put(id, at)
    }

    fn insert(
        &mut self,
        session: i64,
        message: &Message,
        marks: &Marks,
        at: (u64, [u8; 32]),
    ) -> Result<(), EngineError> {
        self.base.insert(session, message, marks, at)
    }

    fn mark(&mut self, id: i64, marks: &Marks) -> Result<(), EngineError> {
        self.base.mark(id, marks)
    }
}

impl Ledger for PlannedRows {
    fn key(&self, name: &KeyName) -> Result<Option<KeyRecord>, EngineError> {
        self.base.key(name)
    }

    fn put_key(&mut self, name: &KeyName, record: &KeyRecord) -> Result<(), EngineError> {
        self.base.put_key(name, record)
    }

    fn remove_key(&mut self, name: &KeyName) -> Result<(), EngineError> {
        self.base.remove_key(name)
    }

    fn highest_pair(&self, session: &SessionId) -> Result<Option<Pair>, EngineError> {
        self.base.highest_pair(session)
    }

    fn put_highest_pair(&mut self, session: &SessionId, pair: Pair) -> Result<(), EngineError> {
        self.base.put_highest_pair(session, pair)
    }

    fn is_closed(&self, hook: HookId) -> Result<bool, EngineError> {
        self.base.is_closed(hook)
    }

    fn close(&mut self, hook: HookId) -> Result<(), EngineError> {
        self.base.close(hook)
    }

    fn preparation(&self, spawn_id: &str) -> Result<Option<Preparation>, EngineError> {
        self.base.preparation(spawn_id)
    }

    fn put_preparation(&mut self, preparation: &Preparation) -> Result<(), EngineError> {
        self.base.put_preparation(preparation)
    }

    fn remove_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        self.base.remove_preparation(spawn_id)
    }

    fn open_preparation(&self, child: &str) -> Result<Option<Preparation>, EngineError> {
        self.base.open_preparation(child)
    }

    fn due_preparations(&self, now: UnixMillis) -> Result<Vec<Preparation>, EngineError> {
        self.base.due_preparations(now)
    }
}
