//! The rows that a log is made of, as a store offers them inside one transaction.

use contextwire_engine::durable::Pair;
use contextwire_engine::{Digest, EngineError, HookId, Message, SessionId, TranscriptState};

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The store's own number of it.
    pub id: i64,
    /// The highest pair that had an effect.
    pub highest: Option<Pair>,
    /// What updates of the LOG placed.
    pub placed: TranscriptState,
    /// The same with the provisional tail behind it.
    pub total: TranscriptState,
}

/// What a session last heard of its host's LOG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The newest hook whose LOG became the stored one.
    pub log: Option<HookId>,
    /// The epoch of that hook's host, where it has one.
    pub epoch: Option<u64>,
    /// The host's process, by its epoch, whose first LOG was imported.
    pub process: Option<u64>,
}

/// What an entry was part of, besides the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// An Ingest without an entry id meant it, or it is older than the host's process: no other
    /// Ingest means it.
    pub ingested: bool,
    /// A heartbeat poll brought it.
    pub heartbeat: bool,
    /// The turn that committed it.
    pub turn: Option<Turn>,
    /// The hook that said last that it is there; not those that brought a LOG.
    pub hook: Option<HookId>,
}

/// A committed turn, and where it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its advancement key.
    pub key: String,
    /// Generation of the host's transcript.
    pub generation: String,
    /// Place of its first entry in the host's raw log.
    pub raw_seq: i64,
}

/// A stored body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The store's own number of it.
    pub id: i64,
    /// Its place and the chain up to it; `None` for one that left the log.
    pub place: Option<(u64, [u8; 32])>,
    /// Lineage id; empty where the host has none.
    pub entry_id: String,
    /// Identity of the message.
    pub digest: Digest,
    /// What it was part of.
    pub marks: Marks,
}

impl Stored {
    /// Its place in the log; after everything where it has none.
    pub(crate) fn place(&self) -> u64 {
        self.place.map_or(u64::MAX, |(place, _)| place)
    }
}

/// Which entries without an entry id may still be meant by a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclaimed {
    /// Those that no Ingest meant, and that are not older than the host's process.
    ByIngest,
    /// Those that no turn committed.
    ByTurn,
}

/// The sessions and entries of a store, inside one transaction.
///
/// Errors are the store's own: [`contextwire_engine::ErrorKind::Transient`] where it is locked, full
/// or away.
pub trait LogRows {
    /// The row of a session.
    ///
    /// # Errors
    /// The store's.
    fn session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError>;

    /// Makes an empty session of this name, of which there is none yet.
    ///
    /// # Errors
    /// The store's.
    fn add_session(&mut self, name: &SessionId) -> Result<SessionRow, EngineError>;

    /// Writes where the log ends: `placed` and `total`.
    ///
    /// # Errors
    /// The store's.
    fn write_ends(&mut self, session: &SessionRow) -> Result<(), EngineError>;

    /// The entry of the log with this id; the first where a damaged log has several.
    ///
    /// # Errors
    /// The store's.
    fn by_entry_id(&self, session: i64, id: &str) -> Result<Option<Stored>, EngineError>;

    /// The log from this place on, in order.
    ///
    /// # Errors
    /// The store's.
    fn entries_from(&self, session: i64, place: u64) -> Result<Vec<Stored>, EngineError>;

    /// The chain up to the entry at a place of the log.
    ///
    /// # Errors
    /// The store's; also where there is no such place.
    fn chain_at(&self, session: i64, place: u64) -> Result<[u8; 32], EngineError>;

    /// Bodies of this identity that left the log, the newest first.
    ///
    /// # Errors
    /// The store's.
    fn retired(
        &self,
        session: i64,
        entry_id: &str,
        digest: Digest,
    ) -> Result<Vec<Stored>, EngineError>;

    /// The first entry without an id from a place of the log on that has this digest and may still
    /// be meant.
    ///
    /// # Errors
    /// The store's.
    fn first_unclaimed(
        &self,
        session: i64,
        digest: Digest,
        from: u64,
        unclaimed: Unclaimed,
    ) -> Result<Option<Stored>, EngineError>;

    /// The last `limit` entries without an id that have this digest and that no turn committed, in
    /// order.
    ///
    /// # Errors
    /// The store's.
    fn uncommitted(
        &self,
        session: i64,
        digest: Digest,
        limit: usize,
    ) -> Result<Vec<Stored>, EngineError>;

    /// Up to `limit` entries of the log from a place on, in order.
    ///
    /// # Errors
    /// The store's.
    fn window(&self, session: i64, place: u64, limit: usize) -> Result<Vec<Stored>, EngineError>;

    /// Whether a body of this entry id, which is not empty, was stored once and left the log.
    ///
    /// # Errors
    /// The store's.
    fn has_left(&self, session: i64, entry_id: &str) -> Result<bool, EngineError>;

    /// Marks every entry without an id before this place as meant by an Ingest.
    ///
    /// # Errors
    /// The store's.
    fn claim(&mut self, session: i64, before: u64) -> Result<(), EngineError>;

    /// What was last heard of the host's LOG.
    ///
    /// # Errors
    /// The store's.
    fn heard(&self, session: i64) -> Result<Heard, EngineError>;

    /// Writes what was last heard of the host's LOG.
    ///
    /// # Errors
    /// The store's.
    fn put_heard(&mut self, session: i64, heard: &Heard) -> Result<(), EngineError>;

    /// The last entry of a turn at a place not before this one.
    ///
    /// # Errors
    /// The store's.
    fn last_of_turn(&self, session: i64, from: u64) -> Result<Option<Stored>, EngineError>;

    /// Takes the places from `place` on away from whatever stands there.
    ///
    /// # Errors
    /// The store's.
    fn clear(&mut self, session: i64, place: u64) -> Result<(), EngineError>;

    /// Gives a body a place, which nobody has, and the chain up to it.
    ///
    /// # Errors
    /// The store's.
    fn put(&mut self, id: i64, at: (u64, [u8; 32])) -> Result<(), EngineError>;

    /// Stores a new body at a place.
    ///
    /// # Errors
    /// The store's.
    fn insert(
        &mut self,
        session: i64,
        message: &Message,
        marks: &Marks,
        at: (u64, [u8; 32]),
    ) -> Result<(), EngineError>;

    /// Writes what a body was part of.
    ///
    /// # Errors
    /// The store's.
    fn mark(&mut self, id: i64, marks: &Marks) -> Result<(), EngineError>;
}
