//! A stored session to look at: what stands for it, and what the model was shown at a turn.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contextwire_engine::{CurrentTurn, Message, SessionId, Transcript};
use contextwire_store::Outcome;
use contextwire_windowed::Window;

use crate::engine::held::{HeldLog, below, with_nodes};
use crate::entry::Log;
use crate::fit::{Fit, Fitted, View};
use crate::node::{NodeId, SummaryNode};
use crate::plan::{FrontierItem, Plan};
use crate::rows::Rows;
use crate::snapshot::Snapshot;
use crate::span::Span;
use crate::verify::{Fault, verify};

/// Entries that are read at once.
const CHUNK: u64 = 1_024;

/// A session as it is stored.
#[derive(Debug)]
pub struct PastSession {
    session: i64,
    log: HeldLog,
    /// Places of the user messages.
    starts: Vec<u64>,
    plan: Plan,
    nodes: HashMap<NodeId, Arc<SummaryNode>>,
    pins: BTreeSet<u64>,
}

/// An item of what stands for a session now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The places.
    pub span: Span,
    /// Estimated tokens in a context.
    pub tokens: u64,
    /// The summary that stands for them; none for entries as they are.
    pub summary: Option<Arc<SummaryNode>>,
}

impl PastSession {
    /// Reads a session; none where the store does not know it.
    ///
    /// # Errors
    /// The store's.
    pub fn read(rows: &impl Rows, name: &SessionId) -> Outcome<Option<Self>> {
        let Some(row) = rows.session(name)? else {
            return Ok(None);
        };
        let mut log = HeldLog::default();
        log.extend(rows.weights(row.id, 0)?);
        let mut starts = Vec::new();
        let mut place = 0;
        while place < log.end() {
            let messages = rows.messages(row.id, Span::new(place, place + CHUNK))?;
            let users = messages
                .iter()
                .filter(|(_, message)| message.role() == "user");
            starts.extend(users.map(|(place, _)| *place));
            log.fill(messages);
            place += CHUNK;
        }
        let (plan, nodes) = in_force(rows, row.id, rows.plan(row.id)?)?;
        Ok(Some(Self {
            session: row.id,
            log,
            starts,
            plan,
            nodes,
            pins: rows.pins(row.id)?,
        }))
    }

    /// Entries of its log.
    pub fn entries(&self) -> u64 {
        self.log.end()
    }

    /// Estimated tokens of all of them.
    pub fn tokens(&self) -> u64 {
        self.log.tokens_before(self.log.end())
    }

    /// Its turns: user messages and what follows each.
    pub fn turns(&self) -> usize {
        self.starts.len()
    }

    /// The plan in force.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The message at a place.
    pub fn message(&self, place: u64) -> Option<Message> {
        self.log.entry(place).map(|entry| entry.message().clone())
    }

    /// What stands for the session now, in order.
    pub fn standing(&self) -> Vec<Standing> {
        let items = self.plan.frontier(self.log.end()).into_iter();
        items
            .map(|item| match item {
                FrontierItem::Entries(span) => Standing {
                    span,
                    tokens: self.log.tokens_before(span.end) - self.log.tokens_before(span.start),
                    summary: None,
                },
                FrontierItem::Summary(placed) => {
                    let summary = self.nodes.get(&placed.id).map(Arc::clone);
                    let family = contextwire_engine::tokens::ModelFamily::Other;
                    let tokens = summary.as_ref().map_or(0, |node| node.tokens(family));
                    Standing {
                        span: placed.span,
                        tokens: u64::from(tokens),
                        summary,
                    }
                }
            })
            .collect()
    }

    /// Whether nothing is lost: every entry is in exactly one place of the plan in force, and what
    /// each summary was made of is what the log has. Every fault, none where all is well.
    ///
    /// # Errors
    /// The store's.
    pub fn faults(&self, rows: &impl Rows) -> Outcome<Vec<Fault>> {
        let mut nodes = self.nodes.clone();
        let sources = below(rows, self.session, self.nodes.values())?;
        nodes.extend(sources.into_iter().map(|node| (node.id(), node)));
        Ok(verify(&Snapshot {
            plan: &self.plan,
            nodes: &nodes,
            log: &self.log,
            pins: &self.pins,
        }))
    }

    /// What the model was shown at a turn, counted from 1, by a host that shows its log as it is;
    /// one beyond the last is the turn that comes next. None where there is no such turn.
    ///
    /// The plan is the one that was in force when the log ended where the turn begins. With
    /// [`CurrentTurn::Included`] the turn's own user message is in the list.
    ///
    /// # Errors
    /// The store's.
    pub fn assemble_at(
        &self,
        rows: &impl Rows,
        turn: usize,
        window: Window<'_>,
    ) -> Outcome<Option<Fitted>> {
        let Some(before) = turn.checked_sub(1) else {
            return Ok(None);
        };
        let end = match self.starts.get(before) {
            Some(start) => *start,
            None if before == self.starts.len() => self.log.end(),
            None => return Ok(None),
        };
        let published = rows.plan_at(self.session, end)?;
        let (plan, nodes) = in_force(rows, self.session, published)?;
        let is_included = window.current_turn == CurrentTurn::Included;
        let end = end + u64::from(is_included && end < self.log.end());
        let nothing = Transcript::new();
        let log = Until {
            log: &self.log,
            end,
        };
        let view = View::new(&nothing, [], end);
        let fit = Fit {
            snapshot: Snapshot {
                plan: &plan.up_to(end),
                nodes: &nodes,
                log: &log,
                pins: &self.pins,
            },
            view: &view,
            window,
            corrections: &[],
        };
        Ok(Some(fit.run()))
    }
}

/// The log up to a place.
struct Until<'a> {
    log: &'a HeldLog,
    end: u64,
}

impl Log for Until<'_> {
    fn end(&self) -> u64 {
        self.end
    }

    fn entry(&self, place: u64) -> Option<Arc<crate::entry::Entry>> {
        (place < self.end).then(|| self.log.entry(place)).flatten()
    }

    fn tokens_before(&self, place: u64) -> u64 {
        self.log.tokens_before(place.min(self.end))
    }
}

type InForce = (Plan, HashMap<NodeId, Arc<SummaryNode>>);

fn in_force(
    rows: &impl Rows,
    session: i64,
    stored: Option<crate::rows::StoredPlan>,
) -> Outcome<InForce> {
    Ok(match with_nodes(rows, session, stored)? {
        Some((stored, nodes)) => {
            let nodes = nodes.into_iter();
            let nodes = nodes.map(|node| (node.id(), Arc::new(node))).collect();
            (stored.plan, nodes)
        }
        None => (Plan::entries(), HashMap::new()),
    })
}
