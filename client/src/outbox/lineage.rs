//! Native entry ids and the ids that engines know entries by, where the two differ (R2.3).

use std::collections::HashMap;

use contextwire_engine::{EntryId, SessionId};
use rusqlite::params;

use super::Outbox;
use super::error::OutboxError;
use crate::store::{AnyStore, NativeId, TranscriptStore};

/// The map of one session.
#[derive(Clone, Debug)]
pub struct SessionLineage {
    outbox: Outbox,
    session: SessionId,
}

impl Outbox {
    /// The map of a session.
    pub fn lineage(&self, session: SessionId) -> SessionLineage {
        SessionLineage {
            outbox: self.clone(),
            session,
        }
    }
}

impl SessionLineage {
    /// Writes pairs down; on the disk when this returns. A native id never changes its lineage: what is
    /// there stays.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn record(&self, pairs: Vec<(NativeId, EntryId)>) -> Result<(), OutboxError> {
        let differ = |(native, lineage): &(NativeId, EntryId)| native.as_str() != lineage.as_str();
        let pairs: Vec<_> = pairs.into_iter().filter(differ).collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let session = self.session.clone();
        self.outbox
            .write(move |db| {
                let mut insert = db.prepare_cached(
                    "INSERT OR IGNORE INTO lineage (session, native, lineage) VALUES (?1, ?2, ?3)",
                )?;
                for (native, lineage) in &pairs {
                    insert.execute(params![session.as_str(), native.as_str(), lineage.as_str()])?;
                }
                Ok(())
            })
            .await
    }

    /// Writes down what differs on the active branch of a store.
    ///
    /// # Errors
    /// As [`SessionLineage::record`], and the store's own as [`OutboxError::Unreadable`].
    pub async fn record_store(&self, store: &AnyStore) -> Result<(), OutboxError> {
        let entries = store.entries().await;
        let entries = entries.map_err(|error| OutboxError::Unreadable(error.to_string()))?;
        let pairs = entries
            .iter()
            .map(|entry| (entry.id().clone(), entry.entry_id().clone()));
        self.record(pairs.collect()).await
    }

    /// The whole map; an entry that is not in it has its own id as lineage.
    ///
    /// # Errors
    /// [`OutboxError::Database`].
    pub async fn map(&self) -> Result<HashMap<String, EntryId>, OutboxError> {
        let session = self.session.clone();
        self.outbox
            .write(move |db| {
                let sql = "SELECT native, lineage FROM lineage WHERE session = ?1";
                let mut statement = db.prepare_cached(sql)?;
                let rows = statement.query_map([session.as_str()], |row| {
                    let lineage: String = row.get(1)?;
                    Ok((row.get::<_, String>(0)?, EntryId::from(lineage)))
                })?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await
    }
}
