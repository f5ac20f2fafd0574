//! Plans as rows.

use contextwire_engine::{Digest, EngineError, ErrorKind};
use contextwire_store::{Outcome, SqlError, Tx, bounded, unbounded};
use rusqlite::{OptionalExtension, Params, params};

use super::StoredPlan;
use crate::node::NodeId;
use crate::plan::{Placed, Plan};
use crate::span::Span;

/// The first plan of a `WHERE` clause of ours.
pub(super) fn read(tx: &Tx, which: &str, values: impl Params) -> Outcome<Option<StoredPlan>> {
    let sql = format!("SELECT id, version, log, chain FROM plan WHERE {which} LIMIT 1");
    let found = tx.connection().prepare_cached(&sql).and_then(|mut query| {
        let row = query.query_row(values, |row| {
            let id: i64 = row.get(0)?;
            let chain: [u8; 32] = row.get(3)?;
            Ok((id, unbounded(row.get(1)?), unbounded(row.get(2)?), chain))
        });
        row.optional()
    });
    let Some((id, version, log, chain)) = found.map_err(SqlError)? else {
        return Ok(None);
    };
    let items = items(tx, id).map_err(SqlError)?;
    let (summaries, contents): (Vec<Placed>, Vec<Digest>) = items.into_iter().unzip();
    let plan = Plan::stored(version, summaries).map_err(|error| {
        EngineError::new(ErrorKind::Failure, "a stored plan is damaged").with_source(error)
    })?;
    Ok(Some(StoredPlan {
        plan,
        log,
        chain,
        contents,
    }))
}

fn items(tx: &Tx, plan: i64) -> rusqlite::Result<Vec<(Placed, Digest)>> {
    let mut query = tx.connection().prepare_cached(
        "SELECT node, span_start, span_end, content FROM plan_item WHERE plan = ?1 ORDER BY ordinal",
    )?;
    let items = query.query_map([plan], |row| {
        let placed = Placed {
            id: NodeId(Digest(row.get(0)?)),
            span: Span::new(unbounded(row.get(1)?), unbounded(row.get(2)?)),
        };
        Ok((placed, Digest(row.get(3)?)))
    })?;
    items.collect()
}

pub(super) fn write(tx: &Tx, session: i64, stored: &StoredPlan) -> Outcome<()> {
    let StoredPlan {
        plan,
        log,
        chain,
        contents,
    } = stored;
    tx.execute(
        "INSERT INTO plan (session, version, digest, log, chain) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            session,
            bounded(plan.version()),
            plan.digest().0,
            bounded(*log),
            chain
        ],
    )?;
    let id = tx.connection().last_insert_rowid();
    let items = plan.summaries().iter().zip(contents);
    for (ordinal, (placed, content)) in (0i64..).zip(items) {
        tx.execute(
            "INSERT INTO plan_item (plan, ordinal, span_start, span_end, node, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                id,
                ordinal,
                bounded(placed.span.start),
                bounded(placed.span.end),
                placed.id.0.0,
                content.0
            ],
        )?;
    }
    Ok(())
}
