//! What a child sees of its parent: the parent's context at the fork, or nothing (section 9).

use contextwire_engine::{
    ContextMode, CurrentTurn, EngineError, HookContext, PrepareSubagentSpawn, SessionId,
    SpawnPrepared, TokenBudget, Transcript,
};
use contextwire_store::{Outcome, Store};
use contextwire_windowed::Window;

use super::LosslessEngine;
use super::assemble::Parts;
use super::held::{Held, with_nodes};
use super::matching::Extent;
use crate::entry::Log;
use crate::fit::{Fitted, Why};
use crate::identity::Identity;
use crate::plan::Plan;
use crate::rows::{Fork, Rows};

/// The parent gets at most one part in this many of the child's budget (E08).
const SHARE: u64 = 2;
/// How often bodies may turn out to be missing before what is there has to do.
const ROUNDS: usize = 64;

/// Notes what the child sees: of a fork, the parent as it is now.
pub(super) fn prepare(
    rows: &mut impl Rows,
    request: &PrepareSubagentSpawn,
) -> Outcome<SpawnPrepared> {
    let prepared = SpawnPrepared {
        prepared: true,
        system_prompt_addition: None,
    };
    let parent = request.parent_session_id.as_deref().map(SessionId::new);
    let (Some(ContextMode::Fork), Some(Ok(parent))) = (request.context_mode, parent) else {
        return Ok(prepared);
    };
    let Some(row) = rows.session(&parent)? else {
        return Ok(prepared);
    };
    let plan_version = rows.plan(row.id)?.map(|plan| plan.plan.version());
    rows.put_fork(&Fork {
        spawn_id: request.spawn_id.clone(),
        child_session_key: request.child_session_key.clone(),
        parent: row.id,
        log: row.total.count,
        chain: row.total.chain,
        plan_version,
    })?;
    Ok(prepared)
}

/// A fork with the name of the parent, and its plan where that is not the one in force any more.
type Found = (
    Fork,
    SessionId,
    Option<(Plan, Vec<crate::node::SummaryNode>)>,
);

impl<S: Store<Rows: Rows>> LosslessEngine<S> {
    /// The parent's part of a child's context; none for a session that was not forked, and for one
    /// whose host copied the parent's messages into it.
    pub(super) async fn inherited(
        &self,
        cx: &HookContext,
        view: &Transcript,
        window: &Window<'_>,
    ) -> Result<Option<Fitted>, EngineError> {
        let Some(key) = cx.session.key.clone() else {
            return Ok(None);
        };
        let child = cx.session.id.clone();
        let found = self
            .hooks
            .store()
            .read(move |rows| find(rows, &key, &child));
        let Some((fork, parent, plan)) = found.await? else {
            return Ok(None);
        };
        let slot = self.sessions.slot(&parent);
        let mut held = slot.lock().await;
        self.refresh(&parent, &mut held).await?;
        let first = held.log.digest(0);
        if first.is_none() || view.get(0).map(contextwire_engine::Message::digest) == first {
            return Ok(None);
        }
        let window = Window {
            budget: window
                .budget
                .and_then(|budget| TokenBudget::new((budget.get() / SHARE).max(1))),
            current_turn: CurrentTurn::Excluded,
            ..*window
        };
        let fitted = self.fit_parent(&parent, &mut held, (fork, plan), window);
        let fitted = fitted.await?;
        self.sessions.weigh(&parent, &mut held);
        Ok(Some(fitted))
    }

    async fn fit_parent(
        &self,
        parent: &SessionId,
        held: &mut Held,
        (fork, plan): (Fork, Option<(Plan, Vec<crate::node::SummaryNode>)>),
        window: Window<'_>,
    ) -> Result<Fitted, EngineError> {
        let extent = Extent {
            end: fork.log.min(held.log.end()),
            held_back: Vec::new(),
        };
        let (plan, nodes) = match plan {
            Some((plan, nodes)) => {
                let nodes = nodes.into_iter();
                let nodes = nodes.map(|node| (node.id(), std::sync::Arc::new(node)));
                (plan, nodes.collect())
            }
            None => (Plan::entries(), std::collections::HashMap::new()),
        };
        let plan = plan.up_to(extent.end);
        let nothing = Transcript::new();
        let mut rounds = 0;
        loop {
            let mut alone = Held::default();
            std::mem::swap(&mut alone.log, &mut held.log);
            let fitted = Parts {
                held: &alone,
                plan: &plan,
                nodes: &nodes,
                extent: &extent,
            }
            .fit(&nothing, window);
            std::mem::swap(&mut alone.log, &mut held.log);
            let missed = held.log.take_missed();
            rounds += 1;
            if missed.is_empty() || rounds == ROUNDS {
                return Ok(fitted);
            }
            self.load(parent, held, missed).await?;
        }
    }
}

fn find(rows: &impl Rows, key: &str, child: &SessionId) -> Outcome<Option<Found>> {
    let Some(fork) = rows.fork(key)? else {
        return Ok(None);
    };
    let head = crate::span::Span::new(0, 1);
    let first = rows.digests(fork.parent, head)?;
    if let Some(row) = rows.session(child)?
        && rows.digests(row.id, head)? == first
    {
        return Ok(None);
    }
    let Some(parent) = rows.session_name(fork.parent)? else {
        return Ok(None);
    };
    let plan = match fork.plan_version {
        Some(version) => rows.plan_of_version(fork.parent, version)?,
        None => None,
    };
    let plan = with_nodes(rows, fork.parent, plan)?;
    let plan = plan.map(|(stored, nodes)| (stored.plan, nodes));
    Ok(Some((fork, parent, plan)))
}

/// The child's own context behind its parent's; instructions at the head stay there.
pub(super) fn behind(parent: Fitted, mut child: Fitted) -> Fitted {
    let lead = child
        .items
        .iter()
        .take_while(|item| item.why == Why::Lead)
        .count();
    child.items.splice(lead..lead, parent.items);
    let joined = |one: &str, other: &str| {
        Identity::of("fork")
            .text(one)
            .text(other)
            .finish()
            .to_string()
    };
    Fitted {
        tokens: child.tokens.saturating_add(parent.tokens),
        epoch: joined(&parent.epoch, &child.epoch),
        fingerprint: joined(&parent.fingerprint, &child.fingerprint),
        ..child
    }
}
