//! Requests as engines of old get them, with real lists and the real wire form.

mod declared;
mod strict;
mod wire;

use contextwire_engine::Hook;
use contextwire_proto::limits;
use contextwire_proto::strict::unknown_fields;
use tonic::Status;

use super::*;
use crate::script::description;
use wire::{Engine, everything, is_set};

/// An engine that takes whatever it knows of its minor and refuses the rest by number.
fn strict(minor: u32) -> Engine {
    Engine::new(move |hook, request| {
        let findings = unknown_fields(hook, minor, request).expect("a message");
        if findings.is_empty() {
            Ok(())
        } else {
            Err(findings.into_refusal().into_status())
        }
    })
}

/// An engine that announces this minor.
fn of_minor(minor: u32) -> EngineDescription {
    EngineDescription {
        protocol: contextwire_proto::handshake::Protocol {
            minor,
            ..limits::PROTOCOL
        },
        ..description()
    }
}

#[tokio::test]
async fn r5_an_engine_of_an_older_minor_is_sent_what_existed_then() {
    for minor in 0..=limits::PROTOCOL.minor {
        for hook in [Hook::Assemble, Hook::Compact, Hook::Ingest] {
            let engine = strict(minor);
            let outcome = engine
                .describes(of_minor(minor))
                .call(everything(hook))
                .await;
            assert!(outcome.is_ok(), "{hook} at {minor}: {outcome:?}");
            assert_eq!(engine.requests().len(), 1, "{hook} at {minor}");
        }
    }
}

#[tokio::test]
async fn r5_1_a_tolerant_old_engine_costs_no_second_try() {
    let engine = Engine::new(|_, _| Ok(()));
    let stack = engine.describes(of_minor(1));
    stack.call(everything(Hook::Assemble)).await.unwrap();
    let requests = engine.requests();
    let [request] = &*requests else {
        panic!("one request")
    };
    assert!(is_set(Hook::Assemble, request, "runtime_settings"));
    assert!(!is_set(Hook::Assemble, request, "call.log_head"));
}

#[tokio::test]
async fn r5_3_an_engine_that_announces_more_than_it_knows_teaches_it_at_once() {
    for minor in 0..limits::PROTOCOL.minor {
        let engine = strict(minor);
        let stack = engine.describes(description());
        stack.call(everything(Hook::Assemble)).await.unwrap();
        assert_eq!(engine.attempts(), [1, 2], "minor {minor}");
        // What one hook taught holds for the others.
        stack.call(everything(Hook::Compact)).await.unwrap();
        assert!(engine.attempts().len() <= 4, "minor {minor}");
        stack.call(everything(Hook::Assemble)).await.unwrap();
        assert_eq!(engine.attempts().last(), Some(&1), "minor {minor}");
    }
}

#[tokio::test]
async fn r5_3_another_build_is_sent_everything_again() {
    let engine = strict(1);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2, 1]);
    let mut rebuilt = description();
    rebuilt.info.build = "next".to_owned();
    let stack = stack.describes(rebuilt);
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2, 1, 1, 2]);
}

#[tokio::test]
async fn r5_3_a_complaint_that_comes_again_ends_the_call() {
    let engine = Engine::new(|_, _| Err(Status::unknown("unknown field 'prompt'")));
    let error = engine
        .describes(description())
        .call(everything(Hook::Assemble))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "UNREACHABLE", "an ordinary failure");
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn r5_3_the_second_try_has_what_is_left_of_the_same_time() {
    let engine = strict(0).slow(std::time::Duration::from_secs(2));
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.budgets(), [4750, 2750]);
    assert_eq!(engine.hook_ids().len(), 1, "one hook, two tries");
    let late = strict(0).slow(std::time::Duration::from_secs(5));
    let error = late
        .describes(description())
        .call(everything(Hook::Assemble))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "UNKNOWN_FIELD");
    assert_eq!(late.attempts(), [1], "its time was up");
}

#[tokio::test]
async fn calls_that_fail_side_by_side_both_learn() {
    let engine = strict(0).slow(std::time::Duration::from_millis(1));
    let stack = engine.describes(description());
    let (one, other) = tokio::join!(
        stack.call(everything(Hook::Assemble)),
        stack.call(everything(Hook::Assemble))
    );
    assert!(one.is_ok() && other.is_ok());
    assert_eq!(engine.attempts().len(), 4);
}

#[tokio::test]
async fn r5_4_a_refusal_to_ignore_something_is_never_stripped() {
    let engine = Engine::new(|_, _| {
        let refusal = contextwire_proto::Refusal::new(Reason::NotUnderstood, "no");
        Err(refusal
            .violation("runtime_settings", "not understood")
            .into())
    });
    let error = engine
        .describes(description())
        .call(everything(Hook::Assemble))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "NOT_UNDERSTOOD");
    assert_eq!(engine.attempts(), [1]);
}
