//! Where a compaction's results go: the store, each in one short transaction.

use contextwire_engine::durable::Ledger;
use contextwire_engine::{Digest, HookContext};
use contextwire_store::{LogRows, Outcome, SessionRow, Store};

use crate::compaction::{Sink, SinkError, Stored};
use crate::node::{NodeId, NodeState, SummaryNode};
use crate::plan::Plan;
use crate::publish::{Outdated, Publication, keep, publish};
use crate::rows::Rows;

/// The store, for one compaction of one session.
pub(super) struct StoreSink<'a, S: Store<Rows: Rows>> {
    pub(super) store: &'a S,
    pub(super) cx: &'a HookContext,
}

impl<S: Store<Rows: Rows>> StoreSink<'_, S> {
    /// Runs work on the session, unless its hook was given up meanwhile (R7.2).
    async fn write(
        &self,
        act: impl FnOnce(&mut S::Rows, &SessionRow) -> Outcome<Result<(), Outdated>> + Send + 'static,
    ) -> Result<(), SinkError> {
        let cx = self.cx.clone();
        let work = move |rows: &mut S::Rows| {
            let session = rows.session(&cx.session.id)?;
            match session {
                Some(session) if !rows.is_closed(cx.hook_id)? => act(rows, &session),
                Some(_) | None => Ok(Err(Outdated::Plan)),
            }
        };
        match self.store.write(self.cx, work).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(SinkError::Stale),
            Err(error) => Err(SinkError::Unavailable(error.into())),
        }
    }
}

impl<S: Store<Rows: Rows>> Sink for StoreSink<'_, S> {
    fn find(&self, source_key: Digest) -> Stored<'_, Option<SummaryNode>> {
        let name = self.cx.session.id.clone();
        let look = move |rows: &S::Rows| match rows.session(&name)? {
            Some(session) => rows.node_of_work(session.id, source_key),
            None => Ok(None),
        };
        Box::pin(async move {
            let found = self.store.read(look).await;
            let is_usable =
                |node: &SummaryNode| matches!(node.state(), NodeState::Sound | NodeState::Repair);
            found
                .map(|found| found.filter(is_usable))
                .map_err(|error| SinkError::Unavailable(error.into()))
        })
    }

    fn keep<'a>(&'a self, node: &'a SummaryNode) -> Stored<'a, ()> {
        let node = node.clone();
        Box::pin(self.write(move |rows, session| keep(rows, session, &node)))
    }

    fn publish<'a>(&'a self, plan: &'a Plan, replaced: &'a [NodeId]) -> Stored<'a, ()> {
        let publication = Publication {
            base: plan.version().saturating_sub(1),
            plan: plan.clone(),
            nodes: Vec::new(),
            replaced: replaced.to_vec(),
        };
        Box::pin(self.write(move |rows, session| {
            let published = publish(rows, session, &publication)?;
            Ok(published.map(drop))
        }))
    }
}
