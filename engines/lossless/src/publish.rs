//! Plans into the store: a version is published in one short transaction, over a log that is still
//! what its summaries were made of; and it is brought in line when the log changes.

use contextwire_engine::{Digest, EngineError, HookContext};
use contextwire_store::{Outcome, SessionRow};

use crate::identity::Identity;
use crate::node::{NodeState, Sources, SummaryNode};
use crate::plan::{Placed, Plan};
use crate::rows::{Rows, StoredPlan};
use crate::span::Span;

/// The next version of a session's plan.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The version that it was made from.
    pub base: u64,
    /// What stands for the log now.
    pub plan: Plan,
    /// Summaries that are new in it.
    pub nodes: Vec<SummaryNode>,
}

/// Why a version cannot be published. What it was made from is not there any more; it is to be
/// planned again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Outdated {
    /// Somebody published another version meanwhile.
    #[error("the plan went on meanwhile")]
    Plan,
    /// An entry that a summary was made of was rewritten or erased meanwhile.
    #[error("the entries at {span} changed while they were summarised")]
    Entries {
        /// The summary's span.
        span: Span,
    },
}

impl From<Outdated> for EngineError {
    fn from(outdated: Outdated) -> Self {
        Self::transient(outdated.to_string())
    }
}

/// Publishes the next version, unless what it was made from is gone (C13, C14).
///
/// # Errors
/// The store's.
pub fn publish(
    rows: &mut impl Rows,
    session: &SessionRow,
    publication: &Publication,
) -> Outcome<Result<StoredPlan, Outdated>> {
    let Publication { base, plan, nodes } = publication;
    let known = rows.plan(session.id)?;
    let current = known.as_ref().map_or(0, |known| known.plan.version());
    if current != *base {
        return Ok(Err(Outdated::Plan));
    }
    if plan.end() > session.total.count {
        let span = Span::new(session.total.count, plan.end());
        return Ok(Err(Outdated::Entries { span }));
    }
    for node in nodes {
        if !stands(rows, session.id, node)? {
            let span = node.span();
            return Ok(Err(Outdated::Entries { span }));
        }
    }
    for node in nodes {
        rows.put_node(session.id, node)?;
    }
    let stored = StoredPlan {
        contents: contents(rows, session.id, plan, known.as_ref())?,
        chain: chain(rows, session.id, plan)?,
        log: session.total.count,
        plan: plan.clone(),
    };
    rows.put_plan(session.id, &stored)?;
    if let Some(known) = known {
        replace(rows, session.id, &known.plan, plan)?;
    }
    Ok(Ok(stored))
}

/// Keeps the plan to what its summaries were made of, in the transaction that changed the log: a
/// summary whose entries are other ones now gives its place back to them.
///
/// # Errors
/// The store's.
pub fn settle(rows: &mut impl Rows, cx: &HookContext) -> Outcome<()> {
    rows.drop_forks()?;
    let Some(session) = rows.session(&cx.session.id)? else {
        return Ok(());
    };
    let Some(known) = rows.plan(session.id)? else {
        return Ok(());
    };
    let end = known.plan.end();
    if end == 0 {
        return Ok(());
    }
    if end <= session.total.count && chain(rows, session.id, &known.plan)? == known.chain {
        return Ok(());
    }
    let mut kept = Vec::new();
    let mut contents = Vec::new();
    for (placed, content) in known.plan.summaries().iter().zip(&known.contents) {
        let is_there = placed.span.end <= session.total.count;
        if is_there && content_of(rows, session.id, placed.span)? == *content {
            kept.push(*placed);
            contents.push(*content);
        }
    }
    let plan = Plan::stored(known.plan.version() + 1, kept).map_err(|error| {
        EngineError::new(
            contextwire_engine::ErrorKind::Failure,
            "a stored plan is damaged",
        )
        .with_source(error)
    })?;
    let stored = StoredPlan {
        chain: chain(rows, session.id, &plan)?,
        log: session.total.count,
        contents,
        plan,
    };
    rows.put_plan(session.id, &stored)
}

/// Whether the log still has what a summary was made of.
fn stands(rows: &impl Rows, session: i64, node: &SummaryNode) -> Outcome<bool> {
    match &node.parts().sources {
        Sources::Entries(digests) => Ok(rows.digests(session, node.span())? == *digests),
        // They stand in the version that it was made from, which is the current one.
        Sources::Nodes(_) => Ok(true),
    }
}

/// Summaries that are not in force any more are kept for plans of before.
fn replace(rows: &mut impl Rows, session: i64, old: &Plan, new: &Plan) -> Outcome<()> {
    let is_gone = |placed: &&Placed| !new.summaries().contains(placed);
    for placed in old.summaries().iter().filter(is_gone) {
        rows.set_state(session, placed.id, NodeState::Replaced)?;
    }
    Ok(())
}

fn contents(
    rows: &impl Rows,
    session: i64,
    plan: &Plan,
    known: Option<&StoredPlan>,
) -> Outcome<Vec<Digest>> {
    let of = |placed: &Placed| {
        let before = known.and_then(|known| {
            let at = known
                .plan
                .summaries()
                .iter()
                .position(|old| old == placed)?;
            known.contents.get(at).copied()
        });
        before.map_or_else(|| content_of(rows, session, placed.span), Ok)
    };
    plan.summaries().iter().map(of).collect()
}

fn content_of(rows: &impl Rows, session: i64, span: Span) -> Outcome<Digest> {
    let digests = rows.digests(session, span)?;
    let identity = digests
        .into_iter()
        .fold(Identity::of("span"), Identity::digest);
    Ok(identity.finish())
}

/// The chain of the log up to the plan's end.
fn chain(rows: &impl Rows, session: i64, plan: &Plan) -> Outcome<[u8; 32]> {
    match plan.end().checked_sub(1) {
        Some(last) => rows.chain_at(session, last),
        None => Ok([0; 32]),
    }
}
