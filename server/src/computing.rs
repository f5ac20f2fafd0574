//! Engines compute, and must not hold up the server while they do.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio::time::Instant;

/// Longest stretch without an await of an engine that counts as quick.
const QUICK: Duration = Duration::from_micros(500);

/// Quick stretches in a row after which an engine is trusted.
const TRUSTED: u32 = 32;

/// How an engine has kept its workers so far.
///
/// On a worker as any other task a computing engine could freeze everything: the worker that
/// computes may be the one that watched the sockets, and then nobody does, for all hosts and all
/// their cancels. Giving the worker's place away costs as much as a whole quick call, so an engine
/// that has always been quick keeps its place until it is slow once.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    quick: AtomicU32,
}

impl Pace {
    /// Runs an engine's work so that it may compute without awaiting for as long as it likes.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        // A runtime of one thread has nobody to hand its sockets to.
        if Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread {
            return work.await;
        }
        let mut work = pin!(work);
        poll_fn(|cx| {
            let started = Instant::now();
            let polled = if self.is_trusted() {
                work.as_mut().poll(cx)
            } else {
                block_in_place(|| work.as_mut().poll(cx))
            };
            self.note(started.elapsed());
            polled
        })
        .await
    }

    /// Whether it has been quick so far.
    pub(crate) fn is_trusted(&self) -> bool {
        self.quick.load(Ordering::Relaxed) >= TRUSTED
    }

    fn note(&self, stretch: Duration) {
        if stretch > QUICK {
            self.quick.store(0, Ordering::Relaxed);
        } else if !self.is_trusted() {
            self.quick.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_trusted_after_quick_stretches_and_until_a_slow_one() {
        let pace = Pace::default();
        (0..TRUSTED).for_each(|_| {
            assert!(!pace.is_trusted());
            pace.note(QUICK);
        });
        assert!(pace.is_trusted());
        pace.note(QUICK * 2);
        assert!(!pace.is_trusted());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_computing_engine_leaves_the_only_worker_to_others() {
        let pace = std::sync::Arc::new(Pace::default());
        let (sent, received) = std::sync::mpsc::channel();
        let engine = tokio::spawn(async move { pace.run(async move { received.recv() }).await });
        // Runs only while the engine, which waits for it without awaiting, has given its place away.
        tokio::spawn(async move { sent.send(7) })
            .await
            .unwrap()
            .unwrap();
        assert_eq!(engine.await.unwrap(), Ok(7));
    }
}
