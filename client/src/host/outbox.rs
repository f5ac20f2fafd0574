//! A host's outbox: who its rows go to, and what its status shows of them.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use contextwire_engine::{MaintenanceMode, Session};
use futures_util::stream::{self, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::selection::Selection;
use super::{Host, HostBuilder};
use crate::hooks::Hooks;
use crate::maintenance::Maintenance;
use crate::outbox::{
    DrainedSession, Outbox, OutboxError, OutboxOptions, Recipient, Selected, Slot,
};
use crate::registry::BUILT_IN;
use crate::status::OutboxStatus;

impl HostBuilder {
    /// Keeps what has to reach engines in this file: recorded turns, what became of spawns, ends of
    /// children. Without it nothing of a turn outlives the process, and recorded turns are told like
    /// any other. One file a host; several processes of one host may share it.
    #[must_use]
    pub fn outbox(self, path: impl Into<PathBuf>) -> Self {
        self.outbox_with(path, OutboxOptions::default())
    }

    /// The same with options.
    #[must_use]
    pub fn outbox_with(mut self, path: impl Into<PathBuf>, options: OutboxOptions) -> Self {
        self.outbox = Some((path.into(), options));
        self
    }
}

impl Host {
    /// The host's outbox, where it has one.
    pub fn outbox(&self) -> Option<&Outbox> {
        self.selection.outbox.as_ref()
    }
}

/// The same selection with an outbox, where one was asked for.
pub(super) fn open(
    mut selection: Selection,
    asked: Option<(PathBuf, OutboxOptions)>,
) -> Result<Selection, OutboxError> {
    if let Some((path, options)) = asked {
        selection.outbox = Some(Outbox::open(path, options)?);
    }
    Ok(selection)
}

/// Brings rows to whichever engine is selected, and tells of writes, until the guards are dropped.
pub(super) fn deliver(selection: &Arc<Selection>) -> Vec<DropGuard> {
    let Some(outbox) = &selection.outbox else {
        return Vec::new();
    };
    let delivering = outbox.deliver_in_background(Route(Arc::downgrade(selection)));
    vec![delivering, tell(outbox, selection)]
}

fn tell(outbox: &Outbox, selection: &Selection) -> DropGuard {
    let ends = CancellationToken::new();
    let stop = ends.clone();
    let (mut written, changed) = (outbox.changes(), Arc::clone(&selection.changed));
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        while written.changed().await.is_ok() {
            changed.notify_one();
        }
    }));
    ends.drop_guard()
}

/// Sessions whose maintenance is offered at the same time.
const OFFERS: usize = 16;

/// Offers maintenance to each session whose turns were delivered beside the conversation, once a
/// drain (HOST-SEMANTICS 8), until the guard is dropped.
pub(super) fn maintain(
    selection: &Arc<Selection>,
    hooks: &Hooks,
    maintenance: &Maintenance,
) -> Option<DropGuard> {
    let mut drained = selection.outbox.as_ref()?.drained();
    let ends = CancellationToken::new();
    let stop = ends.clone();
    let (selection, hooks) = (Arc::clone(selection), hooks.clone());
    let maintenance = maintenance.clone();
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        let sessions = stream::poll_fn(|cx| drained.poll_recv(cx));
        let offers = sessions.for_each_concurrent(OFFERS, |drained| {
            offer(&selection, &hooks, &maintenance, drained)
        });
        offers.await;
    }));
    Some(ends.drop_guard())
}

async fn offer(
    selection: &Selection,
    hooks: &Hooks,
    maintenance: &Maintenance,
    drained: DrainedSession,
) {
    // Another engine than the one that has the turns has nothing to maintain of them.
    if selection.selected() != drained.engine {
        return;
    }
    let info = selection.active_info();
    let mode = info.map_or(MaintenanceMode::Foreground, |it| it.turn_maintenance_mode);
    let newest = [(drained.session, drained.runtime_context)];
    let offered = maintenance.offer_after_drain(hooks, mode, newest).await;
    tracing::debug!(?offered, "maintenance after the outbox");
}

impl Selection {
    /// What waits of a session goes to the one that it goes on in (HOST-SEMANTICS 10.5).
    pub(super) async fn succession(&self, session: &Session) {
        if let (Some(outbox), Some(previous)) = (&self.outbox, &session.previous_id)
            && let Err(error) = outbox.succeed(previous, &session.id).await
        {
            tracing::warn!(%error, "rows of the session before this one stay where they are");
        }
    }
}

/// The slot, as long as the host is there.
struct Route(Weak<Selection>);

impl Selected for Route {
    fn selected(&self) -> Result<Option<Slot>, OutboxError> {
        let selection = self.0.upgrade().ok_or(OutboxError::Closed)?;
        Ok(slot(&selection))
    }
}

/// The engine in the slot; none where it is the built-in one, or nobody that can be called.
fn slot(selection: &Selection) -> Option<Slot> {
    let id = selection.selected();
    if id == BUILT_IN {
        return None;
    }
    let client: Arc<dyn Recipient> = Arc::new(selection.usable(&id)?);
    Some((id, client))
}

/// What the status shows.
pub(super) fn status(selection: &Selection, selected: &str) -> Option<OutboxStatus> {
    let outbox = selection.outbox.as_ref()?;
    let status = outbox.status(selected);
    Some(status.unwrap_or_else(|error| OutboxStatus {
        file: outbox.path().display().to_string(),
        unreadable: Some(error.to_string()),
        ..OutboxStatus::default()
    }))
}
