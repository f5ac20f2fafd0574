//! What a call sends, and whether a connection takes it.
//!
//! HTTP/2 has a window for all streams of a connection. An engine that does not read one of them
//! keeps the part that its bytes take, and with the last of it every other call waits as well. Where
//! the engine has begun to answer, such a stream cannot even be reset: its next frame waits for room
//! in the window, and whoever waits with it looks at nothing else.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use contextwire_proto::limits;
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep, sleep_until};
use tonic::Status;
use tonic::body::Body;

use super::{Connection, Shared};

/// A call's way through a connection; goes with its request, by the request's extensions.
///
/// A call that ends while nothing of it was taken for the whole of the grace after a cancel tells
/// the line to go by another connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    sending: Arc<Sending>,
    way: SetOnce<Way>,
}

#[derive(Debug)]
struct Way {
    line: Weak<Shared>,
    connection: Arc<Connection>,
}

/// Since when a frame waits for room in the connection; nothing while the connection asks for more,
/// and when it is done.
#[derive(Debug, Default)]
struct Sending(Mutex<Option<Instant>>);

impl Passage {
    /// The body that is sent in the place of this one.
    pub(super) fn through(
        &self,
        line: &Arc<Shared>,
        connection: &Arc<Connection>,
        body: Body,
    ) -> Body {
        let way = Way {
            line: Arc::downgrade(line),
            connection: Arc::clone(connection),
        };
        // A request that is sent twice is none of ours.
        let _again = self.0.way.set(way).is_err();
        let sending = Arc::clone(&self.0.sending);
        Body::new(Outgoing { body, sending })
    }

    /// Ends when the connection was given up and does not take what this call sends either.
    pub(crate) async fn lost(&self) {
        let way = self.0.way.wait().await;
        way.connection.given_up.cancelled().await;
        loop {
            let waits = self.0.sending.waits_since();
            match waits {
                Some(since) => sleep_until(since + limits::CANCEL_GRACE).await,
                None => sleep(limits::CANCEL_GRACE).await,
            }
            if waits.is_some() && self.0.sending.waits_since() == waits {
                return;
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let (Some(way), Some(since)) = (self.way.get(), self.sending.waits_since()) else {
            return;
        };
        let Some(line) = way.line.upgrade() else {
            return;
        };
        if since.elapsed() >= limits::CANCEL_GRACE {
            line.replace(&way.connection);
            return;
        }
        // The engine ended the call itself; what is still on its way to it may yet be taken back.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (sending, line) = (Arc::clone(&self.sending), Arc::downgrade(&line));
        let connection = Arc::clone(&way.connection);
        runtime.spawn(async move {
            sleep_until(since + limits::CANCEL_GRACE).await;
            if sending.waits_since() == Some(since)
                && let Some(line) = line.upgrade()
            {
                line.replace(&connection);
            }
        });
    }
}

impl Sending {
    fn waits_since(&self) -> Option<Instant> {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that notes which of its frames were taken: HTTP/2 asks for the next one only then.
#[derive(Debug)]
struct Outgoing {
    body: Body,
    sending: Arc<Sending>,
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        *self.sending.lock() = None;
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if matches!(&frame, Some(Ok(frame)) if frame.is_data()) {
            *self.sending.lock() = Some(Instant::now());
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

impl Drop for Outgoing {
    fn drop(&mut self) {
        *self.sending.lock() = None;
    }
}
