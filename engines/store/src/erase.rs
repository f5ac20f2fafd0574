//! Erasing: bodies and records out of the tables, and a search of the files for what is left.
//!
//! Nothing else deletes a body. Writers overwrite what they free, so that what is deleted is not in
//! the file any more once the database's log is emptied into it.

mod pieces;
mod scrub;

use contextwire_engine::{Digest, EngineError, EntryId, ErasedRows, Message};
use rusqlite::{Row, params, params_from_iter};

use crate::error::SqlError;
use crate::tx::{MESSAGE_COLUMNS, Tx, read_message};

pub use pieces::Pieces;
pub use scrub::Scrubbed;

/// What an erasure took out of the log's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedEntries {
    /// Numbers of the bodies, for what an engine keeps about each.
    pub ids: Vec<i64>,
    /// Places of the log whose bodies are gone, in order.
    pub places: Vec<u64>,
    /// How many rows of each kind.
    pub rows: Vec<ErasedRows>,
}

struct Body {
    id: i64,
    place: Option<i64>,
    blob: Option<i64>,
    message: Message,
}

/// What stands where a body was: whose it was, and that it is gone.
fn stub(erased: &Message) -> Message {
    let role = plain(erased.role());
    let payload = format!(r#"{{"role":"{role}","content":"[erased]"}}"#);
    Message::from_payload(payload).with_entry_id(erased.entry_id().clone())
}

/// A role as it may stand in JSON: hosts invent roles, and none of them needs a quote.
fn plain(role: &str) -> String {
    let is_plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    role.chars().filter(is_plain).collect()
}

impl Tx {
    /// Whether the host may not have this entry stored again.
    ///
    /// # Errors
    /// The store's.
    pub fn is_erased(&self, session: i64, entry_id: &str) -> Result<bool, EngineError> {
        let found = self
            .connection()
            .prepare_cached("SELECT 1 FROM erased WHERE session = ?1 AND entry_id = ?2")
            .and_then(|mut query| query.exists(params![session, entry_id]));
        Ok(found.map_err(SqlError)?)
    }

    /// What is stored in place of a message whose entry was erased.
    pub(crate) fn stub_for(
        &self,
        session: i64,
        message: &Message,
    ) -> Result<Option<Message>, EngineError> {
        let id = message.entry_id();
        let is_erased = !id.is_empty() && self.is_erased(session, id.as_str())?;
        Ok(is_erased.then(|| stub(message)))
    }

    /// Takes the bodies of entries out of a session, those that left its log too. The log keeps
    /// their places and its states; what the host sends again under their ids is not stored.
    ///
    /// # Errors
    /// The store's.
    pub fn erase_entries(
        &self,
        session: i64,
        entries: &[EntryId],
        pieces: &mut Pieces,
    ) -> Result<ErasedEntries, EngineError> {
        let mut bodies = Vec::new();
        for id in entries {
            if self.is_erased(session, id.as_str())? {
                continue;
            }
            let which = "session = ?1 AND entry_id = ?2";
            bodies.extend(self.bodies(which, params![session, id.as_str()])?);
        }
        for body in &bodies {
            pieces.add_message(&body.message);
            if body.place.is_some() {
                self.put_stub(body)?;
            } else {
                self.execute("DELETE FROM entry WHERE id = ?1", [body.id])?;
            }
            self.execute(
                "INSERT OR IGNORE INTO erased (session, entry_id) VALUES (?1, ?2)",
                params![session, body.message.entry_id().as_str()],
            )?;
        }
        self.erased(&bodies)
    }

    /// Takes a whole session out of the log's tables. What an engine's own tables hold of it has to
    /// be gone before.
    ///
    /// # Errors
    /// The store's.
    pub fn erase_session(
        &self,
        session: i64,
        pieces: &mut Pieces,
    ) -> Result<ErasedEntries, EngineError> {
        let bodies = self.bodies("session = ?1", [session])?;
        for body in &bodies {
            pieces.add_message(&body.message);
        }
        self.count("DELETE FROM entry WHERE session = ?1", [session])?;
        let mut erased = self.erased(&bodies)?;
        let keys = self.count("DELETE FROM key WHERE session = ?1", [session])?;
        self.execute("DELETE FROM erased WHERE session = ?1", [session])?;
        self.execute("DELETE FROM session WHERE id = ?1", [session])?;
        erased.rows.push(ErasedRows {
            what: "records of calls".to_owned(),
            removed: keys,
            rederived: 0,
        });
        Ok(erased)
    }

    fn bodies(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<Body>, EngineError> {
        let sql = format!(
            "SELECT id, place, body AS blob, {MESSAGE_COLUMNS} FROM entry WHERE {which} ORDER BY id"
        );
        let read = || -> rusqlite::Result<Vec<Body>> {
            let mut query = self.connection().prepare_cached(&sql)?;
            query.query_map(values, body)?.collect()
        };
        Ok(read().map_err(SqlError)?)
    }

    fn put_stub(&self, body: &Body) -> Result<(), EngineError> {
        let stub = stub(&body.message);
        self.execute(
            "UPDATE entry SET digest = ?2, payload = ?3, body = NULL, tokens = ?4,
                    omitted_bytes = NULL, omitted_sha256 = NULL
             WHERE id = ?1",
            params![
                body.id,
                stub.digest().0,
                &stub.payload()[..],
                self.weighed(&stub)
            ],
        )
    }

    fn erased(&self, bodies: &[Body]) -> Result<ErasedEntries, EngineError> {
        let blobs = self.drop_blobs(bodies)?;
        let mut places: Vec<u64> = bodies
            .iter()
            .filter_map(|body| body.place.map(crate::tx::unbounded))
            .collect();
        places.sort_unstable();
        let rows = [("bodies", bodies.len() as u64), ("large payloads", blobs)];
        Ok(ErasedEntries {
            ids: bodies.iter().map(|body| body.id).collect(),
            places,
            rows: rows
                .into_iter()
                .map(|(what, removed)| ErasedRows {
                    what: what.to_owned(),
                    removed,
                    rederived: 0,
                })
                .collect(),
        })
    }

    /// Payloads that no entry has any more; others are stored once for several.
    fn drop_blobs(&self, bodies: &[Body]) -> Result<u64, EngineError> {
        let mut blobs: Vec<i64> = bodies.iter().filter_map(|body| body.blob).collect();
        blobs.sort_unstable();
        blobs.dedup();
        if blobs.is_empty() {
            return Ok(0);
        }
        let used = || -> rusqlite::Result<std::collections::HashSet<i64>> {
            let mut query = self
                .connection()
                .prepare_cached("SELECT body FROM entry WHERE body IS NOT NULL")?;
            query.query_map((), |row| row.get(0))?.collect()
        };
        let used = used().map_err(SqlError)?;
        blobs.retain(|blob| !used.contains(blob));
        for blob in &blobs {
            self.execute("DELETE FROM blob WHERE id = ?1", params_from_iter([blob]))?;
        }
        Ok(blobs.len() as u64)
    }

    /// Runs a statement and says how many rows it changed.
    ///
    /// # Errors
    /// What the database says.
    pub fn count(&self, sql: &str, values: impl rusqlite::Params) -> Result<u64, EngineError> {
        let done = self
            .connection()
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values));
        Ok(done.map_err(SqlError)? as u64)
    }

    /// The digests that a query of ours gives, as pieces to look for.
    ///
    /// # Errors
    /// What the database says.
    pub fn digests_of(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Digest>, EngineError> {
        let read = || -> rusqlite::Result<Vec<Digest>> {
            let mut query = self.connection().prepare_cached(sql)?;
            query
                .query_map(values, |row| Ok(Digest(row.get(0)?)))?
                .collect()
        };
        Ok(read().map_err(SqlError)?)
    }
}

fn body(row: &Row<'_>) -> rusqlite::Result<Body> {
    Ok(Body {
        id: row.get("id")?,
        place: row.get("place")?,
        blob: row.get("blob")?,
        message: read_message(row)?,
    })
}
