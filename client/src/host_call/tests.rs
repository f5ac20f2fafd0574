use std::sync::atomic::{AtomicU32, Ordering};

use contextwire_engine::{
    HostAnswer, HostCalls, LlmComplete, ReadTranscript, RewriteEntries, Rewritten,
};
use tokio::sync::Notify;

use super::*;

/// Counts what it serves; a rewrite waits until it may go on.
#[derive(Default)]
struct Counting {
    served: AtomicU32,
    go_on: Notify,
    fails: Option<HostCallError>,
}

impl HostCalls for Counting {
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        Box::pin(async move {
            let nth = self.served.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(error) = &self.fails {
                return Err(error.clone());
            }
            match call {
                HostCall::Rewrite(_) => {
                    self.go_on.notified().await;
                    Ok(HostReply::Rewritten(Rewritten {
                        rewritten_entries: nth.into(),
                        ..Rewritten::default()
                    }))
                }
                HostCall::Complete(_) => Ok(HostReply::Completed(<_>::default())),
                HostCall::ReadTranscript(_) => Ok(HostReply::Page(<_>::default())),
                HostCall::DelegateCompaction(_) => panic!("a host with a bug"),
            }
        })
    }
}

fn request(call_id: &str, call: HostCall) -> HostCallRequest {
    HostCallRequest {
        call_id: call_id.to_owned(),
        timeout: Duration::from_secs(5),
        call: Some(call),
    }
}

fn rewrite(call_id: &str) -> HostCallRequest {
    request(call_id, HostCall::Rewrite(RewriteEntries::default()))
}

fn complete(call_id: &str) -> HostCallRequest {
    request(call_id, HostCall::Complete(LlmComplete::default()))
}

struct Place {
    book: Arc<HostCallBook>,
    host: Arc<Counting>,
    hook_id: HookId,
}

impl Place {
    fn with(host: Counting) -> Self {
        Self {
            book: Arc::new(HostCallBook::new()),
            host: Arc::new(host),
            hook_id: HookId::mint(),
        }
    }

    fn attempt(&self) -> AttemptCalls {
        AttemptCalls {
            book: Arc::clone(&self.book),
            hook: Hook::Compact,
            observer: Arc::new(Observer::new("e".to_owned(), None, Arc::default())),
            hook_id: self.hook_id,
            host: Host::new(Arc::<Counting>::clone(&self.host)),
            ends: Instant::now() + Duration::from_mins(1),
        }
    }

    fn served(&self) -> u32 {
        self.host.served.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn e_cbk_07_a_second_attempt_gets_the_first_rewrites_outcome() {
    let place = Place::with(Counting::default());
    place.host.go_on.notify_one();
    let first = place.attempt().serve(rewrite("a")).await;
    let second = place.attempt().serve(rewrite("a")).await;
    assert!(first.outcome.is_ok());
    assert_eq!(first, second);
    assert_eq!(place.served(), 1);
    place.book.settled(place.hook_id);
    place.host.go_on.notify_one();
    let later = place.attempt().serve(rewrite("a")).await;
    assert_ne!(first, later);
}

#[tokio::test(start_paused = true)]
async fn a_rewrite_that_nobody_waits_for_is_not_left_half_way() {
    let place = Place::with(Counting::default());
    let slow = place.attempt().serve(rewrite("a")).await;
    assert_eq!(slow.outcome.unwrap_err().reason, "TIMEOUT");
    place.host.go_on.notify_one();
    let again = place.attempt().serve(rewrite("a")).await;
    assert!(again.outcome.is_ok());
    assert_eq!(place.served(), 1);
}

#[tokio::test]
async fn r7_2_a_hook_that_was_given_up_is_refused_after_the_rewrite_inside_the_store() {
    let place = Place::with(Counting::default());
    let attempt = place.attempt();
    let mut inside = Box::pin(attempt.serve(rewrite("a")));
    assert!(futures_util::poll!(&mut inside).is_pending());
    let mut abandoning = Box::pin(place.book.abandon(place.hook_id));
    assert!(futures_util::poll!(&mut abandoning).is_pending());
    let refused = place.attempt().serve(complete("b")).await;
    assert_eq!(refused.outcome.unwrap_err().reason, "HOOK_CLOSED");
    tokio::task::yield_now().await;
    place.host.go_on.notify_one();
    abandoning.await;
    assert!(inside.await.outcome.is_ok());
    assert_eq!(place.served(), 1);
}

#[tokio::test]
async fn a_model_is_asked_once_and_a_page_is_read_again() {
    let place = Place::with(Counting::default());
    for _ in 0..2 {
        assert!(place.attempt().serve(complete("a")).await.outcome.is_ok());
    }
    assert_eq!(place.served(), 1);
    let page = || request("b", HostCall::ReadTranscript(ReadTranscript::default()));
    for _ in 0..2 {
        assert!(place.attempt().serve(page()).await.outcome.is_ok());
    }
    assert_eq!(place.served(), 3);
}

#[tokio::test]
async fn what_may_succeed_later_is_asked_again_and_what_will_not_is_remembered() {
    for (retryable, served) in [(true, 2), (false, 1)] {
        let place = Place::with(Counting {
            fails: Some(HostCallError {
                retryable,
                ..HostCallError::new("FAILED", "overloaded")
            }),
            ..Counting::default()
        });
        for call in [complete("a"), rewrite("b")] {
            for _ in 0..2 {
                let result = place.attempt().serve(call.clone()).await;
                assert_eq!(result.outcome.unwrap_err().reason, "FAILED");
            }
        }
        assert_eq!(place.served(), served * 2);
    }
}

#[tokio::test]
async fn a_host_that_fails_or_serves_nothing_or_does_not_know_the_kind_answers_with_a_value() {
    let place = Place::with(Counting::default());
    let delegate = request("a", HostCall::DelegateCompaction(<_>::default()));
    let failed = place.attempt().serve(delegate).await;
    assert_eq!(failed.outcome.unwrap_err().reason, "FAILED");

    let nobody = AttemptCalls {
        host: Host::default(),
        ..place.attempt()
    };
    let unavailable = nobody.serve(complete("b")).await;
    let reason = unavailable.outcome.unwrap_err().reason;
    assert_eq!(reason, "HOST_CALL_UNAVAILABLE");

    let foreign = HostCallRequest {
        call: None,
        ..complete("c")
    };
    let unknown = place.attempt().serve(foreign).await;
    assert_eq!(unknown.outcome.unwrap_err().reason, "UNSUPPORTED");
}

#[tokio::test]
async fn no_read_and_no_import_changes_a_transcript_and_only_a_compaction_is_handed_back() {
    let calls = [
        HostCall::Rewrite(RewriteEntries::default()),
        HostCall::DelegateCompaction(<_>::default()),
    ];
    for hook in Hook::ALL
        .into_iter()
        .filter(|hook| hook.profile().streaming)
    {
        let place = Place::with(Counting::default());
        let attempt = AttemptCalls {
            hook,
            ..place.attempt()
        };
        place.host.go_on.notify_one();
        let mut refused = Vec::new();
        for (id, call) in ["rewrite", "delegate"].into_iter().zip(calls.clone()) {
            let result = attempt.clone().serve(request(id, call)).await;
            if result
                .outcome
                .is_err_and(|error| error.reason == "UNSUPPORTED")
            {
                refused.push(id);
            }
        }
        let expected: &[&str] = if matches!(hook, Hook::Assemble | Hook::Bootstrap) {
            &["rewrite", "delegate"]
        } else if hook == Hook::Compact {
            &[]
        } else {
            &["delegate"]
        };
        assert_eq!(refused, expected, "{hook}");
        assert_eq!(place.served() as usize, 2 - expected.len(), "{hook}");
    }
}

#[tokio::test]
async fn h_cbk_05_the_same_id_for_something_else_is_a_conflict() {
    let place = Place::with(Counting::default());
    let attempt = place.attempt();
    assert!(attempt.clone().serve(complete("a")).await.outcome.is_ok());
    let other = LlmComplete {
        max_tokens: Some(1),
        ..LlmComplete::default()
    };
    let conflict = attempt.serve(request("a", HostCall::Complete(other))).await;
    let reason = conflict.outcome.unwrap_err().reason;
    assert_eq!(reason, "IDEMPOTENCY_CONFLICT");
    assert_eq!(place.served(), 1);
}

/// A model that takes its time, and says when nobody waits for it any more.
#[derive(Default)]
struct Thinking {
    asked: AtomicU32,
    left: Arc<AtomicU32>,
    go_on: Notify,
}

struct Leaving(Arc<AtomicU32>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl HostCalls for Thinking {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let _leaving = Leaving(Arc::clone(&self.left));
            self.go_on.notified().await;
            Ok(HostReply::Completed(<_>::default()))
        })
    }
}

#[tokio::test]
async fn h_cbk_04_a_model_is_asked_once_by_two_who_wait_and_left_when_nobody_does() {
    let model = Arc::new(Thinking::default());
    let attempt = || AttemptCalls {
        observer: Arc::new(Observer::new("e".to_owned(), None, Arc::default())),
        book: Arc::new(HostCallBook::new()),
        hook: Hook::Maintain,
        hook_id: HookId::mint(),
        host: Host::new(Arc::<Thinking>::clone(&model)),
        ends: Instant::now() + Duration::from_mins(1),
    };
    let both = attempt();
    let mut one = Box::pin(both.clone().serve(complete("a")));
    let mut other = Box::pin(both.serve(complete("a")));
    assert!(futures_util::poll!(&mut one).is_pending());
    assert!(futures_util::poll!(&mut other).is_pending());
    drop(one);
    assert_eq!(model.left.load(Ordering::SeqCst), 0);
    model.go_on.notify_one();
    assert!(other.await.outcome.is_ok());
    assert_eq!(model.asked.load(Ordering::SeqCst), 1);

    let mut alone = Box::pin(attempt().serve(complete("a")));
    assert!(futures_util::poll!(&mut alone).is_pending());
    drop(alone);
    assert_eq!(model.left.load(Ordering::SeqCst), 2);
}
