//! A session as it is held in memory: what its last assembly read, brought up to date by the next.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{Digest, EntryId, Message, SessionId, TranscriptState};
use contextwire_store::Outcome;

use super::matching::Seen;
use crate::entry::{Entry, Log};
use crate::node::{NodeId, Sources, SummaryNode};
use crate::plan::Plan;
use crate::rows::{Rows, StoredPlan, Weight};
use crate::span::Span;

/// Entries that are read together with one that is missing, on both sides of it.
const AROUND: u64 = 256;
/// Tokens of what is read so; of large entries fewer are.
const AROUND_TOKENS: u64 = 100_000;
/// What an entry takes beside its body, roughly, in bytes.
const ENTRY_BYTES: usize = 200;

/// One session.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Its number in the store; none while the store does not know it.
    pub(crate) session: Option<i64>,
    pub(crate) total: TranscriptState,
    pub(crate) plan: Plan,
    pub(crate) nodes: HashMap<NodeId, Arc<SummaryNode>>,
    pub(crate) log: HeldLog,
    pub(crate) corrections: Vec<(u64, Digest)>,
    /// Places that stay verbatim.
    pub(crate) pins: BTreeSet<u64>,
    /// How often an operator had changed the session.
    pub(crate) revision: u64,
    /// The last view and the places that it shows.
    pub(crate) seen: Seen,
}

/// The state that a session is held in, for a look at what changed.
#[derive(Clone, Debug)]
pub(crate) struct HeldState {
    session: Option<i64>,
    total: TranscriptState,
    plan: (u64, Digest),
    revision: u64,
}

/// What changed since.
#[derive(Debug)]
pub(crate) enum Change {
    /// The store does not know the session.
    Absent,
    /// Entries were appended, and the plan may be another one.
    Grown {
        session: i64,
        total: TranscriptState,
        weights: Vec<Weight>,
        messages: Vec<(u64, Message)>,
        plan: Option<(StoredPlan, Vec<SummaryNode>)>,
    },
    /// Everything may be different.
    Other {
        session: i64,
        total: TranscriptState,
        weights: Vec<Weight>,
        plan: Option<(StoredPlan, Vec<SummaryNode>)>,
        corrections: Vec<(u64, Digest)>,
        pins: BTreeSet<u64>,
        revision: u64,
    },
}

/// New entries whose bodies are worth reading at once.
const NEW_BODIES: u64 = 64;

/// Looks at what changed.
pub(crate) fn look(rows: &impl Rows, name: &SessionId, known: &HeldState) -> Outcome<Change> {
    let Some(row) = rows.session(name)? else {
        return Ok(Change::Absent);
    };
    let count = known.total.count;
    let revision = rows.revision(row.id)?;
    let is_known = known.session == Some(row.id) && known.revision == revision;
    let is_same = is_known && count <= row.total.count && {
        let last = count.checked_sub(1);
        let chain = last.map(|last| rows.chain_at(row.id, last)).transpose()?;
        chain.is_none_or(|chain| chain == known.total.chain)
    };
    let plan = rows.plan(row.id)?;
    if !is_same {
        return Ok(Change::Other {
            session: row.id,
            total: row.total,
            weights: rows.weights(row.id, 0)?,
            plan: with_nodes(rows, row.id, plan)?,
            corrections: rows.corrections(row.id)?,
            pins: rows.pins(row.id)?,
            revision,
        });
    }
    let weights = if row.total.count > count {
        rows.weights(row.id, count)?
    } else {
        Vec::new()
    };
    let new = Span::new(count, row.total.count);
    let messages = if new.len() <= NEW_BODIES && !new.is_empty() {
        rows.messages(row.id, new)?
    } else {
        Vec::new()
    };
    let is_other = |plan: &StoredPlan| (plan.plan.version(), plan.plan.digest()) != known.plan;
    Ok(Change::Grown {
        session: row.id,
        total: row.total,
        weights,
        messages,
        plan: with_nodes(rows, row.id, plan.filter(is_other))?,
    })
}

/// A plan with the summaries that it names.
pub(crate) fn with_nodes(
    rows: &impl Rows,
    session: i64,
    plan: Option<StoredPlan>,
) -> Outcome<Option<(StoredPlan, Vec<SummaryNode>)>> {
    let Some(plan) = plan else {
        return Ok(None);
    };
    let mut nodes = Vec::with_capacity(plan.plan.summaries().len());
    for placed in plan.plan.summaries() {
        // What a damaged row says is nothing; its entries stand for themselves.
        let node = rows.node(session, placed.id)?;
        nodes.extend(node.filter(SummaryNode::is_genuine));
    }
    Ok(Some((plan, nodes)))
}

/// Every summary that these were condensed from, however deep.
pub(crate) fn below<'n>(
    rows: &impl Rows,
    session: i64,
    nodes: impl IntoIterator<Item = &'n Arc<SummaryNode>>,
) -> Outcome<Vec<Arc<SummaryNode>>> {
    let mut found: Vec<Arc<SummaryNode>> = Vec::new();
    let mut open: Vec<Arc<SummaryNode>> = nodes.into_iter().cloned().collect();
    while let Some(node) = open.pop() {
        let Sources::Nodes(ids) = &node.parts().sources else {
            continue;
        };
        for id in ids {
            if let Some(source) = rows.node(session, *id)? {
                let source = Arc::new(source);
                open.push(Arc::clone(&source));
                found.push(source);
            }
        }
    }
    Ok(found)
}

impl Held {
    pub(crate) fn state(&self) -> HeldState {
        HeldState {
            session: self.session,
            total: self.total,
            plan: (self.plan.version(), self.plan.digest()),
            revision: self.revision,
        }
    }

    /// Brings it up to date.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Absent => *self = Self::default(),
            Change::Grown {
                session,
                total,
                weights,
                messages,
                plan,
            } => {
                self.session = Some(session);
                self.total = total;
                self.log.extend(weights);
                self.log.fill(messages);
                self.take_plan(plan);
            }
            Change::Other {
                session,
                total,
                weights,
                plan,
                corrections,
                pins,
                revision,
            } => {
                *self = Self {
                    session: Some(session),
                    total,
                    corrections,
                    pins,
                    revision,
                    ..Self::default()
                };
                self.log.extend(weights);
                self.take_plan(plan);
            }
        }
    }

    fn take_plan(&mut self, plan: Option<(StoredPlan, Vec<SummaryNode>)>) {
        if let Some((stored, nodes)) = plan {
            self.plan = stored.plan;
            let nodes = nodes.into_iter();
            self.nodes = nodes.map(|node| (node.id(), Arc::new(node))).collect();
        }
    }

    /// Roughly what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.log.bytes
    }
}

/// A session's log: what each entry costs, and the bodies that somebody needed.
#[derive(Debug, Default)]
pub(crate) struct HeldLog {
    /// Tokens of the entries up to and with each place.
    sums: Vec<u64>,
    digests: Vec<Digest>,
    ids: HashMap<EntryId, u64>,
    entries: Vec<Option<Arc<Entry>>>,
    bytes: usize,
    /// Places that somebody asked for whose bodies are not here.
    missed: Mutex<BTreeSet<u64>>,
}

impl HeldLog {
    pub(crate) fn extend(&mut self, weights: Vec<Weight>) {
        self.bytes += weights.len() * ENTRY_BYTES;
        for weight in weights {
            let place = self.digests.len() as u64;
            let before = self.sums.last().copied().unwrap_or_default();
            self.sums.push(before + u64::from(weight.tokens));
            self.digests.push(weight.digest);
            self.entries.push(None);
            if !weight.entry_id.is_empty() {
                self.ids.insert(weight.entry_id, place);
            }
        }
    }

    /// Takes bodies in.
    pub(crate) fn fill(&mut self, messages: Vec<(u64, Message)>) {
        for (place, message) in messages {
            let index = usize::try_from(place).unwrap_or(usize::MAX);
            if let Some(entry @ None) = self.entries.get_mut(index) {
                self.bytes += message.payload().len();
                *entry = Some(Arc::new(Entry::new(message)));
            }
        }
    }

    /// Takes outlines in, where no body is.
    pub(crate) fn outline(&mut self, outlines: Vec<(u64, Entry)>) {
        for (place, outline) in outlines {
            let index = usize::try_from(place).unwrap_or(usize::MAX);
            if let Some(entry @ None) = self.entries.get_mut(index) {
                *entry = Some(Arc::new(outline));
            }
        }
    }

    /// Lets all bodies go.
    pub(crate) fn empty(&mut self) {
        for entry in &mut self.entries {
            *entry = None;
        }
        self.bytes = self.entries.len() * ENTRY_BYTES;
    }

    pub(crate) fn place_of(&self, id: &EntryId) -> Option<u64> {
        self.ids.get(id).copied()
    }

    pub(crate) fn digest(&self, place: u64) -> Option<Digest> {
        self.digests.get(usize::try_from(place).ok()?).copied()
    }

    /// The place from which on so many tokens are.
    pub(crate) fn place_before_end(&self, tokens: u64) -> u64 {
        let all = self.sums.last().copied().unwrap_or_default();
        let from = all.saturating_sub(tokens);
        self.sums.partition_point(|sum| *sum <= from) as u64
    }

    /// The spans without bodies in a span.
    pub(crate) fn missing_in(&self, span: Span) -> Vec<Span> {
        let mut missing: Vec<Span> = Vec::new();
        for place in span.start..span.end.min(self.end()) {
            let index = usize::try_from(place).unwrap_or(usize::MAX);
            if !matches!(self.entries.get(index), Some(None)) {
                continue;
            }
            match missing.last_mut() {
                Some(last) if last.end == place => last.end = place + 1,
                Some(_) | None => missing.push(Span::new(place, place + 1)),
            }
        }
        missing
    }

    /// What somebody asked for and did not get, with what stands around it; nothing the next time.
    pub(crate) fn take_missed(&self) -> Vec<Span> {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spans: Vec<Span> = Vec::new();
        for place in std::mem::take(&mut *missed) {
            let around = self.around(place);
            match spans.last_mut() {
                Some(last) if around.start <= last.end => last.end = around.end,
                Some(_) | None => spans.push(around),
            }
        }
        let wanted = spans.into_iter();
        wanted.flat_map(|span| self.missing_in(span)).collect()
    }

    /// What is read together with a place.
    fn around(&self, place: u64) -> Span {
        let before = self.tokens_before(place).saturating_sub(AROUND_TOKENS);
        let after = self.tokens_before(place + 1) + AROUND_TOKENS / 4;
        let at = |tokens: u64| self.sums.partition_point(|sum| *sum <= tokens) as u64;
        let start = at(before).max(place.saturating_sub(AROUND)).min(place);
        let end = at(after).min(place + AROUND / 4).max(place + 1);
        Span::new(start, end)
    }

    /// Asks for the body at a place, to be read before the next try.
    pub(crate) fn want(&self, place: u64) {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        missed.insert(place);
    }
}

impl Log for HeldLog {
    fn end(&self) -> u64 {
        self.digests.len() as u64
    }

    fn entry(&self, place: u64) -> Option<Arc<Entry>> {
        let entry = self.entries.get(usize::try_from(place).ok()?)?;
        if entry.is_none() {
            self.want(place);
        }
        entry.clone()
    }

    fn tokens_before(&self, place: u64) -> u64 {
        let last = place.min(self.end()).checked_sub(1);
        last.and_then(|last| self.sums.get(usize::try_from(last).ok()?))
            .copied()
            .unwrap_or_default()
    }
}

/// The log as far as a host shows it: without what it holds back.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) log: &'a HeldLog,
    pub(crate) end: u64,
    /// In order.
    pub(crate) held_back: &'a [Span],
}

impl Log for Shown<'_> {
    fn end(&self) -> u64 {
        self.end
    }

    fn entry(&self, place: u64) -> Option<Arc<Entry>> {
        let next = self.held_back.partition_point(|span| span.end <= place);
        let is_held = |span: &Span| span.contains(place);
        if self.held_back.get(next).is_some_and(is_held) {
            return None;
        }
        self.log.entry(place)
    }

    fn tokens_before(&self, place: u64) -> u64 {
        self.log.tokens_before(place.min(self.end))
    }
}
