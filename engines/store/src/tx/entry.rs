//! The log as rows of SQLite.

use contextwire_engine::{Digest, EngineError, Message, Omitted, SessionId, digest};
use rusqlite::{OptionalExtension, Row, params};

use super::{Tx, bounded, hook, unbounded};
use crate::error::SqlError;
use crate::log::{Heard, LogRows, Marks, SessionRow, Stored, Turn, Unclaimed};

/// A payload of at least this size is a blob, stored once however many entries have it.
const BLOB_BYTES: usize = 8 * 1024;

const COLUMNS: &str =
    "id, place, chain, entry_id, digest, ingested, heartbeat, turn, generation, raw_seq, hook";

// Where an order by place is asked for, SQLite would walk the whole log in that order rather than sort
// the one entry that an index finds; so statements that look for an identity name its index.
impl LogRows for Tx {
    fn session(&self, name: &SessionId) -> Result<Option<SessionRow>, EngineError> {
        self.read_session(name)
    }

    fn add_session(&mut self, name: &SessionId) -> Result<SessionRow, EngineError> {
        self.insert_session(name)
    }

    fn write_ends(&mut self, session: &SessionRow) -> Result<(), EngineError> {
        self.update_ends(session)
    }

    fn by_entry_id(&self, session: i64, id: &str) -> Result<Option<Stored>, EngineError> {
        self.one(
            "entry INDEXED BY entry_identity
             WHERE session = ?1 AND entry_id = ?2 AND place IS NOT NULL ORDER BY place LIMIT 1",
            params![session, id],
        )
    }

    fn entries_from(&self, session: i64, place: u64) -> Result<Vec<Stored>, EngineError> {
        self.all(
            "entry WHERE session = ?1 AND place >= ?2 ORDER BY place",
            params![session, bounded(place)],
        )
    }

    fn chain_at(&self, session: i64, place: u64) -> Result<[u8; 32], EngineError> {
        let chain = self
            .connection
            .prepare_cached("SELECT chain FROM entry WHERE session = ?1 AND place = ?2")
            .and_then(|mut query| {
                query.query_row(params![session, bounded(place)], |row| row.get(0))
            });
        Ok(chain.map_err(SqlError)?)
    }

    fn retired(
        &self,
        session: i64,
        entry_id: &str,
        digest: Digest,
    ) -> Result<Vec<Stored>, EngineError> {
        self.all(
            "entry INDEXED BY entry_identity
             WHERE session = ?1 AND entry_id = ?2 AND digest = ?3 AND place IS NULL
             ORDER BY id DESC",
            params![session, entry_id, digest.0],
        )
    }

    fn first_unclaimed(
        &self,
        session: i64,
        digest: Digest,
        from: u64,
        unclaimed: Unclaimed,
    ) -> Result<Option<Stored>, EngineError> {
        let which = match unclaimed {
            Unclaimed::ByIngest => {
                "entry INDEXED BY entry_identity
                 WHERE session = ?1 AND entry_id = '' AND digest = ?2 AND place >= ?3
                   AND ingested = 0
                 ORDER BY place LIMIT 1"
            }
            Unclaimed::ByTurn => {
                "entry INDEXED BY entry_identity
                 WHERE session = ?1 AND entry_id = '' AND digest = ?2 AND place >= ?3
                   AND turn IS NULL
                 ORDER BY place LIMIT 1"
            }
        };
        self.one(which, params![session, digest.0, bounded(from)])
    }

    fn uncommitted(
        &self,
        session: i64,
        digest: Digest,
        limit: usize,
    ) -> Result<Vec<Stored>, EngineError> {
        let mut found = self.all(
            "entry INDEXED BY entry_identity
             WHERE session = ?1 AND entry_id = '' AND digest = ?2 AND place IS NOT NULL
               AND turn IS NULL
             ORDER BY place DESC LIMIT ?3",
            params![session, digest.0, rows_of(limit)],
        )?;
        found.reverse();
        Ok(found)
    }

    fn window(&self, session: i64, place: u64, limit: usize) -> Result<Vec<Stored>, EngineError> {
        self.all(
            "entry WHERE session = ?1 AND place >= ?2 ORDER BY place LIMIT ?3",
            params![session, bounded(place), rows_of(limit)],
        )
    }

    fn has_left(&self, session: i64, entry_id: &str) -> Result<bool, EngineError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM entry WHERE session = ?1 AND entry_id = ?2 AND place IS NULL",
            )
            .and_then(|mut query| query.exists(params![session, entry_id]));
        Ok(found.map_err(SqlError)?)
    }

    fn claim(&mut self, session: i64, before: u64) -> Result<(), EngineError> {
        self.execute(
            "UPDATE entry SET ingested = 1
             WHERE session = ?1 AND entry_id = '' AND place < ?2 AND ingested = 0",
            params![session, bounded(before)],
        )
    }

    fn heard(&self, session: i64) -> Result<Heard, EngineError> {
        self.read_heard(session)
    }

    fn put_heard(&mut self, session: i64, heard: &Heard) -> Result<(), EngineError> {
        self.write_heard(session, heard)
    }

    fn last_of_turn(&self, session: i64, from: u64) -> Result<Option<Stored>, EngineError> {
        self.one(
            "entry WHERE session = ?1 AND place >= ?2 AND turn IS NOT NULL
             ORDER BY place DESC LIMIT 1",
            params![session, bounded(from)],
        )
    }

    fn clear(&mut self, session: i64, place: u64) -> Result<(), EngineError> {
        self.execute(
            "UPDATE entry SET place = NULL, chain = NULL WHERE session = ?1 AND place >= ?2",
            params![session, bounded(place)],
        )
    }

    fn put(&mut self, id: i64, (place, chain): (u64, [u8; 32])) -> Result<(), EngineError> {
        self.execute(
            "UPDATE entry SET place = ?2, chain = ?3 WHERE id = ?1",
            params![id, bounded(place), chain],
        )
    }

    fn insert(
        &mut self,
        session: i64,
        message: &Message,
        marks: &Marks,
        (place, chain): (u64, [u8; 32]),
    ) -> Result<(), EngineError> {
        let Marks {
            ingested,
            heartbeat,
            turn,
            hook,
        } = marks;
        let erased = self.stub_for(session, message)?;
        let message = erased.as_ref().unwrap_or(message);
        let payload = message.payload();
        let is_large = payload.len() >= BLOB_BYTES;
        let body = is_large.then(|| self.blob(payload)).transpose()?;
        self.execute(
            "INSERT INTO entry (session, place, chain, entry_id, digest, ingested, heartbeat, turn,
                                generation, raw_seq, synthetic, omitted_bytes, omitted_sha256, body,
                                payload, tokens, hook)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                     ?17)",
            params![
                session,
                bounded(place),
                chain,
                message.entry_id().as_str(),
                message.digest().0,
                ingested,
                heartbeat,
                turn.as_ref().map(|turn| &turn.key),
                turn.as_ref().map(|turn| &turn.generation),
                turn.as_ref().map(|turn| turn.raw_seq),
                message.is_synthetic(),
                message.omitted().map(|omitted| bounded(omitted.bytes)),
                message.omitted().map(|omitted| omitted.sha256),
                body,
                (!is_large).then_some(&payload[..]),
                (self.weigh)(message),
                hook.map(|hook| hook.to_string())
            ],
        )
    }

    fn mark(&mut self, id: i64, marks: &Marks) -> Result<(), EngineError> {
        let Marks {
            ingested,
            heartbeat,
            turn,
            hook,
        } = marks;
        self.execute(
            "UPDATE entry SET ingested = ?2, heartbeat = ?3, turn = ?4, generation = ?5,
                    raw_seq = ?6, hook = ?7
             WHERE id = ?1",
            params![
                id,
                ingested,
                heartbeat,
                turn.as_ref().map(|turn| &turn.key),
                turn.as_ref().map(|turn| &turn.generation),
                turn.as_ref().map(|turn| turn.raw_seq),
                hook.map(|hook| hook.to_string())
            ],
        )
    }
}

impl Tx {
    /// The row of the blob with these bytes, made where there is none yet.
    fn blob(&self, bytes: &[u8]) -> Result<i64, EngineError> {
        let sha256 = digest::sha256(bytes);
        let known = self
            .connection
            .prepare_cached("SELECT id FROM blob WHERE scope = 0 AND sha256 = ?1")
            .and_then(|mut query| query.query_row([sha256], |row| row.get(0)).optional());
        if let Some(known) = known.map_err(SqlError)? {
            return Ok(known);
        }
        self.execute(
            "INSERT INTO blob (sha256, bytes) VALUES (?1, ?2)",
            params![sha256, bytes],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    fn one(
        &self,
        which: &str,
        values: impl rusqlite::Params,
    ) -> Result<Option<Stored>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM {which}");
        let found = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut query| query.query_row(values, stored).optional());
        Ok(found.map_err(SqlError)?)
    }

    fn all(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<Stored>, EngineError> {
        let sql = format!("SELECT {COLUMNS} FROM {which}");
        let read = || -> rusqlite::Result<Vec<Stored>> {
            let mut query = self.connection.prepare_cached(&sql)?;
            query.query_map(values, stored)?.collect()
        };
        Ok(read().map_err(SqlError)?)
    }
}

/// A number of rows as SQLite has it.
fn rows_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
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
            heartbeat: row.get("heartbeat")?,
            turn,
            hook: hook(row, "hook")?,
        },
    })
}

/// What [`read_message`] reads of an entry.
pub const MESSAGE_COLUMNS: &str = "entry_id, synthetic, omitted_bytes, omitted_sha256,
    coalesce(payload, (SELECT bytes FROM blob WHERE blob.id = body)) AS payload";

/// The message of a row with [`MESSAGE_COLUMNS`].
///
/// # Errors
/// What the database says of a damaged row.
pub fn read_message(row: &Row<'_>) -> rusqlite::Result<Message> {
    let bytes = row.get::<_, Option<i64>>("omitted_bytes")?.map(unbounded);
    let sha256: Option<[u8; 32]> = row.get("omitted_sha256")?;
    let omitted = bytes
        .zip(sha256)
        .map(|(bytes, sha256)| Omitted { bytes, sha256 });
    Ok(Message::from_payload(row.get::<_, Vec<u8>>("payload")?)
        .with_entry_id(row.get::<_, String>("entry_id")?)
        .with_synthetic(row.get("synthetic")?)
        .with_omitted(omitted))
}
