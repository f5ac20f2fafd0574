//! A session as a compaction reads it: outlines of all entries that may have to be summarised, and the
//! bodies of one summary at a time.

use std::sync::Arc;

use contextwire_engine::{EngineError, Message, SessionId, TranscriptState};
use contextwire_store::{Outcome, Store};

use super::LosslessEngine;
use super::held::{Held, below};
use crate::compaction::{Bodies, SinkError, Stored};
use crate::entry::{Entry, Log as _};
use crate::node::{NodeId, NodeState, SummaryNode};
use crate::plan::FrontierItem;
use crate::rows::Rows;
use crate::span::Span;

/// Entries that are read in one go, so that nobody else's read waits long.
const CHUNK: u64 = 512;
/// Bytes of their payloads, of which only outlines stay.
const CHUNK_BYTES: usize = 8 * 1024 * 1024;
/// How often a session that goes on meanwhile is read again.
const LOOKS: usize = 3;

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    /// A copy of the session with an outline of every entry that may have to be summarised.
    pub(super) async fn outlined(&self, name: &SessionId) -> Result<Held, EngineError> {
        let mut held = Held::default();
        for _ in 0..LOOKS {
            self.refresh(name, &mut held).await?;
            self.add_sources(&mut held).await?;
            if self.add_outlines(&mut held).await? {
                break;
            }
        }
        Ok(held)
    }

    /// Reads what is missing. False where the log is another one by now.
    async fn add_outlines(&self, held: &mut Held) -> Result<bool, EngineError> {
        let Some(session) = held.session else {
            return Ok(true);
        };
        let total = held.total;
        for span in wanted(held) {
            let mut rest = span;
            while !rest.is_empty() {
                let chunk = Span::new(rest.start, rest.end.min(rest.start + CHUNK));
                let read = move |rows: &S::Rows| outlines(rows, session, total, chunk);
                let Some(outlines) = self.hooks.store().read(read).await? else {
                    return Ok(false);
                };
                let last = outlines.last().map(|(place, _)| place + 1);
                rest.start = last.unwrap_or(chunk.end);
                held.log.outline(outlines);
            }
        }
        Ok(true)
    }

    /// What the summaries of the plan were condensed from.
    async fn add_sources(&self, held: &mut Held) -> Result<(), EngineError> {
        let Some(session) = held.session else {
            return Ok(());
        };
        let top: Vec<Arc<SummaryNode>> = held.nodes.values().cloned().collect();
        let read = self
            .hooks
            .store()
            .read(move |rows| below(rows, session, &top));
        let found = read.await?.into_iter();
        held.nodes.extend(found.map(|node| (node.id(), node)));
        Ok(())
    }
}

/// The spans without outlines that are not summarised, or whose summary is provisional.
fn wanted(held: &Held) -> Vec<Span> {
    let is_wanted = |id: &NodeId| {
        let node = held.nodes.get(id);
        node.is_some_and(|node| node.state() == NodeState::Repair)
    };
    let frontier = held.plan.frontier(held.log.end()).into_iter();
    let spans = frontier.filter_map(|item| match item {
        FrontierItem::Entries(span) => Some(span),
        FrontierItem::Summary(placed) => is_wanted(&placed.id).then_some(placed.span),
    });
    spans.flat_map(|span| held.log.missing_in(span)).collect()
}

/// Outlines of the first entries of a span; none where the log is another one.
fn outlines(
    rows: &impl Rows,
    session: i64,
    total: TranscriptState,
    span: Span,
) -> Outcome<Option<Vec<(u64, Entry)>>> {
    let last = total.count.saturating_sub(1);
    if rows.chain_at(session, last)? != total.chain {
        return Ok(None);
    }
    let messages = rows.messages_within(session, span, CHUNK_BYTES)?;
    let outline = |(place, message): &(u64, Message)| (*place, Entry::outline(message));
    Ok(Some(messages.iter().map(outline).collect()))
}

/// The bodies of one session, from the store.
pub(super) struct StoreBodies<'a, S> {
    pub(super) store: &'a S,
    pub(super) session: Option<i64>,
}

impl<S: Store<Rows: Rows>> Bodies for StoreBodies<'_, S> {
    fn read(&self, span: Span) -> Stored<'_, Vec<(u64, Arc<Entry>)>> {
        let session = self.session;
        let read = self.store.read(move |rows| match session {
            Some(session) => rows.messages(session, span),
            None => Ok(Vec::new()),
        });
        Box::pin(async move {
            let messages = read.await;
            let messages = messages.map_err(|error| SinkError::Unavailable(error.into()))?;
            let entry = |(place, message)| (place, Arc::new(Entry::new(message)));
            Ok(messages.into_iter().map(entry).collect())
        })
    }
}
