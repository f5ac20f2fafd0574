//! Compact: the next version of the plan, made beside whatever else goes on.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{Compact, Compacted, EngineError, HookContext, SessionId};
use contextwire_legacy::Summarizer;
use contextwire_store::{Claimed, LogRows as _, Store};
use lru::LruCache;

use super::LosslessEngine;
use super::bodies::StoreBodies;
use super::held::Held;
use super::sink::StoreSink;
use crate::compaction::{Breaker, Compaction, Memory, Outcome, Settings};
use crate::entry::Log;
use crate::node::{NodeState, SummaryNode};
use crate::redact::Redaction;
use crate::rows::Rows;
use crate::snapshot::Snapshot;

/// Sessions whose attempts in vain are remembered.
const MEMORIES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// Who writes summaries, how, and what was in vain.
pub(super) struct Compactor {
    summarizer: Arc<dyn Summarizer>,
    settings: Settings,
    /// What is masked, in the index as well.
    pub(super) redaction: Arc<Redaction>,
    breaker: Breaker,
    memories: Mutex<LruCache<SessionId, Memory>>,
}

impl Compactor {
    pub(super) fn new(
        summarizer: Arc<dyn Summarizer>,
        settings: Settings,
        redaction: Redaction,
    ) -> Self {
        Self {
            summarizer,
            settings,
            redaction: Arc::new(redaction),
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
        let held = self.outlined(name).await?;
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
        let bodies = StoreBodies {
            store: self.hooks.store(),
            session: held.session,
        };
        let compaction = Compaction {
            cx,
            snapshot: Snapshot {
                plan: &held.plan,
                nodes: &held.nodes,
                log: &held.log,
                pins: &held.pins,
            },
            bodies: &bodies,
            request,
            settings: &compactor.settings,
            summarizer: &*compactor.summarizer,
            redaction: &compactor.redaction,
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
}
