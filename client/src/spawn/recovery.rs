//! What a process finds in the journal that another one left (R9.3).

use std::sync::Arc;

use contextwire_engine::SpawnOutcome;

use super::Subagents;
use super::open::Spawn;
use crate::outbox::{OpenSpawn, OutboxError};

/// What a host knows of a spawn that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The child runs, or ran.
    Started,
    /// The host's queue has the child: it is still to be started.
    Queued,
    /// The host knows no such child.
    Unknown,
}

/// What came of the journal.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Spawns whose children the host has in its queue; they are this process's now.
    pub queued: Vec<Spawn>,
    /// Spawns of children that were started.
    pub started: usize,
    /// Spawns that were rolled back.
    pub rolled_back: usize,
}

impl Subagents {
    /// Settles or takes up what processes that have ended left in the journal, by what the host knows
    /// of each child. Once, when a host starts. Queued children of another engine than this one stay
    /// in the journal until it is selected again.
    ///
    /// # Errors
    /// [`OutboxError`]; what was not seen to stays in the journal.
    pub async fn recover(
        &self,
        knows: impl Fn(&OpenSpawn) -> Found,
    ) -> Result<Recovered, OutboxError> {
        let inner = &self.0;
        let mut recovered = Recovered::default();
        for open in inner.outbox.open_spawns().await? {
            if !open.is_orphan {
                continue;
            }
            let spawn_id = open.request.spawn_id.clone();
            match knows(&open) {
                Found::Started => {
                    let outcome = SpawnOutcome::Started;
                    inner.outbox.settle_spawn(&spawn_id, outcome).await?;
                    recovered.started += 1;
                }
                Found::Unknown => {
                    let outcome = SpawnOutcome::RolledBack;
                    inner.outbox.settle_spawn(&spawn_id, outcome).await?;
                    recovered.rolled_back += 1;
                }
                Found::Queued if open.to.engine == inner.to.engine => {
                    let journaled =
                        inner
                            .outbox
                            .journal_spawn(open.to.clone(), &open.session, &open.request);
                    journaled.await?;
                    let (asked, parent) = (open.request, open.session);
                    let spawn = Spawn::taken_up(Arc::clone(inner), asked, parent);
                    recovered.queued.push(spawn);
                }
                Found::Queued => {}
            }
        }
        Ok(recovered)
    }
}
