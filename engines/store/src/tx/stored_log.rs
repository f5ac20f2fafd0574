//! A whole log as an auditor reads it: what each entry is, by the body that is stored.

use contextwire_engine::{EngineError, SessionId, StoredEntry, StoredLog};
use rusqlite::Row;

use super::{MESSAGE_COLUMNS, Tx, read_message};
use crate::error::SqlError;
use crate::log::LogRows as _;

impl Tx {
    /// The log of a session; `None` where it is not stored. Reads every body: what an entry is said
    /// to be is what a host would get.
    ///
    /// # Errors
    /// What the database says.
    pub fn stored_log(&self, session: &SessionId) -> Result<Option<StoredLog>, EngineError> {
        let Some(row) = self.session(session)? else {
            return Ok(None);
        };
        let erased = if self.has_table("erased")? {
            "EXISTS (SELECT 1 FROM erased
                     WHERE erased.session = entry.session AND erased.entry_id = entry.entry_id)"
        } else {
            "0"
        };
        let entries = || -> rusqlite::Result<Vec<StoredEntry>> {
            let mut query = self.connection.prepare_cached(&format!(
                "SELECT turn, {erased} AS erased, {MESSAGE_COLUMNS} FROM entry
                 WHERE session = ?1 AND place IS NOT NULL ORDER BY place"
            ))?;
            query.query_map([row.id], stored_entry)?.collect()
        };
        Ok(Some(StoredLog {
            entries: entries().map_err(SqlError)?,
            placed: row.placed,
            total: row.total,
        }))
    }
}

fn stored_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    let message = read_message(row)?;
    Ok(StoredEntry {
        entry_id: message.entry_id().clone(),
        digest: message.digest(),
        turn: row.get("turn")?,
        erased: row.get("erased")?,
    })
}
