//! The thread that reads beside the writer, so that a read never waits for a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use contextwire_engine::{EngineError, ErrorKind};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::SqlError;
use crate::tx::Tx;

/// Reads that may wait; more wait outside.
const QUEUE: usize = 1024;

type Job = Box<dyn FnOnce(&Tx) + Send>;

/// The handle to the thread. Dropping it closes the file.
#[derive(Debug)]
pub struct Reader {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no room for another thread.
    pub fn start(connection: Connection) -> std::io::Result<Self> {
        let (queue, mut jobs) = mpsc::channel::<Job>(QUEUE);
        let tx = Tx::new(connection);
        let thread = std::thread::Builder::new()
            .name("store-reader".to_owned())
            .spawn(move || {
                while let Some(job) = jobs.blocking_recv() {
                    job(&tx);
                }
            })?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `look` on one state of the file.
    ///
    /// # Errors
    /// Those of `look`, and the store's.
    pub async fn run<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Tx) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |tx| {
            let ran = catch_unwind(AssertUnwindSafe(|| snapshot(tx, look)));
            let outcome = ran.unwrap_or_else(|_| {
                Err(EngineError::new(
                    ErrorKind::Failure,
                    "the store panicked in this call",
                ))
            });
            let _waited = reply.send(outcome).is_ok();
        });
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was logged where it happened.
            let _ended = thread.join().is_err();
        }
    }
}

fn snapshot<T>(
    tx: &Tx,
    look: impl FnOnce(&Tx) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let transaction = tx.connection().unchecked_transaction().map_err(SqlError)?;
    let seen = look(tx)?;
    transaction.finish().map_err(SqlError)?;
    Ok(seen)
}

fn gone() -> EngineError {
    EngineError::new(ErrorKind::Failure, "the store's reader is gone")
}
