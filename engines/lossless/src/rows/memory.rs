//! The rows in memory: a model that the tables are compared with, and a store for tests.

mod base;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use contextwire_engine::durable::{Ledger, Preparation, Stage};
use contextwire_engine::{Digest, EntryId, HookContext, Message, SessionId};
use contextwire_store::log::Stored;
use contextwire_store::{LogRows, MemoryRows, Outcome, Store};

use super::text::text_of;
use super::{Fork, Indexed, Rows, StoredPlan, Weight, weigh};
use crate::node::{NodeId, NodeState, SummaryNode};
use crate::redact::Redaction;
use crate::span::Span;

/// All rows in memory. A clone is an independent copy.
#[derive(Clone, Debug, Default)]
pub struct PlannedRows {
    base: MemoryRows,
    plans: BTreeMap<i64, Vec<StoredPlan>>,
    nodes: BTreeMap<i64, Vec<SummaryNode>>,
    forks: Vec<Fork>,
    pins: BTreeSet<(i64, EntryId)>,
    revisions: BTreeMap<i64, u64>,
    debts: BTreeMap<i64, String>,
    /// What the index masks.
    redaction: Redaction,
    /// How many entries are in the index.
    indexed: usize,
}

/// A store whose transactions are copies. Nothing in it survives the process.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<PlannedRows>);

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn transaction<T>(&self, act: impl FnOnce(&mut PlannedRows) -> Outcome<T>) -> Outcome<T> {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = rows.clone();
        let done = act(&mut draft)?;
        *rows = draft;
        Ok(done)
    }
}

impl Store for MemoryStore {
    type Rows = PlannedRows;

    async fn write<T: Send + 'static>(
        &self,
        cx: &HookContext,
        act: impl FnOnce(&mut PlannedRows) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        cx.check()?;
        self.transaction(act)
    }

    fn submit(&self, act: impl FnOnce(&mut PlannedRows) -> Outcome<()> + Send + 'static) {
        // Nobody waits for it.
        let _done = self.transaction(act).is_ok();
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&PlannedRows) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let rows = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        look(&rows)
    }
}

impl PlannedRows {
    fn last_plan(&self, session: i64, fits: impl Fn(&StoredPlan) -> bool) -> Option<StoredPlan> {
        let mut plans = self.plans.get(&session)?.iter().rev();
        plans.find(|plan| fits(plan)).cloned()
    }

    fn has_child(&self, fork: &Fork) -> Option<Preparation> {
        let known = self.base.preparation(&fork.spawn_id).ok()??;
        let is_alive = matches!(known.stage, Stage::Open | Stage::Started);
        (is_alive && known.child_session_key == fork.child_session_key).then_some(known)
    }
}

impl Rows for PlannedRows {
    fn plan(&self, session: i64) -> Outcome<Option<StoredPlan>> {
        Ok(self.last_plan(session, |_| true))
    }

    fn plan_of_version(&self, session: i64, version: u64) -> Outcome<Option<StoredPlan>> {
        Ok(self.last_plan(session, |plan| plan.plan.version() == version))
    }

    fn plan_at(&self, session: i64, log: u64) -> Outcome<Option<StoredPlan>> {
        Ok(self.last_plan(session, |plan| plan.log <= log))
    }

    fn put_plan(&mut self, session: i64, plan: &StoredPlan) -> Outcome<()> {
        self.plans.entry(session).or_default().push(plan.clone());
        Ok(())
    }

    fn node(&self, session: i64, id: NodeId) -> Outcome<Option<SummaryNode>> {
        let mut nodes = self.nodes.get(&session).into_iter().flatten();
        Ok(nodes.find(|node| node.id() == id).cloned())
    }

    fn put_node(&mut self, session: i64, node: &SummaryNode) -> Outcome<()> {
        let nodes = self.nodes.entry(session).or_default();
        if !nodes.iter().any(|known| known.id() == node.id()) {
            nodes.push(node.clone());
        }
        Ok(())
    }

    fn set_state(&mut self, session: i64, id: NodeId, state: NodeState) -> Outcome<()> {
        let nodes = self.nodes.entry(session).or_default();
        if let Some(node) = nodes.iter_mut().find(|node| node.id() == id) {
            *node = node.clone().in_state(state);
        }
        Ok(())
    }

    fn node_of_work(&self, session: i64, work: Digest) -> Outcome<Option<SummaryNode>> {
        let mut nodes = self.nodes.get(&session).into_iter().flatten().rev();
        Ok(nodes.find(|node| node.source_key() == work).cloned())
    }

    fn weights(&self, session: i64, from: u64) -> Outcome<Vec<Weight>> {
        let log = self.base.log(session).into_iter();
        let rest = log.skip(usize::try_from(from).unwrap_or(usize::MAX));
        let weights = rest.map(|(stored, message)| Weight {
            tokens: weigh(&message),
            entry_id: message.entry_id().clone(),
            digest: stored.digest,
        });
        Ok(weights.collect())
    }

    fn digests(&self, session: i64, span: Span) -> Outcome<Vec<Digest>> {
        let log = (0u64..).zip(self.base.log(session));
        let inside = log.filter(|(place, _)| span.contains(*place));
        Ok(inside.map(|(_, (stored, _))| stored.digest).collect())
    }

    fn messages(&self, session: i64, span: Span) -> Outcome<Vec<(u64, Message)>> {
        let log = (0u64..).zip(self.base.log(session));
        let inside = log.filter(|(place, _)| span.contains(*place));
        Ok(inside
            .map(|(place, (_, message))| (place, message))
            .collect())
    }

    fn messages_within(
        &self,
        session: i64,
        span: Span,
        bytes: usize,
    ) -> Outcome<Vec<(u64, Message)>> {
        let mut left = bytes;
        let mut messages = self.messages(session, span)?;
        let fitting = messages.iter().take_while(|(_, message)| {
            let fits = message.payload().len() <= left;
            left = left.saturating_sub(message.payload().len());
            fits
        });
        let count = fitting.count().max(1);
        messages.truncate(count);
        Ok(messages)
    }

    fn corrections(&self, session: i64) -> Outcome<Vec<(u64, Digest)>> {
        let retired = self.base.history(session);
        let log = (0u64..).zip(self.base.log(session));
        let changed = log.filter(|(_, (stored, _))| {
            !stored.entry_id.is_empty() && retired.iter().any(|old| old.entry_id == stored.entry_id)
        });
        Ok(changed
            .map(|(place, (stored, _))| (place, stored.digest))
            .collect())
    }

    fn put_fork(&mut self, fork: &Fork) -> Outcome<()> {
        self.forks.retain(|known| known.spawn_id != fork.spawn_id);
        self.forks.push(fork.clone());
        Ok(())
    }

    fn fork(&self, child_session_key: &str) -> Outcome<Option<Fork>> {
        let forks = self.forks.iter();
        let mine = forks.filter(|fork| fork.child_session_key == child_session_key);
        let alive = mine.filter_map(|fork| Some((self.has_child(fork)?.prepared_at, fork)));
        Ok(alive
            .max_by_key(|(prepared_at, _)| *prepared_at)
            .map(|(_, fork)| fork.clone()))
    }

    fn drop_forks(&mut self) -> Outcome<()> {
        let gone = |fork: &Fork| {
            let known = self.base.preparation(&fork.spawn_id).ok().flatten();
            known.is_some_and(|known| matches!(known.stage, Stage::RolledBack | Stage::Expired))
        };
        let kept: Vec<Fork> = self
            .forks
            .iter()
            .filter(|fork| !gone(fork))
            .cloned()
            .collect();
        self.forks = kept;
        Ok(())
    }

    fn revision(&self, session: i64) -> Outcome<u64> {
        Ok(self.revisions.get(&session).copied().unwrap_or_default())
    }

    fn pins(&self, session: i64) -> Outcome<BTreeSet<u64>> {
        let log = (0u64..).zip(self.base.log(session));
        let is_pinned = |message: &Message| {
            let id = message.entry_id().clone();
            self.pins.contains(&(session, id))
        };
        let pinned = log.filter(|(_, (_, message))| is_pinned(message));
        Ok(pinned.map(|(place, _)| place).collect())
    }

    fn put_pin(&mut self, session: i64, entry: &EntryId, pinned: bool) -> Outcome<()> {
        let pin = (session, entry.clone());
        if pinned {
            self.pins.insert(pin);
        } else {
            self.pins.remove(&pin);
        }
        *self.revisions.entry(session).or_default() += 1;
        Ok(())
    }

    fn debt(&self, session: i64) -> Outcome<Option<String>> {
        Ok(self.debts.get(&session).cloned())
    }

    fn put_debt(&mut self, session: i64, reason: Option<&str>) -> Outcome<()> {
        match reason {
            Some(reason) => self.debts.insert(session, reason.to_owned()),
            None => self.debts.remove(&session),
        };
        Ok(())
    }

    fn session_name(&self, session: i64) -> Outcome<Option<SessionId>> {
        let mut names = self.base.sessions().into_iter();
        Ok(names.find(|name| {
            let row = self.base.session(name).ok().flatten();
            row.is_some_and(|row| row.id == session)
        }))
    }

    fn index(&mut self, limit: u64, redaction: &Redaction) -> Outcome<Indexed> {
        self.redaction = redaction.clone();
        let before = self.indexed;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.indexed = before.saturating_add(limit).min(self.base.len());
        Ok(Indexed {
            added: (self.indexed - before) as u64,
            ..self.indexed()?
        })
    }

    fn indexed(&self) -> Outcome<Indexed> {
        Ok(Indexed {
            added: 0,
            behind: (self.base.len() - self.indexed) as u64,
        })
    }

    fn find(&self, session: i64, words: &[&str], limit: u64) -> Outcome<Vec<u64>> {
        let is_indexed =
            |stored: &Stored| usize::try_from(stored.id).is_ok_and(|number| number < self.indexed);
        let has_words = |message: &Message| {
            let text = self.redaction.masked(&text_of(message)).to_lowercase();
            let own: Vec<&str> = text
                .split(|letter: char| !letter.is_alphanumeric())
                .collect();
            words
                .iter()
                .all(|word| own.contains(&word.to_lowercase().as_str()))
        };
        let log = (0u64..).zip(self.base.log(session));
        let found = log.filter(|(_, (stored, message))| is_indexed(stored) && has_words(message));
        let mut places: Vec<u64> = found.map(|(place, _)| place).collect();
        places.reverse();
        places.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(if words.is_empty() { Vec::new() } else { places })
    }
}
