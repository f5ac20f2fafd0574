//! What a native thread may grow to, and what compactions leave of a binding.

use super::*;

#[test]
fn c284_a_long_native_thread_is_kept_while_an_engine_made_its_context() {
    let limits = NativeLimits {
        max_bytes: Some(1_000),
        ..NativeLimits::default()
    };
    let planner = planner();
    let shown = bound(&planner, &bootstrap("e1", "f1"));
    let per_turn = bound(&planner, &per_turn());
    let thread = NativeThread {
        bytes: 1_000,
        ..NativeThread::default()
    };
    assert_eq!(limits.reached(&thread, &shown, true, 0), None);
    let bytes = Some(NativeLimit::Bytes);
    assert_eq!(limits.reached(&thread, &shown, false, 0), bytes);
    assert_eq!(limits.reached(&thread, &per_turn, true, 0), bytes);
    let shorter = NativeThread {
        bytes: 999,
        ..thread
    };
    assert_eq!(limits.reached(&shorter, &per_turn, true, 0), None);
}

#[test]
fn c285_a_native_thread_full_of_tokens_is_given_up_in_any_case_but_under_supervision() {
    let planner = planner();
    let shown = bound(&planner, &bootstrap("e1", "f1"));
    let limits = NativeLimits::default();
    let thread = |tokens| NativeThread {
        tokens: Some(tokens),
        ..NativeThread::default()
    };
    // 300 000 less 20 000 for the answer, less what the turn adds.
    assert_eq!(limits.reached(&thread(278_999), &shown, true, 1_000), None);
    let tokens = Some(NativeLimit::Tokens);
    assert_eq!(
        limits.reached(&thread(279_000), &shown, true, 1_000),
        tokens
    );
    assert_eq!(limits.reached(&thread(1), &shown, true, u64::MAX), tokens);
    assert_eq!(limits.reached(&thread(0), &shown, true, u64::MAX), None);
    let supervised = NativeThread {
        is_supervised: true,
        ..thread(u64::MAX)
    };
    assert_eq!(limits.reached(&supervised, &shown, true, 0), None);
    // The host removes the binding and asks again: nothing is told, so everything is projected.
    let (engine, tools) = (engine(), tools());
    assert_eq!(planner.known(Some(&engine), None, &tools), None);
    let plan = run(&planner, None, Assembly::Answered(&bootstrap("e1", "f1")));
    assert_eq!(plan.reason, ProjectionReason::MissingThread);
    assert!(matches!(plan.content, Content::Projected(_)));
}

#[test]
fn br_135_a_large_bootstrap_is_given_once() {
    let planner = planner();
    let limits = NativeLimits {
        max_bytes: Some(100),
        ..NativeLimits::default()
    };
    let mut reply = bootstrap("e1", "f1");
    reply.estimated_tokens = 80_000;
    let shown = bound(&planner, &reply);
    let thread = NativeThread {
        bytes: 500_000,
        tokens: Some(90_000),
        is_supervised: false,
    };
    for _ in 2..=3 {
        assert_eq!(limits.reached(&thread, &shown, true, 100), None);
        let plan = run(&planner, Some(&shown), Assembly::Answered(&reply));
        assert!(keeps(&plan) && plan.content == Content::Bare);
    }
}

#[test]
fn c286_after_the_engines_compaction_a_bootstrap_is_kept_and_another_binding_is_not() {
    let planner = planner();
    let shown = bound(&planner, &bootstrap("e1", "f1"));
    assert_eq!(shown.clone().after_engine_compaction(), Some(shown));
    let per_turn = bound(&planner, &per_turn());
    assert_eq!(per_turn.after_engine_compaction(), None);
}
