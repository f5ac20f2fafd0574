//! The one thread that writes: whatever waits goes into one transaction, one flush to the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use contextwire_engine::{EngineError, ErrorKind, HookContext, Message};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::kind;
use crate::tx::Tx;

/// Calls that may wait; more wait outside.
const QUEUE: usize = 1024;
/// Calls that share a transaction at most.
const BATCH: usize = 256;

/// What a job does inside the transaction.
type Outcome<T> = Result<T, EngineError>;

/// The handle to the thread. Dropping it lets the waiting calls finish and closes the file.
#[derive(Debug)]
pub struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no room for another thread.
    pub fn start(
        connection: Connection,
        weigh: fn(&Message) -> Option<u32>,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(&mut Tx::weighing(connection, weigh), jobs))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `act` in a transaction. An `Ok` comes back only after the commit is on the disk; an
    /// `Err` leaves nothing behind. A call that is cancelled before its turn has no effect.
    ///
    /// # Errors
    /// Those of `act`, and the store's.
    pub fn run<T: Send + 'static>(
        &self,
        cx: &HookContext,
        act: impl FnOnce(&mut Tx) -> Outcome<T> + Send + 'static,
    ) -> impl Future<Output = Outcome<T>> + Send {
        let cx = cx.clone();
        let (job, answer) = work(move |tx: &mut Tx| {
            cx.check()?;
            act(tx)
        });
        self.wait(job, answer)
    }

    /// The same for an operator, who does not go away.
    ///
    /// # Errors
    /// Those of `act`, and the store's.
    pub fn run_for_operator<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Tx) -> Outcome<T> + Send + 'static,
    ) -> impl Future<Output = Outcome<T>> + Send {
        let (job, answer) = work(act);
        self.wait(job, answer)
    }

    async fn wait<T>(&self, job: Box<dyn Job>, answer: Reply<T>) -> Outcome<T> {
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Hands over work that nobody waits for; dropped where the queue is full.
    pub fn submit(&self, act: impl FnOnce(&mut Tx) -> Outcome<()> + Send + 'static) {
        let (job, _) = work(act);
        let full = self
            .queue
            .as_ref()
            .is_none_or(|queue| queue.try_send(job).is_err());
        if full {
            tracing::warn!("the store's queue is full, a release waits for its lease");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was logged where it happened.
            let _ended = thread.join().is_err();
        }
    }
}

fn gone() -> EngineError {
    EngineError::new(ErrorKind::Failure, "the store's writer is gone")
}

/// Why a transaction as a whole came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
enum Failure {
    #[error("the store cannot be written")]
    Sql(#[from] Arc<rusqlite::Error>),
    /// As when the disk is full in the middle of it.
    #[error("the store gave a transaction of several calls up")]
    GivenUp,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

impl From<&Failure> for EngineError {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Sql(error) => {
                EngineError::new(kind(error), failure.to_string()).with_source(Arc::clone(error))
            }
            Failure::GivenUp => EngineError::transient(failure.to_string()),
        }
    }
}

/// A call on its way through the thread.
trait Job: Send {
    /// Does the work; false asks for it to be undone.
    fn run(&mut self, tx: &mut Tx) -> bool;
    /// Answers, after the transaction ended.
    fn settle(self: Box<Self>, failure: Option<&Failure>);
}

struct Work<T, F> {
    act: Option<F>,
    outcome: Option<Outcome<T>>,
    reply: oneshot::Sender<Outcome<T>>,
}

impl<T: Send, F: FnOnce(&mut Tx) -> Outcome<T> + Send> Job for Work<T, F> {
    fn run(&mut self, tx: &mut Tx) -> bool {
        let Some(act) = self.act.take() else {
            return false;
        };
        let ran = catch_unwind(AssertUnwindSafe(|| act(tx)));
        let outcome = ran.unwrap_or_else(|_| {
            Err(EngineError::new(
                ErrorKind::Failure,
                "the store panicked in this call",
            ))
        });
        let keep = outcome.is_ok();
        self.outcome = Some(outcome);
        keep
    }

    fn settle(self: Box<Self>, failure: Option<&Failure>) {
        let Self { outcome, reply, .. } = *self;
        let answer = match (outcome, failure) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(failure)) => Err(failure.into()),
            (Some(done), None) => done,
            (None, None) => Err(gone()),
        };
        // Whoever asked may have stopped waiting.
        let _waited = reply.send(answer).is_ok();
    }
}

type Reply<T> = oneshot::Receiver<Outcome<T>>;

/// A call on its way, and where its answer comes.
fn work<T: Send + 'static>(
    act: impl FnOnce(&mut Tx) -> Outcome<T> + Send + 'static,
) -> (Box<dyn Job>, Reply<T>) {
    let (reply, answer) = oneshot::channel();
    let job = Work {
        act: Some(act),
        outcome: None,
        reply,
    };
    (Box::new(job), answer)
}

fn serve(tx: &mut Tx, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = jobs.try_recv()
        {
            batch.push(next);
        }
        let failure = transaction(tx, &mut batch).err();
        for job in batch {
            job.settle(failure.as_ref());
        }
    }
}

/// All jobs in one transaction. An `Err` says that none of them happened.
fn transaction(tx: &mut Tx, batch: &mut [Box<dyn Job>]) -> Result<(), Failure> {
    execute(tx, "BEGIN IMMEDIATE")?;
    let done = match batch {
        [only] => {
            let end = if only.run(tx) { "COMMIT" } else { "ROLLBACK" };
            execute(tx, end)
        }
        several => several
            .iter_mut()
            .try_for_each(|job| nested(tx, job.as_mut()))
            .and_then(|()| execute(tx, "COMMIT")),
    };
    if !tx.connection().is_autocommit() {
        execute(tx, "ROLLBACK")?;
    }
    done
}

/// One job in a transaction of several: its failure undoes its own work alone.
fn nested(tx: &mut Tx, job: &mut dyn Job) -> Result<(), Failure> {
    execute(tx, "SAVEPOINT job")?;
    let keep = job.run(tx);
    if tx.connection().is_autocommit() {
        return Err(Failure::GivenUp);
    }
    if !keep {
        execute(tx, "ROLLBACK TO job")?;
    }
    execute(tx, "RELEASE job")
}

fn execute(tx: &Tx, sql: &str) -> Result<(), Failure> {
    tx.connection().prepare_cached(sql)?.execute(())?;
    Ok(())
}

#[cfg(test)]
mod tests;
