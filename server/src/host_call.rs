//! Calls back to the host, on the stream of the hook that makes them (R1.6).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{HookContext, HostAnswer, HostCall, HostCallError, HostCalls, HostReply};
use contextwire_proto::frame::{HostCallRequest, HostCallResult};
use contextwire_proto::{CallIds, limits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

type Outcome = Result<HostReply, HostCallError>;

/// The engine's end: asks whoever reads the stream.
#[derive(Debug)]
pub(crate) struct StreamHost {
    ids: Mutex<CallIds>,
    room: Arc<Semaphore>,
    asks: mpsc::Sender<Asked>,
    deadline: Instant,
}

/// A host call on its way out.
#[derive(Debug)]
pub(crate) struct Asked {
    request: HostCallRequest,
    waiter: Waiter,
}

/// Somebody in the engine who waits for an outcome. Its place among the open calls is free again
/// once the host has answered, also when nobody waits any more.
#[derive(Debug)]
struct Waiter {
    outcome: oneshot::Sender<Outcome>,
    _place: OwnedSemaphorePermit,
}

impl Waiter {
    fn settle(self, outcome: Outcome) {
        let _gone = self.outcome.send(outcome).is_err();
    }
}

impl StreamHost {
    /// The host of this hook, and the end that its calls come out of.
    pub(crate) fn new(cx: &HookContext) -> (Self, mpsc::Receiver<Asked>) {
        let (asks, asked) = mpsc::channel(limits::OPEN_HOST_CALLS);
        let host = Self {
            ids: Mutex::new(CallIds::new(cx.hook_id)),
            room: Arc::new(Semaphore::new(limits::OPEN_HOST_CALLS)),
            asks,
            deadline: cx.deadline,
        };
        (host, asked)
    }

    async fn ask(&self, call_id: String, call: HostCall) -> Outcome {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let place = room.map_err(|_| closed())?;
        let (outcome, answer) = oneshot::channel();
        let asked = Asked {
            request: HostCallRequest {
                call_id,
                timeout: self.deadline.saturating_duration_since(Instant::now()),
                call: Some(call),
            },
            waiter: Waiter {
                outcome,
                _place: place,
            },
        };
        // Either end is gone only with the hook.
        self.asks.send(asked).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl HostCalls for StreamHost {
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let call_id = ids.next(&call);
        Box::pin(self.ask(call_id, call))
    }
}

/// The stream's end: which calls are open, and whether the host serves any. It neither waits nor
/// sends.
#[derive(Debug, Default)]
pub(crate) struct HostDesk {
    open: HashMap<String, Waiter>,
    closed: Option<HostCallError>,
}

impl HostDesk {
    /// Somebody asks; gives the request for the host where one has to go out.
    pub(crate) fn ask(&mut self, Asked { request, waiter }: Asked) -> Option<HostCallRequest> {
        if let Some(error) = &self.closed {
            waiter.settle(Err(error.clone()));
            return None;
        }
        self.open.insert(request.call_id.clone(), waiter);
        Some(request)
    }

    /// The host answered. A result for a call that is not open is ignored, so that none is applied
    /// twice or to another call.
    pub(crate) fn settle(&mut self, HostCallResult { call_id, outcome }: HostCallResult) {
        if let Some(waiter) = self.open.remove(&call_id) {
            waiter.settle(outcome);
        } else {
            tracing::warn!(%call_id, "ignored the result of a call that is not open");
        }
    }

    /// A request that could not be sent.
    pub(crate) fn refuse(&mut self, call_id: &str, error: HostCallError) {
        if let Some(waiter) = self.open.remove(call_id) {
            waiter.settle(Err(error));
        }
    }

    /// The host closed its side: nobody serves calls any more (R1.4).
    pub(crate) fn half_closed(&mut self) {
        self.close(HostCallError::unavailable());
    }

    /// The host gave the hook up: calls that it has not answered have no outcome, and no further
    /// one goes out.
    pub(crate) fn given_up(&mut self) {
        self.close(closed());
    }

    fn close(&mut self, error: HostCallError) {
        for (_, waiter) in self.open.drain() {
            waiter.settle(Err(error.clone()));
        }
        self.closed.get_or_insert(error);
    }
}

fn closed() -> HostCallError {
    HostCallError::new("HOOK_CLOSED", "the hook of this call has ended")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{HookContext, LlmComplete, LlmCompleted, Session, SessionId};

    use super::*;

    fn cx() -> HookContext {
        let session = Session::new(SessionId::new("s").unwrap());
        HookContext::new(session, Duration::from_secs(5))
    }

    fn complete() -> HostCall {
        HostCall::Complete(LlmComplete::default())
    }

    fn said(text: &str) -> HostReply {
        HostReply::Completed(LlmCompleted {
            text: text.to_owned(),
            ..LlmCompleted::default()
        })
    }

    #[tokio::test(start_paused = true)]
    async fn e_tim_11_a_call_gets_no_more_time_than_its_hook_has_left() {
        let (host, mut asked) = StreamHost::new(&cx());
        tokio::time::advance(Duration::from_secs(2)).await;
        let _call = tokio::spawn(async move { host.serve(complete()).await });
        let asked = asked.recv().await.unwrap();
        assert_eq!(asked.request.timeout, Duration::from_secs(3));
    }

    #[tokio::test]
    async fn r1_6_a_fifth_call_waits_for_a_place_also_when_nobody_waits_for_the_first() {
        let (host, mut asked) = StreamHost::new(&cx());
        let host = Arc::new(host);
        let calls: Vec<_> = (0..5)
            .map(|_| {
                let host = Arc::clone(&host);
                tokio::spawn(async move { host.serve(complete()).await })
            })
            .collect();
        let mut desk = HostDesk::default();
        let mut open = Vec::new();
        for _ in 0..4 {
            open.push(desk.ask(asked.recv().await.unwrap()).unwrap().call_id);
        }
        calls
            .iter()
            .take(4)
            .for_each(tokio::task::JoinHandle::abort);
        tokio::task::yield_now().await;
        assert!(asked.try_recv().is_err());
        let result = HostCallResult {
            call_id: open.remove(0),
            outcome: Ok(said("late")),
        };
        desk.settle(result);
        assert!(asked.recv().await.is_some());
    }

    #[tokio::test]
    async fn e_frm_09_and_10_a_result_is_applied_once_and_to_its_own_call() {
        let (host, mut asked) = StreamHost::new(&cx());
        let call = tokio::spawn(async move { host.serve(complete()).await });
        let mut desk = HostDesk::default();
        let request = desk.ask(asked.recv().await.unwrap()).unwrap();
        let result = |call_id: &str, text| HostCallResult {
            call_id: call_id.to_owned(),
            outcome: Ok(said(text)),
        };
        desk.settle(result("another", "no"));
        desk.settle(result(&request.call_id, "first"));
        desk.settle(result(&request.call_id, "second"));
        assert_eq!(call.await.unwrap(), Ok(said("first")));
    }

    #[tokio::test]
    async fn e_tim_07_a_given_up_hook_makes_no_further_call() {
        let (host, mut asked) = StreamHost::new(&cx());
        let host = Arc::new(host);
        let ask = || {
            let host = Arc::clone(&host);
            tokio::spawn(async move { host.serve(complete()).await })
        };
        let mut desk = HostDesk::default();
        let before = ask();
        assert!(desk.ask(asked.recv().await.unwrap()).is_some());
        desk.given_up();
        assert_eq!(before.await.unwrap().unwrap_err().reason, "HOOK_CLOSED");
        let after = ask();
        assert!(desk.ask(asked.recv().await.unwrap()).is_none());
        assert_eq!(after.await.unwrap().unwrap_err().reason, "HOOK_CLOSED");
    }

    #[tokio::test]
    async fn r1_4_a_host_that_closed_its_side_serves_nothing() {
        let (host, mut asked) = StreamHost::new(&cx());
        let mut desk = HostDesk::default();
        desk.half_closed();
        let call = tokio::spawn(async move { host.serve(complete()).await });
        assert!(desk.ask(asked.recv().await.unwrap()).is_none());
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.reason, "HOST_CALL_UNAVAILABLE");
    }
}
