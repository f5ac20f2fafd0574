//! Draining: new hooks are refused, running ones get their time (PROTOCOL 11).

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Which phase of its life the server is in, and what runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    refusing: CancellationToken,
    stopping: CancellationToken,
    running: TaskTracker,
}

/// A running hook; the drain waits until it is dropped.
#[derive(Debug)]
pub(crate) struct HookPermit {
    _running: TaskTrackerToken,
    stopping: CancellationToken,
}

impl HookPermit {
    /// Ends when the grace is over and the hook has to stop.
    pub(crate) async fn stopping(&self) {
        self.stopping.cancelled().await;
    }
}

impl Drain {
    /// Admits a hook, unless the server drains.
    pub(crate) fn admit(&self) -> Option<HookPermit> {
        // The token comes first: a drain that starts in between waits for this hook.
        let running = self.running.token();
        if self.refusing.is_cancelled() {
            return None;
        }
        Some(HookPermit {
            _running: running,
            stopping: self.stopping.clone(),
        })
    }

    /// Whether new hooks are refused.
    pub(crate) fn is_draining(&self) -> bool {
        self.refusing.is_cancelled()
    }

    /// Refuses new hooks from now on.
    pub(crate) fn refuse(&self) {
        self.refusing.cancel();
        self.running.close();
    }

    /// Waits for the running hooks, at most `grace`, then tells the rest to stop.
    pub(crate) async fn finish(&self, grace: Duration) {
        if timed_out(grace, self.running.wait()).await {
            tracing::warn!(
                hooks = self.running.len(),
                "the grace is over, running hooks are stopped"
            );
        }
        self.stopping.cancel();
    }
}

async fn timed_out(limit: Duration, work: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(limit, work).await.is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_drain_refuses_new_hooks_and_waits_for_running_ones() {
        let drain = Drain::default();
        let permit = drain.admit().unwrap();
        drain.refuse();
        assert!(drain.admit().is_none());
        let finish = drain.finish(Duration::from_secs(30));
        let run = async {
            tokio::time::advance(Duration::from_secs(5)).await;
            drop(permit);
        };
        let start = tokio::time::Instant::now();
        tokio::join!(finish, run);
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hook_that_outlives_the_grace_is_told_to_stop() {
        let drain = Drain::default();
        let permit = drain.admit().unwrap();
        drain.refuse();
        tokio::join!(drain.finish(Duration::from_secs(30)), permit.stopping());
    }
}
