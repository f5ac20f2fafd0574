//! Compact: the next version of the plan, made beside whatever else goes on.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{Compact, Compacted, EngineError, HookContext, SessionId};
use contextwire_legacy::Summarizer;
use contextwire_store::{Claimed, LogRows as _, Store};
use lru::LruCache;

use super::LosslessEngine;
use super::held::{Held, below};
use super::sink::StoreSink;
use crate::compaction::{Breaker, Compaction, Memory, Outcome, Settings};
use crate::entry::Log;
use crate::node::{NodeId, NodeState, SummaryNode};
use crate::plan::FrontierItem;
use crate::rows::Rows;
use crate::snapshot::Snapshot;
use crate::span::Span;

/// Entries that are read in one go, so that nobody else's read waits long.
const CHUNK: u64 = 512;
/// Sessions whose attempts in vain are remembered.
const MEMORIES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Who writes summaries, how, and what was in vain.
pub(super) struct Compactor {
    summarizer: Arc<dyn Summarizer>,
    settings: Settings,
    breaker: Breaker,
    memories: Mutex<LruCache<SessionId, Memory>>,
}

impl Compactor {
    pub(super) fn new(summarizer: Arc<dyn Summarizer>, settings: Settings) -> Self {
        Self {
            summarizer,
            settings,
            breaker: Breaker::new(),
            memories: Mutex::new(LruCache::new(MEMORIES)),
        }
    }

    fn memory(&self, name: &SessionId) -> Memory {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        memories.get(name).cloned().unwrap_or_default()
    }

    fn remember(&self, name: &SessionId, memory: Memory) {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        memories.put(name.clone(), memory);
    }
}

impl fmt::Debug for Compactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compactor")
            .field("summarizer", &self.summarizer.name())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    pub(super) async fn make_room(
        &self,
        cx: &HookContext,
        request: Compact,
    ) -> Result<Compacted, EngineError> {
        self.hooks.attend(cx).await?;
        let attempt = self.hooks.attempt(cx, &request);
        let claim = match self.hooks.claim(cx, attempt).await? {
            Claimed::Recorded(answer) => return Ok(answer),
            Claimed::Held(claim) => claim,
        };
        let answer = self.compacted(cx, &request).await?;
        claim.settle(cx, |_| Ok(answer)).await
    }

    /// One compaction. No turn waits for it: it reads a copy, and what it makes takes effect in one
    /// short transaction.
    pub(super) async fn compacted(
        &self,
        cx: &HookContext,
        request: &Compact,
    ) -> Result<Compacted, EngineError> {
        let name = &cx.session.id;
        let held = self.whole(name).await?;
        if held.log.end() == 0 {
            return Ok(Compacted {
                ok: true,
                compacted: false,
                reason: Some("nothing is stored of this session".to_owned()),
                result: None,
            });
        }
        let compactor = &self.compactor;
        let sink = StoreSink {
            store: self.hooks.store(),
            cx,
        };
        let compaction = Compaction {
            cx,
            snapshot: Snapshot {
                plan: &held.plan,
                nodes: &held.nodes,
                log: &held.log,
                pins: &held.pins,
            },
            request,
            settings: &compactor.settings,
            summarizer: &*compactor.summarizer,
            breaker: &compactor.breaker,
            sink: &sink,
        };
        let mut memory = compactor.memory(name);
        let outcome = compaction.run(&mut memory).await;
        compactor.remember(name, memory);
        self.note_debt(name, &held, &outcome).await?;
        Ok(outcome.answer())
    }

    /// Notes why there is work left, or that there is none; nobody waits for that.
    async fn note_debt(
        &self,
        name: &SessionId,
        held: &Held,
        outcome: &Outcome,
    ) -> Result<(), EngineError> {
        let Some(session) = held.session else {
            return Ok(());
        };
        let is_provisional = |node: &Arc<SummaryNode>| {
            let stays = outcome.plan.summaries().iter();
            node.state() == NodeState::Repair
                && stays.into_iter().any(|placed| placed.id == node.id())
        };
        let debt = outcome.debt().or_else(|| {
            let waits = held.nodes.values().any(is_provisional);
            waits.then(|| "provisional summaries wait for a model".to_owned())
        });
        let name = name.clone();
        let known = self.hooks.store().read(move |rows| rows.debt(session));
        if known.await? != debt {
            self.hooks.store().submit(move |rows| {
                // The session may have been erased meanwhile.
                match rows.session(&name)? {
                    Some(row) => rows.put_debt(row.id, debt.as_deref()),
                    None => Ok(()),
                }
            });
        }
        Ok(())
    }

    /// A copy of the session with every body that may have to be summarised.
    async fn whole(&self, name: &SessionId) -> Result<Held, EngineError> {
        let mut held = Held::default();
        self.refresh(name, &mut held).await?;
        self.add_sources(&mut held).await?;
        let frontier = held.plan.frontier(held.log.end());
        let is_wanted = |id: &NodeId| {
            let node = held.nodes.get(id);
            node.is_some_and(|node| node.state() == NodeState::Repair)
        };
        let wanted = frontier.into_iter().filter_map(|item| match item {
            FrontierItem::Entries(span) => Some(span),
            FrontierItem::Summary(placed) => is_wanted(&placed.id).then_some(placed.span),
        });
        let chunks: Vec<Span> = wanted.flat_map(chunks).collect();
        for chunk in chunks {
            let missing = held.log.missing_in(chunk);
            self.load(name, &mut held, missing).await?;
        }
        Ok(held)
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

fn chunks(span: Span) -> impl Iterator<Item = Span> {
    let starts = (span.start..span.end).step_by(usize::try_from(CHUNK).unwrap_or(1));
    starts.map(move |start| Span::new(start, (start + CHUNK).min(span.end)))
}
