//! Summaries as rows.

use contextwire_engine::Digest;
use contextwire_store::{Outcome, SqlError, Tx, bounded, unbounded};
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Params, Row, params};

use crate::node::{NodeId, NodeKind, NodeParts, NodeState, Provenance, Sources, SummaryNode};
use crate::span::Span;

const COLUMNS: &str = "id, node, kind, depth, span_start, span_end, state, text, source_tokens,
    first_ms, last_ms, provenance, summarizer, model, prompt_version, instructions";

/// The first summary of a `WHERE` clause of ours.
pub(super) fn read(tx: &Tx, which: &str, values: impl Params) -> Outcome<Option<SummaryNode>> {
    let sql = format!("SELECT {COLUMNS} FROM summary WHERE {which} LIMIT 1");
    let found = tx
        .connection()
        .prepare_cached(&sql)
        .and_then(|mut query| query.query_row(values, |row| node(tx, row)).optional());
    Ok(found.map_err(SqlError)?)
}

fn node(tx: &Tx, row: &Row<'_>) -> rusqlite::Result<SummaryNode> {
    let sources = sources(tx, row.get("id")?)?;
    let kind: String = row.get("kind")?;
    let times: Option<i64> = row.get("first_ms")?;
    let provenance = match row.get::<_, String>("provenance")?.as_str() {
        "model" => Provenance::Model {
            summarizer: row.get("summarizer")?,
            model: row.get("model")?,
            prompt_version: row.get("prompt_version")?,
            instructions: row.get("instructions")?,
        },
        "extract" => Provenance::Extract,
        "provisional" => Provenance::Provisional,
        _ => return Err(unknown("provenance")),
    };
    let parts = NodeParts {
        depth: row.get("depth")?,
        span: Span::new(
            unbounded(row.get("span_start")?),
            unbounded(row.get("span_end")?),
        ),
        sources: match kind.as_str() {
            "leaf" => Sources::Entries(sources),
            "condensed" => Sources::Nodes(sources.into_iter().map(NodeId).collect()),
            _ => return Err(unknown("kind")),
        },
        text: row.get("text")?,
        source_tokens: unbounded(row.get("source_tokens")?),
        times: times.zip(row.get("last_ms")?),
        provenance,
    };
    let state = state(&row.get::<_, String>("state")?)?;
    Ok(SummaryNode::stored(
        NodeId(Digest(row.get("node")?)),
        parts,
        state,
    ))
}

fn sources(tx: &Tx, summary: i64) -> rusqlite::Result<Vec<Digest>> {
    let mut query = tx
        .connection()
        .prepare_cached("SELECT source FROM summary_source WHERE summary = ?1 ORDER BY ordinal")?;
    let sources = query.query_map([summary], |row| Ok(Digest(row.get(0)?)))?;
    sources.collect()
}

pub(super) fn write(tx: &Tx, session: i64, node: &SummaryNode) -> Outcome<()> {
    let parts = node.parts();
    let (summarizer, model, prompt_version, instructions) = match &parts.provenance {
        Provenance::Model {
            summarizer,
            model,
            prompt_version,
            instructions,
        } => (
            Some(summarizer),
            model.as_ref(),
            Some(*prompt_version),
            instructions.as_ref(),
        ),
        Provenance::Extract | Provenance::Provisional => (None, None, None, None),
    };
    let kind = match node.kind() {
        NodeKind::Leaf => "leaf",
        NodeKind::Condensed => "condensed",
    };
    tx.execute(
        "INSERT INTO summary (session, node, work, kind, depth, span_start, span_end, state, text,
                              source_tokens, first_ms, last_ms, provenance, summarizer, model,
                              prompt_version, instructions)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            session,
            node.id().0.0,
            node.source_key().0,
            kind,
            parts.depth,
            bounded(parts.span.start),
            bounded(parts.span.end),
            node.state().name(),
            parts.text,
            bounded(parts.source_tokens),
            parts.times.map(|(first, _)| first),
            parts.times.map(|(_, last)| last),
            parts.provenance.name(),
            summarizer,
            model,
            prompt_version,
            instructions
        ],
    )?;
    let id = tx.connection().last_insert_rowid();
    let sources: Vec<[u8; 32]> = match &parts.sources {
        Sources::Entries(digests) => digests.iter().map(|digest| digest.0).collect(),
        Sources::Nodes(nodes) => nodes.iter().map(|node| node.0.0).collect(),
    };
    for (ordinal, source) in (0i64..).zip(sources) {
        tx.execute(
            "INSERT INTO summary_source (summary, ordinal, source) VALUES (?1, ?2, ?3)",
            params![id, ordinal, source],
        )?;
    }
    Ok(())
}

fn state(name: &str) -> rusqlite::Result<NodeState> {
    [
        NodeState::Sound,
        NodeState::Repair,
        NodeState::Replaced,
        NodeState::Erased,
    ]
    .into_iter()
    .find(|state| state.name() == name)
    .ok_or_else(|| unknown("state"))
}

fn unknown(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("unknown {what}").into())
}
