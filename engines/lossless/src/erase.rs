//! Erasing: a session, or entries of it, out of everything that was made of them.
//!
//! A summary of what is erased is dropped, and with it what was condensed from it: what survives of
//! its sources stands for itself again, until a compaction writes the rest anew. Plans that showed
//! such a summary go too; the one in force gets a next version without it.

use std::collections::{BTreeMap, HashSet};

use contextwire_engine::{Digest, EngineError, EntryId, EraseSession, ErasedRows};
use contextwire_store::erase::{ErasedEntries, Pieces};
use contextwire_store::{LogRows, Outcome, SessionRow, SqlError, Tx};
use rusqlite::{Connection, OptionalExtension, params};

use crate::node::{NodeId, Sources, SummaryNode};
use crate::plan::{Placed, Plan};
use crate::publish;
use crate::rows::sqlite::Revise;
use crate::rows::{Rows, StoredPlan};

/// Pages that the index of texts is rewritten by at once.
const PAGES: i64 = 2_000;
/// What is noted until the files were searched.
const UNPROVEN: &str = "unproven";

/// What is gone; none where nothing of it was stored.
pub(crate) fn erase(
    tx: &mut Tx,
    asked: &EraseSession,
    pieces: &mut Pieces,
) -> Outcome<Option<Vec<ErasedRows>>> {
    let Some(session) = tx.session(&asked.session)? else {
        return Ok(None);
    };
    let rows = if asked.entry_ids.is_empty() {
        Some(whole(tx, &session, pieces)?)
    } else {
        entries(tx, &session, &asked.entry_ids, pieces)?
    };
    if rows.is_some() {
        note(tx, UNPROVEN)?;
    }
    Ok(rows)
}

fn whole(tx: &mut Tx, session: &SessionRow, pieces: &mut Pieces) -> Outcome<Vec<ErasedRows>> {
    let id = session.id;
    let summaries = nodes(tx, id)?;
    for (_, node) in &summaries {
        add_node(pieces, node);
    }
    for plan in tx.digests_of("SELECT digest FROM plan WHERE session = ?1", [id])? {
        // The plan without summaries is everybody's.
        if plan != Plan::entries().digest() {
            pieces.add_digest(plan);
        }
    }
    let mut rows = vec![gone("summaries", summaries.len() as u64)];
    drop_nodes(tx, summaries.iter().map(|(row, _)| *row))?;
    tx.execute(
        "DELETE FROM plan_item WHERE plan IN (SELECT id FROM plan WHERE session = ?1)",
        [id],
    )?;
    let plans = tx.count("DELETE FROM plan WHERE session = ?1", [id])?;
    rows.push(gone("plans", plans));
    tx.execute(
        "DELETE FROM preparation WHERE spawn_id IN (SELECT spawn_id FROM fork WHERE parent = ?1)",
        [id],
    )?;
    let forks = tx.count("DELETE FROM fork WHERE parent = ?1", [id])?;
    rows.push(gone("what children see of it", forks));
    let pins = tx.count("DELETE FROM pin WHERE session = ?1", [id])?;
    rows.push(gone("pins", pins));
    tx.execute("DELETE FROM debt WHERE session = ?1", [id])?;
    tx.execute("DELETE FROM revision WHERE session = ?1", [id])?;
    let erased = tx.erase_session(id, pieces)?;
    rows.push(unindex(tx, &erased)?);
    rows.extend(erased.rows);
    Ok(rows)
}

fn entries(
    tx: &mut Tx,
    session: &SessionRow,
    ids: &[EntryId],
    pieces: &mut Pieces,
) -> Outcome<Option<Vec<ErasedRows>>> {
    let mut bodies = Pieces::default();
    let erased = tx.erase_entries(session.id, ids, &mut bodies)?;
    if erased.ids.is_empty() {
        return Ok(None);
    }
    let mut rows = vec![unindex(tx, &erased)?];
    rows.extend(drop_summaries(tx, session, &bodies, pieces)?);
    pieces.extend(bodies);
    for id in ids {
        tx.execute(
            "DELETE FROM pin WHERE session = ?1 AND entry_id = ?2",
            params![session.id, id.as_str()],
        )?;
    }
    tx.revise(session.id)?;
    rows.extend(erased.rows);
    Ok(Some(rows))
}

/// Drops every summary that was made of these bodies, however deep, and the plans that showed one.
fn drop_summaries(
    tx: &mut Tx,
    session: &SessionRow,
    bodies: &Pieces,
    pieces: &mut Pieces,
) -> Outcome<Vec<ErasedRows>> {
    let known = tx.plan(session.id)?;
    let all = nodes(tx, session.id)?;
    let tainted = tainted(&all, bodies);
    if tainted.is_empty() {
        return Ok(Vec::new());
    }
    let next = match &known {
        Some(known) => without(session, known, &all, &tainted)?,
        None => None,
    };
    let plans = drop_plans(tx, session.id, &tainted, pieces)?;
    let of_them = all
        .iter()
        .filter(|(_, node)| tainted.contains(&node.id().0));
    let mut dropped = Vec::new();
    for (row, node) in of_them {
        add_node(pieces, node);
        dropped.push(*row);
    }
    drop_nodes(tx, dropped.iter().copied())?;
    let rederived = u64::from(next.is_some());
    if let Some(plan) = next {
        let plan = publish::stored(tx, session, &plan, known.as_ref())?;
        tx.put_plan(session.id, &plan)?;
        tx.put_debt(
            session.id,
            Some("summaries were erased with what they were made of"),
        )?;
    }
    Ok(vec![
        gone("summaries", dropped.len() as u64),
        ErasedRows {
            rederived,
            ..gone("plans", plans)
        },
    ])
}

/// The summaries of bodies, and those that were condensed from one of them.
fn tainted(all: &[(i64, SummaryNode)], bodies: &Pieces) -> HashSet<Digest> {
    let mut tainted: HashSet<Digest> = HashSet::new();
    let mut by_depth: Vec<&SummaryNode> = all.iter().map(|(_, node)| node).collect();
    by_depth.sort_by_key(|node| node.depth());
    for node in by_depth {
        let is_tainted = match &node.parts().sources {
            Sources::Entries(digests) => digests.iter().any(|digest| bodies.has(*digest)),
            Sources::Nodes(ids) => ids.iter().any(|id| tainted.contains(&id.0)),
        };
        if is_tainted {
            tainted.insert(node.id().0);
        }
    }
    tainted
}

/// The next version of a plan without these summaries; none where it shows none of them.
fn without(
    session: &SessionRow,
    known: &StoredPlan,
    all: &[(i64, SummaryNode)],
    tainted: &HashSet<Digest>,
) -> Outcome<Option<Plan>> {
    let by_id: BTreeMap<[u8; 32], &SummaryNode> =
        all.iter().map(|(_, node)| (node.id().0.0, node)).collect();
    let is_tainted = |placed: &Placed| tainted.contains(&placed.id.0);
    if !known.plan.summaries().iter().any(is_tainted) {
        return Ok(None);
    }
    let mut kept = Vec::new();
    let mut open: Vec<Placed> = known.plan.summaries().iter().rev().copied().collect();
    while let Some(placed) = open.pop() {
        if !is_tainted(&placed) {
            kept.push(placed);
            continue;
        }
        let node = by_id.get(&placed.id.0.0);
        if let Some(Sources::Nodes(sources)) = node.map(|node| &node.parts().sources) {
            let below = sources.iter().rev().filter_map(|id| by_id.get(&id.0.0));
            open.extend(below.map(|node| Placed::from(*node)));
        }
    }
    kept.retain(|placed| placed.span.end <= session.total.count);
    let plan = Plan::stored(known.plan.version() + 1, kept);
    plan.map(Some).map_err(publish::damaged)
}

fn drop_plans(
    tx: &Tx,
    session: i64,
    tainted: &HashSet<Digest>,
    pieces: &mut Pieces,
) -> Outcome<u64> {
    type Shown = (i64, [u8; 32], [u8; 32]);
    let read = || -> rusqlite::Result<Vec<Shown>> {
        let mut query = tx.connection().prepare_cached(
            "SELECT plan.id, plan.digest, plan_item.node FROM plan
             JOIN plan_item ON plan_item.plan = plan.id WHERE session = ?1",
        )?;
        let rows = query.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    let mut gone: BTreeMap<i64, [u8; 32]> = BTreeMap::new();
    for (plan, digest, node) in read().map_err(SqlError)? {
        if tainted.contains(&Digest(node)) {
            gone.insert(plan, digest);
        }
    }
    for (plan, digest) in &gone {
        pieces.add_digest(Digest(*digest));
        tx.execute("DELETE FROM plan_item WHERE plan = ?1", [plan])?;
        tx.execute("DELETE FROM plan WHERE id = ?1", [plan])?;
    }
    Ok(gone.len() as u64)
}

/// Every summary of a session, with the number of its row.
fn nodes(tx: &Tx, session: i64) -> Outcome<Vec<(i64, SummaryNode)>> {
    let read = || -> rusqlite::Result<Vec<(i64, [u8; 32])>> {
        let mut query = tx
            .connection()
            .prepare_cached("SELECT id, node FROM summary WHERE session = ?1 ORDER BY id")?;
        let rows = query.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    let mut nodes = Vec::new();
    for (row, id) in read().map_err(SqlError)? {
        if let Some(node) = tx.node(session, NodeId(Digest(id)))? {
            nodes.push((row, node));
        }
    }
    Ok(nodes)
}

fn add_node(pieces: &mut Pieces, node: &SummaryNode) {
    pieces.add_digest(node.id().0);
    pieces.add_text(node.text().as_bytes());
}

fn drop_nodes(tx: &Tx, rows: impl IntoIterator<Item = i64>) -> Outcome<()> {
    for row in rows {
        tx.execute("DELETE FROM summary_source WHERE summary = ?1", [row])?;
        tx.execute("DELETE FROM summary WHERE id = ?1", [row])?;
    }
    Ok(())
}

/// Takes bodies out of the index of texts. Numbers that are free may be given again: the index does
/// not count them as done.
fn unindex(tx: &Tx, erased: &ErasedEntries) -> Outcome<ErasedRows> {
    let mut removed = 0;
    for id in &erased.ids {
        removed += tx.count("DELETE FROM entry_text WHERE rowid = ?1", [id])?;
    }
    tx.execute(
        "UPDATE progress SET entry = min(entry, (SELECT coalesce(max(id), 0) FROM entry))
         WHERE name = 'indexed'",
        (),
    )?;
    Ok(gone("texts in the index", removed))
}

fn gone(what: &str, removed: u64) -> ErasedRows {
    ErasedRows {
        what: what.to_owned(),
        removed,
        rederived: 0,
    }
}

/// Rewrites the index of texts without what was taken out of it: until then its words are there.
pub(crate) fn tidy_index(connection: &Connection) -> rusqlite::Result<()> {
    let changes = || connection.query_row("SELECT total_changes()", (), |row| row.get::<_, i64>(0));
    let mut pages = -PAGES;
    loop {
        let before = changes()?;
        connection.execute(
            "INSERT INTO entry_text (entry_text, rank) VALUES ('merge', ?1)",
            [pages],
        )?;
        // The first step begins a merge of everything, later ones go on with it.
        if pages > 0 && changes()? - before < 2 {
            return Ok(());
        }
        pages = PAGES;
    }
}

fn note(tx: &Tx, name: &str) -> Outcome<()> {
    tx.execute(
        "INSERT OR REPLACE INTO progress (name, entry) VALUES (?1, 1)",
        [name],
    )
}

fn is_noted(tx: &Tx, name: &str) -> Outcome<bool> {
    let found = tx
        .connection()
        .prepare_cached("SELECT 1 FROM progress WHERE name = ?1")
        .and_then(|mut query| query.query_row([name], |_| Ok(())).optional());
    Ok(found.map_err(SqlError)?.is_some())
}

/// Whether an erasure ended before the files were searched.
pub(crate) fn is_unproven(tx: &Tx) -> Outcome<bool> {
    is_noted(tx, UNPROVEN)
}

/// Whether an older release wrote the file, so that old text may be in pages that are free.
pub(crate) fn needs_rewriting(tx: &Tx) -> Outcome<bool> {
    is_noted(tx, "rewrite")
}

/// Says that the files were searched and nothing was found.
pub(crate) fn proven(tx: &mut Tx, is_rewritten: bool) -> Result<(), EngineError> {
    tx.execute("DELETE FROM progress WHERE name = ?1", [UNPROVEN])?;
    if is_rewritten {
        tx.execute("DELETE FROM progress WHERE name = 'rewrite'", ())?;
    }
    Ok(())
}
