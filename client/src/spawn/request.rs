//! A child that a host wants.

use std::time::Duration;

use contextwire_engine::{ContextMode, PrepareSubagentSpawn, Session};

use super::error::SpawnError;

/// The least time that a preparation waits for its child (R9.1): queues are slower than runs.
const LEAST_TTL: Duration = Duration::from_mins(1);

/// A child to be started.
#[derive(Clone, Debug)]
pub struct SpawnRequest {
    /// The session that wants it; it needs a key.
    pub parent: Session,
    /// The provisional session of the child; it needs a key.
    pub child: Session,
    /// How much the child sees, with everything settled: see [`child_context`].
    pub mode: ContextMode,
    /// Whether the child wants little context of its own.
    pub is_light: bool,
    /// How long the child may run; absent or zero: as long as it likes.
    pub run_timeout: Option<Duration>,
}

impl SpawnRequest {
    /// An isolated child without a limit.
    pub fn new(parent: Session, child: Session) -> Self {
        Self {
            parent,
            child,
            mode: ContextMode::Isolated,
            is_light: false,
            run_timeout: None,
        }
    }

    pub(super) fn check(&self) -> Result<(), SpawnError> {
        for (whose, session) in [("parent's", &self.parent), ("child's", &self.child)] {
            if session.key.as_deref().is_none_or(str::is_empty) {
                return Err(SpawnError::NoSessionKey { whose });
            }
        }
        let agents = (&self.parent.agent_id, &self.child.agent_id);
        if let (ContextMode::Fork, (Some(parent), Some(child))) = (self.mode, agents)
            && parent != child
        {
            return Err(SpawnError::ForkAcrossAgents {
                parent: parent.clone(),
                child: child.clone(),
            });
        }
        Ok(())
    }

    /// The engine's part of it.
    pub(super) fn asked(&self, spawn_id: &str) -> PrepareSubagentSpawn {
        let key = |session: &Session| session.key.clone().unwrap_or_default();
        let id = |session: &Session| Some(session.id.as_str().to_owned());
        PrepareSubagentSpawn {
            spawn_id: spawn_id.to_owned(),
            parent_session_key: key(&self.parent),
            child_session_key: key(&self.child),
            context_mode: Some(self.mode),
            parent_session_id: id(&self.parent),
            parent_locator: self.parent.locator.clone(),
            child_session_id: id(&self.child),
            child_locator: self.child.locator.clone(),
            ttl: preparation_ttl(self.run_timeout),
        }
    }
}

/// How much a child sees: what was asked for, else what the policy of the channel says where a thread
/// of it was asked for, else nothing. A fork that a policy skips is an isolated child.
pub fn child_context(
    asked: Option<ContextMode>,
    thread_policy: Option<ContextMode>,
    skips_forks: bool,
) -> ContextMode {
    let mode = asked.or(thread_policy).unwrap_or(ContextMode::Isolated);
    if mode == ContextMode::Fork && skips_forks {
        return ContextMode::Isolated;
    }
    mode
}

/// How long a preparation waits for its child's start: whole seconds of the time that it may run, a
/// minute at least; absent (ten minutes, by the engine) for one without a limit (R9.1).
pub fn preparation_ttl(run_timeout: Option<Duration>) -> Option<Duration> {
    let seconds = run_timeout?.as_secs();
    (seconds > 0).then(|| Duration::from_secs(seconds).max(LEAST_TTL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c288_a_preparation_lives_as_long_as_its_child_may_run_a_minute_at_least() {
        let ttl = |ms| preparation_ttl(Some(Duration::from_millis(ms)));
        assert_eq!(ttl(90_900), Some(Duration::from_secs(90)));
        assert_eq!(ttl(30_000), Some(Duration::from_mins(1)));
        assert_eq!((ttl(0), preparation_ttl(None)), (None, None));
    }

    #[test]
    fn c296_what_was_asked_goes_before_a_threads_policy_and_a_skipped_fork_is_isolated() {
        use ContextMode::{Fork, Isolated};
        assert_eq!(child_context(Some(Fork), Some(Isolated), false), Fork);
        assert_eq!(child_context(Some(Isolated), Some(Fork), false), Isolated);
        assert_eq!(child_context(None, Some(Fork), false), Fork);
        assert_eq!(child_context(None, None, false), Isolated);
        assert_eq!(child_context(Some(Fork), None, true), Isolated);
    }
}
