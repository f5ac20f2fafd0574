//! The tables as a [`Ledger`]: keys, order, tombstones, preparations.

mod entry;
mod preparation;
mod session;
mod stored_log;

use contextwire_engine::durable::{
    Fingerprint, KeyName, KeyRecord, KeyState, Ledger, Pair, Preparation, UnixMillis,
};
use contextwire_engine::{EngineError, HookId, Message, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::connection::unweighed;
use crate::error::SqlError;
use crate::log::LogRows;
use crate::log::SessionRow;
pub use entry::{MESSAGE_COLUMNS, read_message};

/// The tables, inside a transaction of a [`crate::Writer`] or a [`crate::Reader`].
#[derive(Debug)]
pub struct Tx {
    connection: Connection,
    weigh: fn(&Message) -> Option<u32>,
}

impl Tx {
    pub(crate) fn new(connection: Connection) -> Self {
        Self::weighing(connection, unweighed)
    }

    /// The same for an engine that keeps what its entries cost.
    pub(crate) fn weighing(connection: Connection, weigh: fn(&Message) -> Option<u32>) -> Self {
        Self { connection, weigh }
    }

    /// What a message costs in a prompt, where the engine keeps that.
    pub(crate) fn weighed(&self, message: &Message) -> Option<u32> {
        (self.weigh)(message)
    }

    /// Whether the file has this table; one of an older release, open for reading, may lack it.
    ///
    /// # Errors
    /// What the database says.
    pub fn has_table(&self, name: &str) -> Result<bool, EngineError> {
        let found = self
            .connection
            .prepare_cached("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1")
            .and_then(|mut query| query.exists([name]));
        Ok(found.map_err(SqlError)?)
    }

    /// The connection, for the tables of an engine of its own.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Times and sizes as SQLite has them: whole numbers up to 2^63 - 1.
pub fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The way back from [`bounded`].
pub fn unbounded(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A hook's id in a column; none where the column holds none.
fn hook(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<HookId>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| HookId::parse(&text).ok()))
}

fn millis(number: i64) -> UnixMillis {
    UnixMillis(unbounded(number))
}

impl Ledger for Tx {
    fn key(&self, name: &KeyName) -> Result<Option<KeyRecord>, EngineError> {
        let Some(session) = self.session(&name.session)? else {
            return Ok(None);
        };
        let found = self
            .connection
            .prepare_cached(
                "SELECT fingerprint, holder, until_ms, answer FROM key
                 WHERE key = ?1 AND hook = ?2 AND session = ?3",
            )
            .and_then(|mut query| {
                query
                    .query_row(params![name.key, name.hook.name(), session.id], key_record)
                    .optional()
            });
        Ok(found.map_err(SqlError)?)
    }

    fn put_key(&mut self, name: &KeyName, record: &KeyRecord) -> Result<(), EngineError> {
        let session = self.session_or_new(&name.session)?;
        let (holder, until, answer) = match &record.state {
            KeyState::Running { holder, until } => (Some(holder), Some(bounded(until.0)), None),
            KeyState::Done(answer) => (None, None, Some(answer)),
        };
        self.execute(
            "INSERT INTO key (key, hook, session, fingerprint, holder, until_ms, answer)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET fingerprint = ?4, holder = ?5, until_ms = ?6, answer = ?7",
            params![
                name.key,
                name.hook.name(),
                session.id,
                record.fingerprint.0,
                holder,
                until,
                answer
            ],
        )
    }

    fn remove_key(&mut self, name: &KeyName) -> Result<(), EngineError> {
        let Some(session) = self.session(&name.session)? else {
            return Ok(());
        };
        self.execute(
            "DELETE FROM key WHERE key = ?1 AND hook = ?2 AND session = ?3",
            params![name.key, name.hook.name(), session.id],
        )
    }

    fn highest_pair(&self, session: &SessionId) -> Result<Option<Pair>, EngineError> {
        Ok(self.session(session)?.and_then(|session| session.highest))
    }

    fn put_highest_pair(&mut self, session: &SessionId, pair: Pair) -> Result<(), EngineError> {
        let session = self.session_or_new(session)?;
        self.execute(
            "UPDATE session SET host_epoch = ?2, session_seq = ?3 WHERE id = ?1",
            params![
                session.id,
                pair.host_epoch.cast_signed(),
                pair.session_seq.cast_signed()
            ],
        )
    }

    fn is_closed(&self, hook: HookId) -> Result<bool, EngineError> {
        let found = self
            .connection
            .prepare_cached("SELECT 1 FROM closed WHERE hook = ?1")
            .and_then(|mut query| query.exists([hook.to_string()]));
        Ok(found.map_err(SqlError)?)
    }

    fn close(&mut self, hook: HookId) -> Result<(), EngineError> {
        self.execute(
            "INSERT INTO closed (hook) VALUES (?1) ON CONFLICT DO NOTHING",
            [hook.to_string()],
        )
    }

    fn preparation(&self, spawn_id: &str) -> Result<Option<Preparation>, EngineError> {
        self.one_preparation("spawn_id = ?1", params![spawn_id])
    }

    fn put_preparation(&mut self, preparation: &Preparation) -> Result<(), EngineError> {
        self.write_preparation(preparation)
    }

    fn remove_preparation(&mut self, spawn_id: &str) -> Result<(), EngineError> {
        self.execute("DELETE FROM preparation WHERE spawn_id = ?1", [spawn_id])
    }

    fn open_preparation(
        &self,
        child_session_key: &str,
    ) -> Result<Option<Preparation>, EngineError> {
        self.one_preparation(
            "child_session_key = ?1 AND stage = 'open' ORDER BY prepared_ms DESC, id DESC LIMIT 1",
            params![child_session_key],
        )
    }

    fn due_preparations(&self, now: UnixMillis) -> Result<Vec<Preparation>, EngineError> {
        self.preparations(
            "stage IN ('open', 'tombstone') AND expires_ms <= ?1",
            params![bounded(now.0)],
        )
    }
}

impl Tx {
    fn session_or_new(&mut self, name: &SessionId) -> Result<SessionRow, EngineError> {
        match self.session(name)? {
            Some(known) => Ok(known),
            None => self.add_session(name),
        }
    }

    /// Runs a statement; prepared once a connection.
    ///
    /// # Errors
    /// What the database says.
    pub fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), EngineError> {
        let done = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values));
        done.map_err(SqlError)?;
        Ok(())
    }
}

fn key_record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let state = match row.get::<_, Option<Vec<u8>>>("answer")? {
        Some(answer) => KeyState::Done(answer),
        None => KeyState::Running {
            holder: row.get("holder")?,
            until: millis(row.get("until_ms")?),
        },
    };
    Ok(KeyRecord {
        fingerprint: Fingerprint(row.get("fingerprint")?),
        state,
    })
}
