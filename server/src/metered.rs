//! The body of a request, counted while it arrives.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use contextwire_engine::Hook;
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use crate::admit::Admitted;
use crate::budget::START_LIMIT;
use crate::refuse;

/// Ends with a refusal where the server has no room for more, and where a unary request stops in
/// the middle: nobody reads that one before it is whole. A stream has its own limits.
#[derive(Debug)]
pub(crate) struct Metered {
    body: Body,
    admitted: Admitted,
    hook: Hook,
    /// Runs while a unary request is waited for.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Metered {
    pub(crate) fn new(body: Body, admitted: Admitted, hook: Hook) -> Self {
        Self {
            body,
            admitted,
            hook,
            silence: None,
        }
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        if self.hook.profile().streaming {
            return Poll::Pending;
        }
        let silence = self
            .silence
            .get_or_insert_with(|| Box::pin(sleep(START_LIMIT)));
        ready!(silence.as_mut().poll(cx));
        Poll::Ready(refuse::unfinished(self.hook))
    }
}

impl http_body::Body for Metered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            return self.wait(cx).map(|refusal| Some(Err(refusal)));
        };
        self.silence = None;
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.admitted.hold(data.len())?;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use contextwire_engine::AnyEngine;
    use contextwire_engine::testing::ScriptedEngine;
    use contextwire_proto::{Reason, reason_of};
    use http_body::Body as _;
    use tokio::time::Instant;

    use super::*;
    use crate::options::ServerOptions;
    use crate::shared::Shared;

    /// A request that sends a byte every so often, and then nothing.
    struct Slow {
        bytes: u32,
        every: Duration,
        next: Option<Pin<Box<Sleep>>>,
    }

    impl http_body::Body for Slow {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            if self.bytes == 0 {
                return Poll::Pending;
            }
            let every = self.every;
            let next = self.next.get_or_insert_with(|| Box::pin(sleep(every)));
            ready!(next.as_mut().poll(cx));
            self.next = None;
            self.bytes -= 1;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    fn metered(hook: Hook, bytes: u32, max_bytes_in_flight: u64) -> Metered {
        let options = ServerOptions {
            max_bytes_in_flight,
            ..ServerOptions::default()
        };
        let shared = Shared::new(AnyEngine::new(ScriptedEngine::new([])), options);
        let body = Body::new(Slow {
            bytes,
            every: Duration::from_secs(9),
            next: None,
        });
        Metered::new(body, Admitted::new(&shared).unwrap(), hook)
    }

    async fn next(body: &mut Metered) -> Result<Frame<Bytes>, Status> {
        poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))
            .await
            .expect("a body that goes on")
    }

    #[tokio::test(start_paused = true)]
    async fn a_unary_request_that_stops_in_the_middle_ends_and_a_slow_one_does_not() {
        let mut body = metered(Hook::Ingest, 3, 100);
        let started = Instant::now();
        for _ in 0..3 {
            next(&mut body).await.unwrap();
        }
        let status = next(&mut body).await.unwrap_err();
        assert_eq!(reason_of(&status), Some(Reason::DeadlineExceeded));
        assert_eq!(started.elapsed(), Duration::from_secs(3 * 9 + 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_may_be_silent() {
        let mut body = metered(Hook::Assemble, 0, 100);
        let wait = tokio::time::timeout(Duration::from_hours(1), next(&mut body));
        assert!(wait.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_byte_that_finds_no_room_ends_the_request() {
        let mut body = metered(Hook::Assemble, 3, 2);
        for _ in 0..2 {
            next(&mut body).await.unwrap();
        }
        let status = next(&mut body).await.unwrap_err();
        assert_eq!(reason_of(&status), Some(Reason::Quota));
    }
}
