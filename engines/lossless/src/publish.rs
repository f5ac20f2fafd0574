//! Plans into the store: a version is published in one short transaction, over a log that is still
//! what its summaries were made of; and it is brought in line when the log changes.

use contextwire_engine::{Digest, EngineError, ErrorKind, HookContext};
use contextwire_store::{Outcome, SessionRow};

use crate::identity::Identity;
use crate::node::{NodeId, NodeState, Sources, SummaryNode};
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
    /// Summaries that are new in it, as far as they are not kept yet.
    pub nodes: Vec<SummaryNode>,
    /// Summaries whose place a better one took.
    pub replaced: Vec<NodeId>,
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

/// Keeps a finished summary, for the version that it will be published with.
///
/// # Errors
/// The store's.
pub fn keep(
    rows: &mut impl Rows,
    session: &SessionRow,
    node: &SummaryNode,
) -> Outcome<Result<(), Outdated>> {
    if !stands(rows, session, node)? {
        let span = node.span();
        return Ok(Err(Outdated::Entries { span }));
    }
    rows.put_node(session.id, node).map(Ok)
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
    let Publication {
        base,
        plan,
        nodes,
        replaced,
    } = publication;
    let known = rows.plan(session.id)?;
    let before = known
        .as_ref()
        .map_or_else(Plan::entries, |known| known.plan.clone());
    if before.version() != *base {
        return Ok(Err(Outdated::Plan));
    }
    for node in nodes {
        if let Err(outdated) = keep(rows, session, node)? {
            return Ok(Err(outdated));
        }
    }
    let is_new = |placed: &&Placed| !before.summaries().contains(placed);
    for placed in plan.summaries().iter().filter(is_new) {
        let node = rows.node(session.id, placed.id)?;
        let is_sound =
            |node: &SummaryNode| node.span() == placed.span && node.state() != NodeState::Erased;
        let stands = match node.filter(is_sound) {
            Some(node) => stands(rows, session, &node)?,
            None => false,
        };
        if !stands {
            let span = placed.span;
            return Ok(Err(Outdated::Entries { span }));
        }
    }
    let stored = stored(rows, session, plan, known.as_ref())?;
    rows.put_plan(session.id, &stored)?;
    for id in replaced {
        rows.set_state(session.id, *id, NodeState::Replaced)?;
    }
    Ok(Ok(stored))
}

/// Keeps the plan to what its summaries were made of, in the transaction that changed the log: a
/// summary whose entries are other ones now gives its place back to what it was made of.
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
    for (placed, content) in known.plan.summaries().iter().zip(&known.contents) {
        let is_there = placed.span.end <= session.total.count;
        if is_there && content_of(rows, session.id, placed.span)? == *content {
            kept.push(*placed);
        } else {
            kept.extend(surviving(rows, &session, *placed)?);
        }
    }
    let plan = Plan::stored(known.plan.version() + 1, kept).map_err(damaged)?;
    let stored = stored(rows, &session, &plan, Some(&known))?;
    rows.put_plan(session.id, &stored)
}

/// What a summary that does not stand any more was made of, as far as that stands.
fn surviving(rows: &impl Rows, session: &SessionRow, placed: Placed) -> Outcome<Vec<Placed>> {
    let Some(node) = rows.node(session.id, placed.id)? else {
        return Ok(Vec::new());
    };
    let Sources::Nodes(sources) = &node.parts().sources else {
        return Ok(Vec::new());
    };
    let mut kept = Vec::new();
    for id in sources {
        let Some(source) = rows.node(session.id, *id)? else {
            continue;
        };
        if source.state() != NodeState::Erased && stands(rows, session, &source)? {
            kept.push(Placed::from(&source));
        } else {
            kept.extend(surviving(rows, session, Placed::from(&source))?);
        }
    }
    Ok(kept)
}

/// Whether the log still has what a summary was made of.
fn stands(rows: &impl Rows, session: &SessionRow, node: &SummaryNode) -> Outcome<bool> {
    if node.span().end > session.total.count {
        return Ok(false);
    }
    let entries = entries_of(rows, session.id, node)?;
    Ok(rows.digests(session.id, node.span())? == entries)
}

/// The entries that a summary was made of, however deep it is.
fn entries_of(rows: &impl Rows, session: i64, node: &SummaryNode) -> Outcome<Vec<Digest>> {
    let mut entries = Vec::new();
    match &node.parts().sources {
        Sources::Entries(digests) => entries.extend(digests),
        Sources::Nodes(sources) => {
            for id in sources {
                // A source that is gone leaves a gap, which the log does not have.
                if let Some(source) = rows.node(session, *id)? {
                    entries.extend(entries_of(rows, session, &source)?);
                }
            }
        }
    }
    Ok(entries)
}

/// A plan as it is stored over the log as it is now.
pub(crate) fn stored(
    rows: &impl Rows,
    session: &SessionRow,
    plan: &Plan,
    known: Option<&StoredPlan>,
) -> Outcome<StoredPlan> {
    Ok(StoredPlan {
        contents: contents(rows, session.id, plan, known)?,
        chain: chain(rows, session.id, plan)?,
        log: session.total.count,
        plan: plan.clone(),
    })
}

pub(crate) fn damaged(error: crate::plan::PlanError) -> EngineError {
    EngineError::new(ErrorKind::Failure, "a stored plan is damaged").with_source(error)
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
