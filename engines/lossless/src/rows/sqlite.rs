//! The rows in SQLite tables.

use std::collections::BTreeSet;

use contextwire_engine::tokens::ModelFamily;
use contextwire_engine::{Digest, EntryId, Message, SessionId};
use contextwire_store::{MESSAGE_COLUMNS, Outcome, SqlError, Tx, bounded, read_message, unbounded};
use rusqlite::{OptionalExtension, Row, params};

use super::text::text_of;
use super::{Fork, Indexed, Rows, StoredPlan, Weight, node, plan};
use crate::node::{NodeId, NodeState, SummaryNode};
use crate::redact::Redaction;
use crate::span::Span;

const FORK: &str = "spawn_id, child_session_key, parent, log, chain, plan_version";

impl Rows for Tx {
    fn plan(&self, session: i64) -> Outcome<Option<StoredPlan>> {
        plan::read(self, "session = ?1 ORDER BY version DESC", [session])
    }

    fn plan_of_version(&self, session: i64, version: u64) -> Outcome<Option<StoredPlan>> {
        let values = params![session, bounded(version)];
        plan::read(self, "session = ?1 AND version = ?2", values)
    }

    fn plan_at(&self, session: i64, log: u64) -> Outcome<Option<StoredPlan>> {
        let values = params![session, bounded(log)];
        plan::read(
            self,
            "session = ?1 AND log <= ?2 ORDER BY version DESC",
            values,
        )
    }

    fn put_plan(&mut self, session: i64, plan: &StoredPlan) -> Outcome<()> {
        plan::write(self, session, plan)
    }

    fn node(&self, session: i64, id: NodeId) -> Outcome<Option<SummaryNode>> {
        node::read(self, "session = ?1 AND node = ?2", params![session, id.0.0])
    }

    fn put_node(&mut self, session: i64, node: &SummaryNode) -> Outcome<()> {
        if self.node(session, node.id())?.is_some() {
            return Ok(());
        }
        node::write(self, session, node)
    }

    fn set_state(&mut self, session: i64, id: NodeId, state: NodeState) -> Outcome<()> {
        self.execute(
            "UPDATE summary SET state = ?3 WHERE session = ?1 AND node = ?2",
            params![session, id.0.0, state.name()],
        )
    }

    fn node_of_work(&self, session: i64, work: Digest) -> Outcome<Option<SummaryNode>> {
        let which = "session = ?1 AND work = ?2 ORDER BY id DESC";
        node::read(self, which, params![session, work.0])
    }

    fn weights(&self, session: i64, from: u64) -> Outcome<Vec<Weight>> {
        let read = || -> rusqlite::Result<Vec<Weight>> {
            let mut query = self.connection().prepare_cached(
                "SELECT tokens, entry_id, digest FROM entry
                 WHERE session = ?1 AND place >= ?2 ORDER BY place",
            )?;
            query
                .query_map(params![session, bounded(from)], weight)?
                .collect()
        };
        Ok(read().map_err(SqlError)?)
    }

    fn digests(&self, session: i64, span: Span) -> Outcome<Vec<Digest>> {
        let read = || -> rusqlite::Result<Vec<Digest>> {
            let mut query = self.connection().prepare_cached(
                "SELECT digest FROM entry
                 WHERE session = ?1 AND place >= ?2 AND place < ?3 ORDER BY place",
            )?;
            let values = params![session, bounded(span.start), bounded(span.end)];
            let digests = query.query_map(values, |row| Ok(Digest(row.get(0)?)))?;
            digests.collect()
        };
        Ok(read().map_err(SqlError)?)
    }

    fn messages(&self, session: i64, span: Span) -> Outcome<Vec<(u64, Message)>> {
        self.messages_within(session, span, usize::MAX)
    }

    fn messages_within(
        &self,
        session: i64,
        span: Span,
        bytes: usize,
    ) -> Outcome<Vec<(u64, Message)>> {
        let sql = format!(
            "SELECT place, tokens, {MESSAGE_COLUMNS} FROM entry
             WHERE session = ?1 AND place >= ?2 AND place < ?3 ORDER BY place"
        );
        let read = || -> rusqlite::Result<Vec<(u64, Message)>> {
            let mut query = self.connection().prepare_cached(&sql)?;
            let values = params![session, bounded(span.start), bounded(span.end)];
            let (mut messages, mut left) = (Vec::new(), bytes);
            for read in query.query_map(values, counted)? {
                let (place, message) = read?;
                let size = message.payload().len();
                if size > left && !messages.is_empty() {
                    break;
                }
                left = left.saturating_sub(size);
                messages.push((place, message));
            }
            Ok(messages)
        };
        Ok(read().map_err(SqlError)?)
    }

    fn corrections(&self, session: i64) -> Outcome<Vec<(u64, Digest)>> {
        let read = || -> rusqlite::Result<Vec<(u64, Digest)>> {
            let mut query = self.connection().prepare_cached(
                "SELECT DISTINCT now.place, now.digest FROM entry AS old
                 JOIN entry AS now ON now.session = old.session AND now.entry_id = old.entry_id
                 WHERE old.session = ?1 AND old.place IS NULL AND old.entry_id <> ''
                   AND now.place IS NOT NULL ORDER BY now.place",
            )?;
            let rows = query.query_map([session], |row| {
                Ok((unbounded(row.get(0)?), Digest(row.get(1)?)))
            })?;
            rows.collect()
        };
        Ok(read().map_err(SqlError)?)
    }

    fn put_fork(&mut self, fork: &Fork) -> Outcome<()> {
        let Fork {
            spawn_id,
            child_session_key,
            parent,
            log,
            chain,
            plan_version,
        } = fork;
        self.execute(
            "INSERT OR REPLACE INTO fork (spawn_id, child_session_key, parent, log, chain,
                                          plan_version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                spawn_id,
                child_session_key,
                parent,
                bounded(*log),
                chain,
                plan_version.map(bounded)
            ],
        )
    }

    fn fork(&self, child_session_key: &str) -> Outcome<Option<Fork>> {
        let sql = format!(
            "SELECT {FORK} FROM fork JOIN preparation USING (scope, spawn_id, child_session_key)
             WHERE fork.child_session_key = ?1 AND stage IN ('open', 'started')
             ORDER BY prepared_ms DESC, preparation.id DESC LIMIT 1"
        );
        let found = self
            .connection()
            .prepare_cached(&sql)
            .and_then(|mut query| query.query_row([child_session_key], fork).optional());
        Ok(found.map_err(SqlError)?)
    }

    fn drop_forks(&mut self) -> Outcome<()> {
        self.execute(
            "DELETE FROM fork WHERE spawn_id IN (
                 SELECT spawn_id FROM preparation WHERE stage IN ('rolled-back', 'expired')
             )",
            (),
        )
    }

    fn revision(&self, session: i64) -> Outcome<u64> {
        let found = self
            .connection()
            .prepare_cached("SELECT number FROM revision WHERE session = ?1")
            .and_then(|mut query| query.query_row([session], |row| row.get(0)).optional());
        Ok(unbounded(found.map_err(SqlError)?.unwrap_or_default()))
    }

    fn pins(&self, session: i64) -> Outcome<BTreeSet<u64>> {
        if !self.has_table("pin")? {
            return Ok(BTreeSet::new());
        }
        let read = || -> rusqlite::Result<BTreeSet<u64>> {
            let mut query = self.connection().prepare_cached(
                "SELECT place FROM pin JOIN entry USING (session, entry_id)
                 WHERE session = ?1 AND place IS NOT NULL",
            )?;
            let places = query.query_map([session], |row| Ok(unbounded(row.get(0)?)))?;
            places.collect()
        };
        Ok(read().map_err(SqlError)?)
    }

    fn put_pin(&mut self, session: i64, entry: &EntryId, pinned: bool) -> Outcome<()> {
        let sql = if pinned {
            "INSERT OR IGNORE INTO pin (session, entry_id) VALUES (?1, ?2)"
        } else {
            "DELETE FROM pin WHERE session = ?1 AND entry_id = ?2"
        };
        self.execute(sql, params![session, entry.as_str()])?;
        self.revise(session)
    }

    fn debt(&self, session: i64) -> Outcome<Option<String>> {
        if !self.has_table("debt")? {
            return Ok(None);
        }
        let found = self
            .connection()
            .prepare_cached("SELECT reason FROM debt WHERE session = ?1")
            .and_then(|mut query| query.query_row([session], |row| row.get(0)).optional());
        Ok(found.map_err(SqlError)?)
    }

    fn put_debt(&mut self, session: i64, reason: Option<&str>) -> Outcome<()> {
        match reason {
            Some(reason) => self.execute(
                "INSERT OR REPLACE INTO debt (session, reason) VALUES (?1, ?2)",
                params![session, reason],
            ),
            None => self.execute("DELETE FROM debt WHERE session = ?1", [session]),
        }
    }

    fn session_name(&self, session: i64) -> Outcome<Option<SessionId>> {
        let found = self
            .connection()
            .prepare_cached("SELECT name FROM session WHERE id = ?1")
            .and_then(|mut query| {
                let name = query.query_row([session], |row| row.get::<_, String>(0));
                name.optional()
            });
        let name = found.map_err(SqlError)?;
        Ok(name.and_then(|name| SessionId::new(name).ok()))
    }

    fn index(&mut self, limit: u64, redaction: &Redaction) -> Outcome<Indexed> {
        let from = self.last_indexed()?;
        let sql =
            format!("SELECT id, {MESSAGE_COLUMNS} FROM entry WHERE id > ?1 ORDER BY id LIMIT ?2");
        let read = || -> rusqlite::Result<Vec<(i64, Message)>> {
            let mut query = self.connection().prepare_cached(&sql)?;
            let rows = query.query_map(params![from, bounded(limit)], |row| {
                Ok((row.get("id")?, read_message(row)?))
            })?;
            rows.collect()
        };
        let entries = read().map_err(SqlError)?;
        for (id, message) in &entries {
            self.execute(
                "INSERT INTO entry_text (rowid, body) VALUES (?1, ?2)",
                params![id, redaction.masked(&text_of(message))],
            )?;
        }
        if let Some((last, _)) = entries.last() {
            self.execute(
                "INSERT OR REPLACE INTO progress (name, entry) VALUES ('indexed', ?1)",
                [last],
            )?;
        }
        let added = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        Ok(Indexed {
            added,
            ..self.indexed()?
        })
    }

    fn indexed(&self) -> Outcome<Indexed> {
        let from = self.last_indexed()?;
        let behind = self
            .connection()
            .prepare_cached("SELECT coalesce(max(id), 0) - ?1 FROM entry")
            .and_then(|mut query| query.query_row([from], |row| row.get(0)));
        Ok(Indexed {
            added: 0,
            behind: unbounded(behind.map_err(SqlError)?),
        })
    }

    fn find(&self, session: i64, words: &[&str], limit: u64) -> Outcome<Vec<u64>> {
        let quoted = words
            .iter()
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
        let query = quoted.collect::<Vec<_>>().join(" ");
        let read = || -> rusqlite::Result<Vec<u64>> {
            let mut statement = self.connection().prepare_cached(
                "SELECT place FROM entry_text JOIN entry ON entry.id = entry_text.rowid
                 WHERE entry_text MATCH ?1 AND session = ?2 AND place IS NOT NULL
                 ORDER BY place DESC LIMIT ?3",
            )?;
            let places = statement.query_map(params![query, session, bounded(limit)], |row| {
                Ok(unbounded(row.get(0)?))
            })?;
            places.collect()
        };
        if words.is_empty() {
            return Ok(Vec::new());
        }
        Ok(read().map_err(SqlError)?)
    }
}

/// Beside the trait: says that what memory holds of a session is old.
pub(crate) trait Revise {
    fn revise(&self, session: i64) -> Outcome<()>;
}

impl Revise for Tx {
    fn revise(&self, session: i64) -> Outcome<()> {
        self.execute(
            "INSERT INTO revision (session, number) VALUES (?1, 1)
             ON CONFLICT DO UPDATE SET number = number + 1",
            [session],
        )
    }
}

/// Beside the trait: how far the index is, as the number of an entry.
trait LastIndexed {
    fn last_indexed(&self) -> Outcome<i64>;
}

impl LastIndexed for Tx {
    fn last_indexed(&self) -> Outcome<i64> {
        let found = self
            .connection()
            .prepare_cached("SELECT entry FROM progress WHERE name = 'indexed'")
            .and_then(|mut query| query.query_row((), |row| row.get(0)).optional());
        Ok(found.map_err(SqlError)?.unwrap_or_default())
    }
}

fn weight(row: &Row<'_>) -> rusqlite::Result<Weight> {
    Ok(Weight {
        tokens: row.get::<_, Option<u32>>(0)?.unwrap_or_default(),
        entry_id: EntryId::from(row.get::<_, String>(1)?),
        digest: Digest(row.get(2)?),
    })
}

fn counted(row: &Row<'_>) -> rusqlite::Result<(u64, Message)> {
    let message = read_message(row)?;
    let message = match row.get::<_, Option<u32>>("tokens")? {
        Some(tokens) => message.with_cached_tokens(ModelFamily::Other, tokens),
        None => message,
    };
    Ok((unbounded(row.get("place")?), message))
}

fn fork(row: &Row<'_>) -> rusqlite::Result<Fork> {
    Ok(Fork {
        spawn_id: row.get(0)?,
        child_session_key: row.get(1)?,
        parent: row.get(2)?,
        log: unbounded(row.get(3)?),
        chain: row.get(4)?,
        plan_version: row.get::<_, Option<i64>>(5)?.map(unbounded),
    })
}
