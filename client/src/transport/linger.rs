//! A call that is given up is not dropped but closed: a cancel in band, and only then a reset
//! (R1.5, R7.1).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use contextwire_proto::limits;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Runs a call in place; dropped early, it lets the rest run beside for at most the cancel grace.
pub(crate) struct Linger<T: Send + 'static> {
    work: Option<BoxFuture<'static, T>>,
    stop: CancellationToken,
    closing: TaskTracker,
    runtime: Option<Handle>,
}

impl<T: Send + 'static> Linger<T> {
    pub(crate) fn new(
        work: BoxFuture<'static, T>,
        stop: CancellationToken,
        closing: TaskTracker,
    ) -> Self {
        Self {
            work: Some(work),
            stop,
            closing,
            runtime: Handle::try_current().ok(),
        }
    }
}

impl<T: Send + 'static> Future for Linger<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = self.work.as_mut() else {
            return Poll::Pending;
        };
        let outcome = std::task::ready!(work.as_mut().poll(cx));
        self.work = None;
        Poll::Ready(outcome)
    }
}

impl<T: Send + 'static> Drop for Linger<T> {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        self.stop.cancel();
        if let Some(runtime) = &self.runtime {
            let close = async move {
                // Past the grace the stream is dropped, which resets it.
                let _reset = timeout(limits::CANCEL_GRACE, work).await.is_err();
            };
            self.closing.spawn_on(close, runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dropped_call_is_told_to_stop_and_gets_a_second() {
        let (stop, closing) = (CancellationToken::new(), TaskTracker::new());
        let told = stop.clone();
        let (noted, note) = tokio::sync::oneshot::channel();
        let work = Box::pin(async move {
            told.cancelled().await;
            noted.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        let mut call = Linger::new(work, stop, closing.clone());
        assert!(futures_util::poll!(Pin::new(&mut call)).is_pending());
        let started = Instant::now();
        drop(call);
        note.await.unwrap();
        closing.close();
        closing.wait().await;
        assert_eq!(started.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test]
    async fn a_finished_call_leaves_nothing_behind() {
        let (stop, closing) = (CancellationToken::new(), TaskTracker::new());
        let call = Linger::new(Box::pin(async { 7 }), stop.clone(), closing.clone());
        assert_eq!(call.await, 7);
        assert!(!stop.is_cancelled() && closing.is_empty());
    }
}
