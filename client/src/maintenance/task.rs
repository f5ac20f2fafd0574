//! A background run as a user may see it.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::Maintained;

use super::SHOWN_AFTER;
use crate::error::CallError;

/// How far a task is.
#[derive(Clone, Debug)]
pub enum TaskState {
    /// Accepted, not begun.
    Queued,
    /// At work.
    Running,
    /// Done, all runs of it.
    Done(Maintained),
    /// The last run failed.
    Failed(Arc<CallError>),
    /// Superseded, or the host went away.
    Cancelled,
}

/// Background maintenance of one session key, from its first offer until its worker rests.
#[derive(Clone, Debug)]
pub struct MaintenanceTask {
    /// Of which session.
    pub session_key: String,
    /// How far it is.
    pub state: TaskState,
    /// Runs that have begun: more than one where offers came meanwhile.
    pub runs: u32,
    /// How long it has taken so far.
    pub elapsed: Duration,
}

impl MaintenanceTask {
    /// Whether a user is to see it: it failed, or takes longer than [`SHOWN_AFTER`].
    pub fn is_shown(&self) -> bool {
        matches!(self.state, TaskState::Failed(_)) || self.elapsed > SHOWN_AFTER
    }

    /// One line for the user; nothing while there is nothing to say.
    pub fn summary(&self) -> Option<String> {
        match &self.state {
            TaskState::Queued => None,
            TaskState::Running => Some("context maintenance is running".to_owned()),
            TaskState::Done(done) if done.changed => Some(format!(
                "context maintenance rewrote {} entries and freed {} bytes",
                done.rewritten_entries, done.bytes_freed
            )),
            TaskState::Done(_) => Some("context maintenance changed nothing".to_owned()),
            TaskState::Failed(error) => Some(format!("context maintenance failed: {error}")),
            TaskState::Cancelled => Some("context maintenance was cancelled".to_owned()),
        }
    }
}
