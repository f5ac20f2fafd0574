use std::time::Duration;

use contextwire_engine::EndSubagent;
use contextwire_proto::Reason;
use tokio::time::{advance, timeout_at};
use tower::{Layer, ServiceExt};

use super::*;
use crate::neutral;
use crate::script::{Line, Script, broken, call, fails, ingest, refused, well};

type Guarded = crate::layer::Wrapped<BreakerLayer, Script>;

fn guarded(script: &Script) -> Guarded {
    BreakerLayer::new(Acquaintance::of_nobody()).layer(script.clone())
}

/// What a call comes to.
async fn tried(breaker: &Guarded) -> &'static str {
    match breaker.clone().oneshot(ingest()).await {
        Ok(_) => "answered",
        Err(error) => error.code(),
    }
}

/// A call whose caller waits no longer than the engine's share.
async fn overrun(breaker: &Guarded, call: Call) {
    let share_ends = call.share_ends;
    let outcome = timeout_at(share_ends, breaker.clone().oneshot(call)).await;
    assert!(outcome.is_err(), "the script hangs");
}

#[tokio::test(start_paused = true)]
async fn r7_4_after_two_failures_nothing_is_sent_until_the_cooldown_is_over() {
    let script = Script::new([fails(broken()), fails(broken())]);
    let breaker = guarded(&script);
    assert_eq!(tried(&breaker).await, "UNREACHABLE");
    assert_eq!(tried(&breaker).await, "UNREACHABLE");
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
    advance(Duration::from_millis(999)).await;
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
    advance(Duration::from_millis(1)).await;
    script.add([well(), well()]);
    assert_eq!(tried(&breaker).await, "answered");
    assert_eq!(tried(&breaker).await, "answered");
    assert_eq!(script.calls().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn r7_4_the_first_call_after_the_pause_describes_the_engine_anew() {
    let script = Script::new([fails(broken()), fails(broken())]);
    let known = Acquaintance::of_nobody();
    let breaker = BreakerLayer::new(Arc::clone(&known)).layer(script.clone());
    tried(&breaker).await;
    tried(&breaker).await;
    known.learn(crate::script::description());
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
    assert!(known.current().is_some(), "an open breaker keeps the info");
    advance(Duration::from_secs(1)).await;
    script.add([well()]);
    assert_eq!(tried(&breaker).await, "answered");
    assert!(known.current().is_none());
}

#[tokio::test(start_paused = true)]
async fn r7_4_a_call_that_is_dropped_at_its_share_is_a_failure_and_before_it_is_not() {
    let script = Script::new((0..12).map(|_| Line::Hang));
    let breaker = guarded(&script);
    for _ in 0..10 {
        let call = breaker.clone().oneshot(ingest());
        let left = tokio::time::timeout(Duration::from_secs(1), call).await;
        assert!(left.is_err(), "its caller left");
    }
    overrun(&breaker, ingest()).await;
    overrun(&breaker, ingest()).await;
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
}

#[tokio::test(start_paused = true)]
async fn r3_4_a_deadline_that_passes_while_parts_are_owed_counts_nowhere() {
    let script = Script::new((0..4).map(|_| Line::Hang));
    let breaker = guarded(&script);
    for _ in 0..3 {
        let call = ingest();
        call.traffic.debt().set(true);
        overrun(&breaker, call).await;
    }
    script.add([fails(refused(Reason::DeadlineExceeded))]);
    overrun(&breaker, ingest()).await;
    assert_eq!(tried(&breaker).await, "DEADLINE_EXCEEDED");
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
}

#[tokio::test(start_paused = true)]
async fn r7_4_a_dropped_probe_gives_its_turn_to_the_next_call() {
    let script = Script::new([fails(broken()), fails(broken()), Line::Hang, well()]);
    let breaker = guarded(&script);
    tried(&breaker).await;
    tried(&breaker).await;
    advance(Duration::from_secs(1)).await;
    let mut probe = Box::pin(breaker.clone().oneshot(ingest()));
    assert!(futures_util::poll!(&mut probe).is_pending());
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN", "one at a time");
    drop(probe);
    assert_eq!(tried(&breaker).await, "answered");
}

#[tokio::test(start_paused = true)]
async fn r6_1_answered_failures_that_blame_nobody_never_open_it() {
    for reason in [
        Reason::InvalidRequest,
        Reason::UnknownField,
        Reason::EngineFailure,
        Reason::Quota,
    ] {
        let script = Script::new((0..20).map(|_| fails(refused(reason))));
        let breaker = guarded(&script);
        for _ in 0..20 {
            assert_eq!(tried(&breaker).await, reason.name());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r6_1_five_breaches_of_the_contract_within_ten_minutes_open_it() {
    let violation = || CallError::ContractViolation("two results".to_owned());
    let script = Script::new((0..5).map(|_| fails(violation())));
    let breaker = guarded(&script);
    for _ in 0..5 {
        assert_eq!(tried(&breaker).await, "CONTRACT_VIOLATION");
        advance(Duration::from_mins(2)).await;
    }
    // The cooldown is over by now: the next call is the probe, and another one waits for it.
    script.add([Line::Hang]);
    let mut probe = Box::pin(breaker.clone().oneshot(ingest()));
    assert!(futures_util::poll!(&mut probe).is_pending());
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN");
}

#[tokio::test(start_paused = true)]
async fn a_method_that_the_engine_lacks_closes_nothing() {
    let script = Script::new([fails(broken()), fails(broken())]);
    let layer = BreakerLayer::new(Acquaintance::of_nobody());
    let breaker = layer.layer(script);
    tried(&breaker).await;
    tried(&breaker).await;
    advance(Duration::from_secs(1)).await;
    let absent = tower::service_fn(|call: Call| async move { neutral::absent(&call) });
    let request = EndSubagent::default();
    let served = layer.layer(absent).oneshot(call(request)).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    let hanging = layer.layer(Script::new([Line::Hang]));
    let mut probe = Box::pin(hanging.oneshot(ingest()));
    assert!(futures_util::poll!(&mut probe).is_pending());
    assert_eq!(tried(&breaker).await, "BREAKER_OPEN", "still half-open");
}
