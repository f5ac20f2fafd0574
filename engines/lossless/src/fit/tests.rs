use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contextwire_engine::pairing::broken_pairs;
use contextwire_engine::{CurrentTurn, Message, TokenBudget, Transcript};

use super::*;
use crate::entry::{Log, LogList};
use crate::node::{NodeId, NodeParts, Provenance, Sources, SummaryNode};
use crate::plan::Plan;
use crate::span::Span;
use crate::testing::{answer, call, result, user, words};

mod budget;
mod laws;
mod projection;
mod shape;

/// A session in memory.
#[derive(Debug, Default)]
pub(super) struct Session {
    log: LogList,
    transcript: Transcript,
    plan: Plan,
    nodes: HashMap<NodeId, Arc<SummaryNode>>,
    pins: BTreeSet<u64>,
    corrections: Vec<(u64, Digest)>,
    model: Option<&'static str>,
    current_turn: CurrentTurn,
    /// Messages at the head of the view that the log does not hold.
    lead: usize,
    calls: u32,
}

/// The view's message at a place of the log, where it shows all of it.
pub(super) fn keep(place: u64) -> Piece {
    Piece::Keep(usize::try_from(place).unwrap())
}

impl Session {
    /// Appends to the log and to what the host shows.
    pub(super) fn say(&mut self, payload: impl Into<String>) -> u64 {
        let place = self.log.end();
        let message = Message::from_payload(payload.into()).with_entry_id(format!("e{place}"));
        self.transcript.push(message.clone());
        self.log.push(message);
        place
    }

    /// `U60, C, R300, C, R300, A90`.
    pub(super) fn turn(&mut self) {
        self.say(user(&words(60)));
        for _ in 0..2 {
            self.calls += 1;
            let id = format!("c{}", self.calls);
            self.say(call(&[&id]));
            self.say(result(&id, &words(300)));
        }
        self.say(answer(&words(90)));
    }

    pub(super) fn turns(count: usize) -> Self {
        let mut session = Self::default();
        (0..count).for_each(|_| session.turn());
        session
    }

    /// Puts a summary of so many tokens in the place of a span.
    pub(super) fn summarise(&mut self, start: u64, end: u64, depth: u32, tokens: usize) -> NodeId {
        let span = Span::new(start, end);
        let source_tokens = self.log.tokens_before(end) - self.log.tokens_before(start);
        let node = SummaryNode::new(NodeParts {
            depth,
            span,
            sources: Sources::Entries(Vec::new()),
            text: format!("Headline of {span}.\n{}", words(tokens)),
            source_tokens,
            times: None,
            provenance: Provenance::Extract,
        });
        self.plan = self.plan.with((&node).into()).unwrap();
        let id = node.id();
        self.nodes.insert(id, Arc::new(node));
        id
    }

    pub(super) fn fit(&self, budget: u64) -> Fitted {
        let from = self.lead;
        let places = (0..self.transcript.len())
            .map(|index| index.checked_sub(from).map(|place| place as u64));
        let view = View::new(&self.transcript, places, self.log.end());
        let fit = Fit {
            snapshot: Snapshot {
                plan: &self.plan,
                nodes: &self.nodes,
                log: &self.log,
                pins: &self.pins,
            },
            view: &view,
            window: Window {
                budget: TokenBudget::new(budget),
                model: self.model,
                provider: None,
                current_turn: self.current_turn,
            },
            corrections: &self.corrections,
        };
        fit.run()
    }

    /// The messages of a result.
    pub(super) fn shown(&self, fitted: &Fitted) -> Vec<Message> {
        let messages = fitted.reply().messages;
        messages.check(self.transcript.len()).unwrap();
        messages.messages(&self.transcript).cloned().collect()
    }

    pub(super) fn payloads(&self, budget: u64) -> Vec<String> {
        let shown = self.shown(&self.fit(budget));
        shown
            .iter()
            .map(|message| String::from_utf8_lossy(message.payload()).into_owned())
            .collect()
    }
}

/// Messages that a result accounts for.
pub(super) fn accounted(fitted: &Fitted) -> u64 {
    let shown: u64 = fitted.items.iter().map(|item| item.stands_for).sum();
    let left: u64 = fitted.left_out.iter().map(|left| left.messages).sum();
    shown + left
}

/// What no result may break, whatever the budget.
pub(super) fn check(session: &Session, budget: u64) -> Fitted {
    let fitted = session.fit(budget);
    let shown = session.shown(&fitted);
    let broken = broken_pairs(&session.transcript, &fitted.reply().messages);
    assert_eq!(broken, [], "budget {budget}");
    assert_eq!(
        accounted(&fitted),
        session.log.end() + session.lead as u64,
        "budget {budget}"
    );
    if fitted.authority == PromptAuthority::Assembled {
        assert!(fitted.tokens <= budget, "{} over {budget}", fitted.tokens);
    }
    let first = shown
        .iter()
        .find(|message| !matches!(message.role(), "system" | "developer"));
    if let Some(first) = first {
        assert!(
            matches!(first.role(), "user" | "compactionSummary"),
            "{}",
            first.role()
        );
    }
    fitted
}
