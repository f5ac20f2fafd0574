use contextwire_engine::Hook;
use contextwire_proto::Reason;
use tokio::time::Instant;
use tonic::Status;
use tower::{Layer, ServiceExt};

use super::*;
use crate::request::EngineRequest;
use crate::script::{Line, Script, broken, fails, ingest, refused, well};

const SECOND: Duration = Duration::from_secs(1);

/// One call through a policy without chance: what comes of it, after how many milliseconds.
async fn tried(script: &Script, policy: &Retry) -> (&'static str, u128) {
    let started = Instant::now();
    let call = RetryLayer::new(policy.clone())
        .layer(script.clone())
        .oneshot(ingest());
    let outcome = call.await;
    let code = outcome
        .as_ref()
        .map_or_else(CallError::code, |_| "answered");
    (code, started.elapsed().as_millis())
}

fn shortest() -> Retry {
    Retry::new(|| 0.0)
}

fn longest() -> Retry {
    Retry::new(|| 1.0)
}

#[tokio::test(start_paused = true)]
async fn r7_8_a_connection_that_breaks_is_tried_again_after_50_milliseconds_or_more() {
    let script = Script::new([fails(broken()), fails(broken()), well()]);
    assert_eq!(tried(&script, &shortest()).await, ("answered", 100));
    let script = Script::new([fails(broken()), fails(broken()), well()]);
    assert_eq!(tried(&script, &longest()).await, ("answered", 100 + 200));
    let keys: Vec<_> = script.calls().iter().map(|call| call.hook_id).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "under one key");
}

#[tokio::test(start_paused = true)]
async fn r7_8_three_tries_are_all() {
    let script = Script::new((0..3).map(|_| fails(broken())));
    assert_eq!(tried(&script, &shortest()).await.0, "UNREACHABLE");
    assert_eq!(script.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_opened_the_breaker_is_the_reason_and_not_the_breaker() {
    let open = || CallError::BreakerOpen { retry_in: SECOND };
    let script = Script::new([fails(broken()), fails(open())]);
    assert_eq!(tried(&script, &shortest()).await.0, "UNREACHABLE");
}

#[tokio::test(start_paused = true)]
async fn r7_8_the_engines_own_delay_is_honoured() {
    for reason in [
        Reason::Draining,
        Reason::Overloaded,
        Reason::DependencyUnavailable,
    ] {
        let script = Script::new([fails(refused(reason)), well()]);
        assert_eq!(tried(&script, &longest()).await, ("answered", 1_000));
    }
}

#[tokio::test(start_paused = true)]
async fn r7_8_nothing_is_tried_that_would_come_after_the_share() {
    let late = |wait| CallError::Refused {
        reason: Reason::Overloaded,
        message: String::new(),
        retry_after: Some(wait),
        violations: Vec::new(),
    };
    let script = Script::new([fails(late(Duration::from_millis(4750)))]);
    assert_eq!(tried(&script, &shortest()).await, ("OVERLOADED", 0));
    let script = Script::new([fails(late(Duration::from_millis(4749))), well()]);
    assert_eq!(tried(&script, &shortest()).await, ("answered", 4749));
}

#[tokio::test(start_paused = true)]
async fn br_157_an_engine_at_work_is_asked_ever_more_seldom_until_it_is_done() {
    let mut lines: Vec<_> = (0..6).map(|_| fails(refused(Reason::InProgress))).collect();
    lines.push(well());
    let script = Script::new(lines);
    let waits = [250, 250, 400, 800, 1_000, 1_000];
    assert_eq!(
        tried(&script, &longest()).await,
        ("answered", waits.iter().sum())
    );
}

#[tokio::test(start_paused = true)]
async fn r7_8_what_an_engine_answered_is_not_asked_again() {
    for reason in Reason::ALL {
        let again = [
            Reason::InProgress,
            Reason::Draining,
            Reason::Overloaded,
            Reason::DependencyUnavailable,
        ];
        if again.contains(&reason) {
            continue;
        }
        let script = Script::new([fails(refused(reason))]);
        assert_eq!(tried(&script, &shortest()).await, (reason.name(), 0));
    }
    for error in [
        CallError::ContractViolation(String::new()),
        CallError::BreakerOpen { retry_in: SECOND },
        CallError::DeadlineExceeded { share: SECOND },
        CallError::Absent {
            hook: Hook::Maintain,
        },
    ] {
        let code = error.code();
        let script = Script::new([fails(error)]);
        assert_eq!(tried(&script, &shortest()).await, (code, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn r7_8_a_peer_that_says_unknown_has_acted_perhaps_and_is_not_there_to_be_asked_again() {
    let said = CallError::Unreachable {
        detail: "ValueError".to_owned(),
        status: Box::new(Status::unknown("ValueError")),
    };
    let script = Script::new([fails(said)]);
    assert_eq!(tried(&script, &shortest()).await, ("UNREACHABLE", 0));
}

#[tokio::test(start_paused = true)]
async fn r7_8_a_refused_connection_is_answered_at_once() {
    let connect = tonic::ConnectError("connection refused".into());
    let script = Script::new([fails(CallError::Unreachable {
        detail: "connection refused".to_owned(),
        status: Box::new(Status::from_error(Box::new(connect))),
    })]);
    assert_eq!(tried(&script, &shortest()).await, ("UNREACHABLE", 0));
}

#[tokio::test(start_paused = true)]
async fn r7_8_all_calls_together_may_repeat_so_much_and_no_more() {
    let policy = shortest();
    let script = Script::new((0..60).map(|_| fails(broken())));
    for _ in 0..20 {
        tried(&script, &policy).await;
    }
    let repeated = script.calls().len() - 20;
    assert!((10..=13).contains(&repeated), "{repeated}");
    tokio::time::advance(SECOND * 20).await;
    let script = Script::new([fails(broken()), well()]);
    assert_eq!(tried(&script, &policy).await.0, "answered");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_ends_the_waiting() {
    let script = Script::new([fails(refused(Reason::Overloaded)), Line::Hang]);
    let call = RetryLayer::new(shortest())
        .layer(script.clone())
        .oneshot(ingest());
    drop(tokio::time::timeout(SECOND / 2, call).await);
    tokio::time::advance(SECOND * 5).await;
    assert_eq!(script.calls().len(), 1);
}

#[test]
fn every_hook_may_be_repeated() {
    // A hook that is neither read, nor idempotent, nor keyed would have to be left out here.
    use contextwire_engine::Effect::{Idempotent, Mutating, Read};
    for hook in Hook::ALL {
        assert!(matches!(
            hook.profile().effect,
            Read | Idempotent | Mutating
        ));
    }
    let keyed = |request: EngineRequest| crate::script::call(request).hook_id;
    let (one, other) = (
        keyed(contextwire_engine::Maintain::default().into()),
        keyed(contextwire_engine::Maintain::default().into()),
    );
    assert_ne!(one, other, "a mutating call has a key of its own");
}
