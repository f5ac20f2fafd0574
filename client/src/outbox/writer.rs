//! The one thread that has the file: whatever waits goes into one transaction, one flush to the disk.

use std::path::Path;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::OutboxError;

/// Jobs that share a transaction at most.
const BATCH: usize = 64;
/// Jobs that may wait; more wait outside.
const QUEUE: usize = 256;

type Outcome<T> = Result<T, OutboxError>;

/// The handle to the thread. Dropping it lets the waiting jobs finish and closes the file.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(path: &Path, connection: Connection) -> Outcome<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("outbox".to_owned())
            .spawn(move || serve(&connection, jobs))
            .map_err(|error| OutboxError::open(path, error))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `act` in a transaction, also where nobody waits for it any more. An `Ok` comes back only
    /// after the commit is on the disk; an `Err` leaves nothing behind.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Work {
            act: Some(act),
            outcome: None,
            reply,
        });
        let queue = self.queue.as_ref().ok_or(OutboxError::Closed)?;
        queue.send(job).await.map_err(|_| OutboxError::Closed)?;
        answer.await.map_err(|_| OutboxError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was told where it happened.
            let _ended = thread.join().is_err();
        }
    }
}

/// A call on its way through the thread.
trait Job: Send {
    /// Does the work; false asks for it to be undone.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Answers, after the transaction ended.
    fn settle(self: Box<Self>, failure: Option<&OutboxError>);
}

struct Work<T, F> {
    act: Option<F>,
    outcome: Option<Outcome<T>>,
    reply: oneshot::Sender<Outcome<T>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Outcome<T> + Send> Job for Work<T, F> {
    fn run(&mut self, connection: &Connection) -> bool {
        let outcome = self.act.take().map(|act| act(connection));
        let keep = matches!(outcome, Some(Ok(_)));
        self.outcome = outcome;
        keep
    }

    fn settle(self: Box<Self>, failure: Option<&OutboxError>) {
        let answer = match (self.outcome, failure) {
            (Some(Err(own)), _) => Err(own),
            (_, Some(failure)) => Err(failure.clone()),
            (Some(done), None) => done,
            (None, None) => Err(OutboxError::Closed),
        };
        // Whoever asked may have stopped waiting.
        let _waited = self.reply.send(answer).is_ok();
    }
}

fn serve(connection: &Connection, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
    while let Some(first) = jobs.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = jobs.try_recv()
        {
            batch.push(next);
        }
        let failure = transaction(connection, &mut batch).err();
        for job in batch {
            job.settle(failure.as_ref());
        }
    }
}

/// All jobs in one transaction. An `Err` says that none of them happened.
fn transaction(connection: &Connection, batch: &mut [Box<dyn Job>]) -> Outcome<()> {
    execute(connection, "BEGIN IMMEDIATE")?;
    let done = match batch {
        [only] => {
            let keep = only.run(connection);
            // A full disk ends a transaction by itself.
            if connection.is_autocommit() {
                return if keep { Err(OutboxError::Full) } else { Ok(()) };
            }
            execute(connection, if keep { "COMMIT" } else { "ROLLBACK" })
        }
        several => several
            .iter_mut()
            .try_for_each(|job| nested(connection, job.as_mut()))
            .and_then(|()| execute(connection, "COMMIT")),
    };
    if !connection.is_autocommit() {
        execute(connection, "ROLLBACK")?;
    }
    done
}

/// One job in a transaction of several: its failure undoes its own work alone.
fn nested(connection: &Connection, job: &mut dyn Job) -> Outcome<()> {
    execute(connection, "SAVEPOINT job")?;
    let keep = job.run(connection);
    if connection.is_autocommit() {
        return Err(OutboxError::Full);
    }
    if !keep {
        execute(connection, "ROLLBACK TO job")?;
    }
    execute(connection, "RELEASE job")
}

fn execute(connection: &Connection, sql: &str) -> Outcome<()> {
    connection.prepare_cached(sql)?.execute(())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(connection: &Connection, id: &str) -> Outcome<()> {
        connection.execute("INSERT INTO instance (id) VALUES (?1)", [id])?;
        Ok(())
    }

    #[tokio::test]
    async fn one_failure_among_several_undoes_its_own_work_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o");
        let file = crate::outbox::connection::open(&path, None).unwrap();
        let writer = Writer::start(&path, file).unwrap();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let holding = writer.run(move |_| {
            let _go = held.recv().is_ok();
            Ok(())
        });
        let fails = writer.run(|connection| {
            insert(connection, "bad")?;
            Err::<(), _>(OutboxError::UnknownRow { id: 1 })
        });
        let works = writer.run(|connection| insert(connection, "good"));
        let released = async move { hold.send(()).unwrap() };
        let (_, failed, worked, ()) = tokio::join!(holding, fails, works, released);
        assert!(matches!(failed, Err(OutboxError::UnknownRow { id: 1 })));
        worked.unwrap();
        let ids = writer.run(|connection| {
            let ids = "SELECT group_concat(id) FROM instance";
            Ok(connection.query_row(ids, (), |row| row.get::<_, String>(0))?)
        });
        assert_eq!(ids.await.unwrap(), "good");
    }
}
