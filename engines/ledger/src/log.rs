//! The log as rows: bodies that stay for ever, and places that say which of them are the log.

mod commit;
mod ingest;
mod update;

use contextwire_engine::{Digest, EngineError, HookContext, Message, TranscriptState};
use rusqlite::{OptionalExtension, Row, params};

use crate::error::StoreError;
use crate::store::{SessionRow, Tx, bounded, unbounded};
pub(crate) use update::LogUpdate;

/// How often long work looks whether anybody still waits for it, in entries.
const CHECK_EVERY: u64 = 256;

/// What an entry was part of, besides the log.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// An Ingest without an entry id meant it.
    ingested: bool,
    /// The turn that committed it.
    turn: Option<Turn>,
}

/// A committed turn, and where it began.
#[derive(Clone, Debug)]
struct Turn {
    key: String,
    generation: String,
    raw_seq: i64,
}

/// A stored body.
#[derive(Clone, Debug)]
struct Stored {
    id: i64,
    /// Its place and the chain up to it; `None` for one that left the log.
    place: Option<(u64, [u8; 32])>,
    entry_id: String,
    digest: Digest,
    marks: Marks,
}

impl Stored {
    /// Its place in the log; after everything where it has none.
    fn place(&self) -> u64 {
        self.place.map_or(u64::MAX, |(place, _)| place)
    }
}

/// What stands at a place of the log that is to be.
enum Slot {
    /// A body that is there already.
    Stored(Stored),
    /// A new one.
    New(Message, Marks),
}

impl Slot {
    fn digest(&self) -> Digest {
        match self {
            Self::Stored(stored) => stored.digest,
            Self::New(message, _) => message.digest(),
        }
    }

    fn marks(&self) -> &Marks {
        match self {
            Self::Stored(Stored { marks, .. }) | Self::New(_, marks) => marks,
        }
    }
}

/// The log as it is to be from some state on.
struct Arrangement {
    /// The part before stays as it is.
    from: TranscriptState,
    slots: Vec<Slot>,
    /// Up to which place the LOG placed it; `None` where that end lies before `from` and stays.
    placed: Option<u64>,
}

const COLUMNS: &str = "id, place, chain, entry_id, digest, ingested, turn, generation, raw_seq";

impl Tx<'_> {
    /// Appends new entries at the end of the provisional tail.
    fn append<'m>(
        &self,
        session: &mut SessionRow,
        entries: impl IntoIterator<Item = (&'m Message, Marks)>,
    ) -> Result<(), EngineError> {
        for (message, marks) in entries {
            let place = session.total.count;
            session.total = session.total.then(message.digest());
            self.insert(session.id, message, &marks, (place, session.total.chain))?;
        }
        self.write_ends(session)
    }

    /// Makes the log so. Entries that already stand where they belong are not written.
    fn arrange(
        &self,
        cx: &HookContext,
        session: &mut SessionRow,
        arrangement: &Arrangement,
    ) -> Result<(), EngineError> {
        let Arrangement {
            from,
            slots,
            placed,
        } = arrangement;
        let (mut state, placed) = (*from, *placed);
        if placed == Some(from.count) {
            session.placed = *from;
        }
        let mut moving = false;
        for slot in slots {
            if state.count.is_multiple_of(CHECK_EVERY) {
                cx.check()?;
            }
            let place = state.count;
            state = state.then(slot.digest());
            let stands =
                matches!(slot, Slot::Stored(stored) if stored.place == Some((place, state.chain)));
            if !moving && !stands {
                moving = true;
                self.clear(session, place)?;
            }
            match slot {
                Slot::Stored(stored) if moving => self.put(stored.id, (place, state.chain))?,
                Slot::Stored(_) => {}
                Slot::New(message, marks) => {
                    self.insert(session.id, message, marks, (place, state.chain))?;
                }
            }
            if placed == Some(state.count) {
                session.placed = state;
            }
        }
        if !moving {
            self.clear(session, state.count)?;
        }
        session.total = state;
        self.write_ends(session)
    }

    /// Takes the places from `place` on away from whatever stands there.
    fn clear(&self, session: &SessionRow, place: u64) -> Result<(), EngineError> {
        if place >= session.total.count {
            return Ok(());
        }
        self.execute(
            "UPDATE entry SET place = NULL, chain = NULL WHERE session = ?1 AND place >= ?2",
            params![session.id, bounded(place)],
        )
    }

    fn put(&self, id: i64, (place, chain): (u64, [u8; 32])) -> Result<(), EngineError> {
        self.execute(
            "UPDATE entry SET place = ?2, chain = ?3 WHERE id = ?1",
            params![id, bounded(place), chain],
        )
    }

    fn insert(
        &self,
        session: i64,
        message: &Message,
        marks: &Marks,
        (place, chain): (u64, [u8; 32]),
    ) -> Result<(), EngineError> {
        let Marks { ingested, turn } = marks;
        self.execute(
            "INSERT INTO entry (session, place, chain, entry_id, digest, ingested, turn, generation,
                                raw_seq, synthetic, omitted_bytes, omitted_sha256, payload)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                session,
                bounded(place),
                chain,
                message.entry_id().as_str(),
                message.digest().0,
                ingested,
                turn.as_ref().map(|turn| &turn.key),
                turn.as_ref().map(|turn| &turn.generation),
                turn.as_ref().map(|turn| turn.raw_seq),
                message.is_synthetic(),
                message.omitted().map(|omitted| bounded(omitted.bytes)),
                message.omitted().map(|omitted| omitted.sha256),
                &message.payload()[..]
            ],
        )
    }

    fn mark(&self, id: i64, marks: &Marks) -> Result<(), EngineError> {
        let Marks { ingested, turn } = marks;
        self.execute(
            "UPDATE entry SET ingested = ?2, turn = ?3, generation = ?4, raw_seq = ?5
             WHERE id = ?1",
            params![
                id,
                ingested,
                turn.as_ref().map(|turn| &turn.key),
                turn.as_ref().map(|turn| &turn.generation),
                turn.as_ref().map(|turn| turn.raw_seq)
            ],
        )
    }

    /// The entry of the log with this id; the first where a damaged log has several.
    fn by_entry_id(&self, session: &SessionRow, id: &str) -> Result<Option<Stored>, EngineError> {
        self.one(
            "session = ?1 AND entry_id = ?2 AND place IS NOT NULL ORDER BY place LIMIT 1",
            params![session.id, id],
        )
    }

    /// The log from this place on.
    fn log_from(&self, session: &SessionRow, place: u64) -> Result<Vec<Stored>, EngineError> {
        if place >= session.total.count {
            return Ok(Vec::new());
        }
        self.all(
            "session = ?1 AND place >= ?2 ORDER BY place",
            params![session.id, bounded(place)],
        )
    }

    /// The state of the first `count` entries.
    fn state_at(&self, session: &SessionRow, count: u64) -> Result<TranscriptState, EngineError> {
        let Some(last) = count.checked_sub(1) else {
            return Ok(TranscriptState::EMPTY);
        };
        let chain = self
            .connection
            .prepare_cached("SELECT chain FROM entry WHERE session = ?1 AND place = ?2")
            .and_then(|mut query| {
                query.query_row(params![session.id, bounded(last)], |row| row.get(0))
            });
        Ok(TranscriptState {
            count,
            chain: chain.map_err(StoreError)?,
        })
    }

    fn one(
        &self,
        which: &str,
        values: impl rusqlite::Params,
    ) -> Result<Option<Stored>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM entry WHERE {which}");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut query| query.query_row(values, stored).optional());
        Ok(found.map_err(StoreError)?)
    }

    fn all(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM entry WHERE {which}");
        let read = || -> rusqlite::Result<Vec<Stored>> {
            let mut query = self.connection.prepare_cached(&sql)?;
            query.query_map(values, stored)?.collect()
        };
        Ok(read().map_err(StoreError)?)
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let place = row.get::<_, Option<i64>>("place")?.map(unbounded);
    let turn: Option<String> = row.get("turn")?;
    let turn = match turn {
        Some(key) => Some(Turn {
            key,
            generation: row.get("generation")?,
            raw_seq: row.get("raw_seq")?,
        }),
        None => None,
    };
    Ok(Stored {
        id: row.get("id")?,
        place: match place {
            Some(place) => Some((place, row.get("chain")?)),
            None => None,
        },
        entry_id: row.get("entry_id")?,
        digest: Digest(row.get("digest")?),
        marks: Marks {
            ingested: row.get("ingested")?,
            turn,
        },
    })
}
