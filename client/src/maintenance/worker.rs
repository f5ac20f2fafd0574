//! One worker a session key: a run, and at most one that follows it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use contextwire_engine::{Maintain, Maintained, Session};
use lru::LruCache;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::task::{MaintenanceTask, TaskState};
use super::{Offered, Refusal, note, outcome};
use crate::hooks::Hooks;

/// Session keys whose last task is remembered.
const TASKS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// One run as it is asked for.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) hooks: Hooks,
    pub(super) session: Session,
    pub(super) request: Maintain,
}

/// All workers of a host.
#[derive(Debug)]
pub(super) struct Workers {
    stop: CancellationToken,
    desk: Mutex<Desk>,
    active: watch::Sender<usize>,
}

#[derive(Debug)]
struct Desk {
    running: HashMap<String, Slot>,
    tasks: LruCache<String, Noted>,
    begun: u64,
    is_closed: bool,
}

/// A worker's place.
#[derive(Debug)]
struct Slot {
    number: u64,
    cancel: CancellationToken,
    rerun: Option<Job>,
}

#[derive(Debug)]
struct Noted {
    number: u64,
    state: TaskState,
    runs: u32,
    begun: Instant,
    took: Option<Duration>,
}

impl Workers {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            desk: Mutex::new(Desk {
                running: HashMap::new(),
                tasks: LruCache::new(TASKS),
                begun: 0,
                is_closed: false,
            }),
            active: watch::Sender::new(0),
        }
    }

    pub(super) fn is_active(&self, key: &str) -> bool {
        self.lock().running.contains_key(key)
    }

    /// Begins a worker, or leaves the job for the one that runs.
    pub(super) fn take(self: &Arc<Self>, key: String, job: Job) -> Offered {
        let worker = {
            let mut desk = self.lock();
            if desk.is_closed || self.stop.is_cancelled() {
                tracing::warn!(error = %Refusal::Closing, "maintenance is skipped");
                return Offered::Refused(Refusal::Closing);
            }
            if let Some(slot) = desk.running.get_mut(&key) {
                slot.rerun = Some(job);
                return Offered::Coalesced;
            }
            desk.begin(key, self.stop.child_token())
        };
        self.active.send_modify(|count| *count += 1);
        tokio::spawn(worker.work(Arc::downgrade(self), self.active.clone(), job));
        Offered::Scheduled
    }

    /// Whether there was a run to end.
    pub(super) fn supersede(&self, key: &str) -> bool {
        let slot = self.lock().running.remove(key);
        slot.is_some_and(|slot| {
            slot.cancel.cancel();
            true
        })
    }

    pub(super) fn tasks(&self) -> Vec<MaintenanceTask> {
        let desk = self.lock();
        let task = |(key, noted): (&String, &Noted)| MaintenanceTask {
            session_key: key.clone(),
            state: noted.state.clone(),
            runs: noted.runs,
            elapsed: noted.took.unwrap_or_else(|| noted.begun.elapsed()),
        };
        desk.tasks.iter().map(task).collect()
    }

    pub(super) async fn settled(&self) {
        let mut active = self.active.subscribe();
        // The sender lives as long as this.
        let _settled = active.wait_for(|count| *count == 0).await.is_ok();
    }

    pub(super) async fn close(&self) {
        self.lock().is_closed = true;
        self.stop.cancel();
        self.settled().await;
    }

    #[cfg(test)]
    pub(super) fn active(&self) -> watch::Receiver<usize> {
        self.active.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn begin(&mut self, key: String, cancel: CancellationToken) -> Worker {
        self.begun += 1;
        let number = self.begun;
        let slot = Slot {
            number,
            cancel: cancel.clone(),
            rerun: None,
        };
        self.running.insert(key.clone(), slot);
        let noted = Noted {
            number,
            state: TaskState::Queued,
            runs: 0,
            begun: Instant::now(),
            took: None,
        };
        self.tasks.put(key.clone(), noted);
        Worker {
            key,
            number,
            cancel,
        }
    }

    /// The job that came meanwhile; without one the worker's place is free again.
    fn next(&mut self, worker: &Worker) -> Option<Job> {
        let slot = self.running.get_mut(&worker.key)?;
        if slot.number != worker.number {
            return None;
        }
        let rerun = slot.rerun.take();
        if rerun.is_none() || worker.cancel.is_cancelled() {
            self.running.remove(&worker.key);
            return None;
        }
        rerun
    }

    fn note(&mut self, worker: &Worker, change: impl FnOnce(&mut Noted)) {
        let noted = self.tasks.peek_mut(&worker.key);
        if let Some(noted) = noted.filter(|noted| noted.number == worker.number) {
            change(noted);
        }
    }
}

/// Who runs the jobs of one key.
struct Worker {
    key: String,
    number: u64,
    cancel: CancellationToken,
}

/// A worker counts and has its place for as long as it is there, whatever ends it.
struct Active {
    count: watch::Sender<usize>,
    workers: Weak<Workers>,
    place: (String, u64),
}

impl Drop for Active {
    fn drop(&mut self) {
        let (key, number) = &self.place;
        if let Some(workers) = self.workers.upgrade() {
            let mut desk = workers.lock();
            let is_own = desk
                .running
                .get(key)
                .is_some_and(|slot| slot.number == *number);
            if is_own {
                desk.running.remove(key);
            }
        }
        self.count
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Worker {
    async fn work(self, workers: Weak<Workers>, count: watch::Sender<usize>, first: Job) {
        let _active = Active {
            count,
            workers: Weak::clone(&workers),
            place: (self.key.clone(), self.number),
        };
        let mut job = first;
        loop {
            self.note(&workers, |noted| {
                noted.state = TaskState::Running;
                noted.runs += 1;
            });
            // A dropped call is cancelled in band, and counts as nobody's failure.
            let run = self.cancel.run_until_cancelled(run(job)).await;
            let state = run.unwrap_or(TaskState::Cancelled);
            self.note(&workers, |noted| {
                noted.state = state;
                noted.took = Some(noted.begun.elapsed());
            });
            let Some(workers) = workers.upgrade() else {
                return;
            };
            let Some(next) = workers.lock().next(&self) else {
                return;
            };
            job = next;
        }
    }

    fn note(&self, workers: &Weak<Workers>, change: impl FnOnce(&mut Noted)) {
        if let Some(workers) = workers.upgrade() {
            workers.lock().note(self, change);
        }
    }
}

async fn run(job: Job) -> TaskState {
    let answer = job.hooks.maintain(&job.session, job.request).await;
    let outcome = outcome(answer);
    note(&outcome);
    match outcome {
        Offered::Failed(error) => TaskState::Failed(error),
        Offered::Done(done) => TaskState::Done(done),
        Offered::Skipped | Offered::Scheduled | Offered::Coalesced | Offered::Refused(_) => {
            TaskState::Done(Maintained::default())
        }
    }
}
