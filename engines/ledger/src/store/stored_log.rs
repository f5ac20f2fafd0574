//! A whole log as an auditor reads it: what each entry is, without bodies.

use contextwire_engine::{Digest, EngineError, EntryId, SessionId, StoredEntry, StoredLog};
use rusqlite::Row;

use super::Tx;
use crate::error::StoreError;

impl Tx<'_> {
    /// The log of a session; `None` where it is not stored.
    pub(crate) fn stored_log(&self, session: &SessionId) -> Result<Option<StoredLog>, EngineError> {
        let Some(row) = self.session(session)? else {
            return Ok(None);
        };
        let entries = || -> rusqlite::Result<Vec<StoredEntry>> {
            let mut query = self.connection.prepare_cached(
                "SELECT entry_id, digest, turn FROM entry
                 WHERE session = ?1 AND place IS NOT NULL ORDER BY place",
            )?;
            query.query_map([row.id], stored_entry)?.collect()
        };
        Ok(Some(StoredLog {
            entries: entries().map_err(StoreError)?,
            placed: row.placed,
            total: row.total,
        }))
    }
}

fn stored_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        entry_id: EntryId::from(row.get::<_, String>("entry_id")?),
        digest: Digest(row.get("digest")?),
        turn: row.get("turn")?,
    })
}
