//! The end of a child (HOST-SEMANTICS 7.2).

use std::sync::PoisonError;

use contextwire_engine::{EndSubagent, Scope, Session, SpawnOutcome};

use super::Subagents;
use crate::outbox::{NewRow, OutboxCall, OutboxError};

/// Why a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Its session is deleted.
    Deleted,
    /// It is done, and its session stays.
    Completed,
    /// Nobody cared for it any more.
    Swept,
    /// Its parent let go of it.
    Released,
    /// Another word of the host's own.
    Other(String),
}

impl EndReason {
    /// The reason by which a host's cleanup ends a child: with its session or without.
    pub fn of_cleanup(deletes_session: bool) -> Self {
        if deletes_session {
            Self::Deleted
        } else {
            Self::Completed
        }
    }

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Deleted => "deleted",
            Self::Completed => "completed",
            Self::Swept => "swept",
            Self::Released => "released",
            Self::Other(word) => word,
        }
    }
}

/// A child that ended.
#[derive(Clone, Debug)]
pub struct ChildEnd {
    /// Its session, with a key.
    pub child: Session,
    /// Which run of it, where the host knows: [`Spawn::spawn_id`](super::Spawn::spawn_id).
    pub spawn_id: Option<String>,
    /// Why.
    pub reason: EndReason,
    /// Where the child's agent worked.
    pub scope: Scope,
}

/// What became of telling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is on the disk: the engine will be told, once.
    Noted,
    /// It was told before.
    Before,
    /// A newer run of the child has begun: this one is not told of any more.
    Superseded,
}

impl Subagents {
    /// Notes that a child ended, with or without a preparation. Not for a child that was killed while
    /// it was provisional: that is a rollback. The same end again is told once, and one that could not
    /// be written down may be tried again.
    ///
    /// # Errors
    /// [`OutboxError`]; the end is not noted.
    pub async fn end(&self, end: ChildEnd) -> Result<Ended, OutboxError> {
        let inner = &self.0;
        let child_session_key = end.child.key.clone().unwrap_or_default();
        if self.is_superseded(&child_session_key, end.spawn_id.as_deref()) {
            return Ok(Ended::Superseded);
        }
        let mut ended = inner.ended.lock().await;
        let known = (child_session_key.clone(), end.spawn_id.clone());
        if ended.contains(&known) {
            return Ok(Ended::Before);
        }
        if let Some(spawn_id) = &end.spawn_id {
            // A child that ended had started; a host that did not say so before says it now.
            let said = inner.outbox.settle_spawn(spawn_id, SpawnOutcome::Started);
            match said.await {
                Ok(()) | Err(OutboxError::UnknownSpawn { .. } | OutboxError::Collision { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let request = EndSubagent {
            spawn_id: end.spawn_id,
            child_session_key,
            reason: end.reason.as_str().to_owned(),
        };
        let row = NewRow {
            to: inner.to.clone(),
            session: end.child,
            scope: end.scope,
            call: OutboxCall::EndSubagent(request),
        };
        inner.outbox.append(row).await?;
        ended.put(known, ());
        Ok(Ended::Noted)
    }

    fn is_superseded(&self, child_key: &str, spawn_id: Option<&str>) -> bool {
        let mut newest = self.0.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = newest.get(child_key);
        match (newest, spawn_id) {
            (Some(newest), Some(ended)) => newest != ended,
            (None, _) | (_, None) => false,
        }
    }
}
