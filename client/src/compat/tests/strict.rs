//! HOST-SEMANTICS 4.1: engines that validate their parameters, by the numbers of its cases.

use std::sync::Mutex;

use contextwire_engine::{Assemble, Hook};
use contextwire_proto::status::Refusal;
use contextwire_proto::{Reason, schema};
use tonic::Status;

use super::wire::{Engine, everything, is_set};
use crate::call::Call;
use crate::request::EngineRequest;
use crate::script::{description, session};

const SESSION_KEY: &str = "call.session.session_key";
const TARGET: &str = "call.session.target";

/// The interface's name of a path.
fn name(path: &str) -> &str {
    match path {
        SESSION_KEY => "sessionKey",
        TARGET => "sessionTarget",
        "runtime_settings" => "runtimeSettings",
        "runtime_context" => "runtimeContext",
        path => path,
    }
}

/// An engine whose validator rejects these, all at once or one a call.
fn rejecting(paths: &'static [&'static str], at_once: bool) -> Engine {
    Engine::new(move |hook, request| {
        let set: Vec<_> = paths
            .iter()
            .filter(|path| is_set(hook, request, path))
            .map(|path| format!("'{}'", name(path)))
            .collect();
        match &*set {
            [] => Ok(()),
            all if at_once => Err(Status::invalid_argument(format!(
                "Unrecognized key(s) in object: {}",
                all.join(", ")
            ))),
            [first, ..] => Err(Status::invalid_argument(format!(
                "Unrecognized key(s) in object: {first}"
            ))),
        }
    })
}

/// An engine that says this until the session key is gone.
fn saying(text: &'static str) -> Engine {
    Engine::new(move |hook, request| {
        if is_set(hook, request, SESSION_KEY) {
            Err(Status::unknown(text))
        } else {
            Ok(())
        }
    })
}

#[tokio::test]
async fn c078_a_rejected_session_key_is_dropped_and_the_call_succeeds() {
    let engine = rejecting(&[SESSION_KEY], true);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test]
async fn c079_what_one_hook_rejected_is_not_sent_to_another() {
    let engine = rejecting(&[SESSION_KEY], true);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    stack.call(everything(Hook::Compact)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2, 1]);
    let compact = engine.requests().pop().unwrap();
    assert!(!is_set(Hook::Compact, &compact, SESSION_KEY));
    assert!(is_set(Hook::Compact, &compact, TARGET));
}

#[tokio::test]
async fn c080_a_new_client_starts_with_an_empty_memory() {
    let engine = rejecting(&[SESSION_KEY], true);
    for _ in 0..2 {
        let stack = engine.describes(description());
        stack.call(everything(Hook::Assemble)).await.unwrap();
    }
    assert_eq!(engine.attempts(), [1, 2, 1, 2]);
}

#[tokio::test]
async fn c081_a_strict_ingest_is_called_three_times_for_two_messages() {
    let engine = rejecting(&[SESSION_KEY], true);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Ingest)).await.unwrap();
    stack.call(everything(Hook::Ingest)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2, 1]);
    assert_eq!(engine.hook_ids().len(), 2, "each message under its own key");
}

#[tokio::test]
async fn c082_a_strict_maintain_is_called_twice() {
    let engine = rejecting(&[SESSION_KEY], true);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Maintain)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test]
async fn c084_three_keys_one_at_a_time_take_four_calls_and_the_session_key_stays() {
    for hook in [
        Hook::Bootstrap,
        Hook::Maintain,
        Hook::AfterTurn,
        Hook::Compact,
    ] {
        let engine = rejecting(&["runtime_settings", TARGET, "runtime_context"], false);
        let stack = engine.describes(description());
        stack.call(everything(hook)).await.unwrap();
        assert_eq!(engine.attempts(), [1, 2, 3, 4], "{hook}");
        let last = engine.requests().pop().unwrap();
        assert!(is_set(hook, &last, SESSION_KEY), "{hook}");
    }
}

#[tokio::test]
async fn c085_the_first_try_of_another_hook_lacks_what_was_learnt() {
    let engine = rejecting(&["runtime_settings", SESSION_KEY, "prompt"], false);
    let stack = engine.describes(description());
    let mut maintain = everything(Hook::Maintain);
    maintain.session.key = None;
    stack.call(maintain).await.unwrap();
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2, 1, 2, 3]);
    let first = &engine.requests()[2];
    assert!(!is_set(Hook::Assemble, first, "runtime_settings"));
}

#[tokio::test]
async fn c086_one_error_that_names_three_keys_costs_one_more_call() {
    let engine = rejecting(&["runtime_settings", SESSION_KEY, "prompt"], true);
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test]
async fn c087_c090_to_c093_every_form_of_complaint_is_read() {
    for text in [
        r#"[{"code":"unrecognized_keys","keys":["sessionKey"],"path":[]}]"#,
        "must NOT have additional properties: 'sessionKey'",
        "additional property \"sessionKey\"",
        "unexpected property `sessionKey`",
        "extraneous field `sessionKey`",
        "unknown key `sessionKey`",
        "invalid property `sessionKey`",
        "\"sessionKey\" is not allowed",
        "validation failed: {\"issues\":[{\"code\":\"unrecognized_keys\",\"keys\":[\"sessionKey\"]}]}",
        "unknown field 'session_key'",
    ] {
        let engine = saying(text);
        let stack = engine.describes(description());
        stack.call(everything(Hook::Assemble)).await.unwrap();
        assert_eq!(engine.attempts(), [1, 2], "{text}");
    }
}

#[tokio::test]
async fn c088_a_complaint_that_only_a_detail_holds_is_read() {
    let engine = Engine::new(|hook, request| {
        if !is_set(hook, request, SESSION_KEY) {
            return Ok(());
        }
        let refusal = Refusal::new(Reason::InvalidRequest, "the parameters are not valid");
        Err(refusal.violation("sessionKey", "unknown field").into())
    });
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test]
async fn c094_a_failed_lookup_is_no_complaint() {
    for text in [
        "sessionKey lookup failed",
        "Unknown sessionKey \"agent:main:x\"",
    ] {
        let engine = saying(text);
        let stack = engine.describes(description());
        let error = stack.call(everything(Hook::Assemble)).await.unwrap_err();
        assert_eq!(error.code(), "UNREACHABLE", "{text}");
        assert_eq!(engine.attempts(), [1], "{text}");
    }
}

#[tokio::test]
async fn c096_a_key_that_is_not_in_the_call_is_not_dropped() {
    for reason in [Reason::UnknownField, Reason::InvalidRequest] {
        let engine = Engine::new(move |_, _| {
            let refusal = Refusal::new(reason, "unknown field 'prompt'");
            Err(refusal.violation("prompt", "unknown field").into())
        });
        let request = EngineRequest::Assemble(Assemble::default());
        let call = Call::new(session("s"), request, std::time::Duration::from_secs(5));
        let stack = engine.describes(description());
        assert_eq!(stack.call(call).await.unwrap_err().code(), reason.name());
        assert_eq!(engine.attempts(), [1]);
    }
}

#[tokio::test]
async fn c097_a_key_that_is_there_without_a_value_is_dropped_too() {
    for (path, change) in [
        (
            "prompt",
            (|it| it.prompt = Some(String::new())) as fn(&mut Assemble),
        ),
        ("runtime_settings", |it| {
            it.runtime_settings = Some(contextwire_engine::RuntimeSettings::default());
        }),
    ] {
        let engine = Engine::new(move |hook, request| {
            if !is_set(hook, request, path) {
                return Ok(());
            }
            let text = format!("unknown key '{}'", name(path));
            Err(Status::invalid_argument(text))
        });
        let mut request = Assemble::default();
        change(&mut request);
        let call = crate::script::call(request);
        engine.describes(description()).call(call).await.unwrap();
        assert_eq!(engine.attempts(), [1, 2], "{path}");
    }
}

#[tokio::test]
async fn c098_c099_what_may_not_be_dropped_is_not() {
    for (hook, key) in [
        (Hook::Assemble, "tokenBudget"),
        (Hook::Ingest, "prompt"),
        (Hook::Ingest, "isHeartbeat"),
        (Hook::Assemble, "messages"),
    ] {
        let engine =
            Engine::new(move |_, _| Err(Status::invalid_argument(format!("unknown key '{key}'"))));
        let stack = engine.describes(description());
        let error = stack.call(everything(hook)).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_REQUEST", "{hook} {key}");
        assert_eq!(engine.attempts(), [1], "{hook} {key}");
    }
}

#[tokio::test]
async fn c100_the_same_complaint_twice_ends_the_call() {
    let engine = Engine::new(|_, _| Err(Status::invalid_argument("unknown key 'sessionKey'")));
    let stack = engine.describes(description());
    let error = stack.call(everything(Hook::Assemble)).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_REQUEST");
    assert_eq!(engine.attempts(), [1, 2]);
}

#[tokio::test]
async fn c102_c103_a_prompt_is_there_as_the_caller_gave_it_or_not_at_all() {
    for (prompt, is_there) in [(None, false), (Some(""), true), (Some("hi"), true)] {
        let engine = Engine::new(|_, _| Ok(()));
        let request = Assemble {
            prompt: prompt.map(str::to_owned),
            ..Assemble::default()
        };
        let call = Call::new(
            session("s"),
            request.into(),
            std::time::Duration::from_secs(5),
        );
        engine.describes(description()).call(call).await.unwrap();
        let sent = engine.requests().pop().unwrap();
        assert_eq!(is_set(Hook::Assemble, &sent, "prompt"), is_there);
    }
}

#[tokio::test]
async fn r5_3_an_engine_that_names_every_field_it_can_is_peeled_to_what_carries_the_meaning() {
    // One complaint a try, about whatever may be left out and is still there.
    let named = std::sync::Arc::new(Mutex::new(0));
    let counts = std::sync::Arc::clone(&named);
    let engine = Engine::new(move |hook, request| {
        let fields = schema::fields(hook);
        let set = fields
            .iter()
            .find(|field| field.since > 0 && !field.critical && is_set(hook, request, &field.path));
        let Some(field) = set else { return Ok(()) };
        *counts.lock().unwrap() += 1;
        let refusal = Refusal::new(Reason::UnknownField, "unknown");
        Err(refusal.violation(&field.path, "unknown field").into())
    });
    let stack = engine.describes(description());
    stack.call(everything(Hook::Assemble)).await.unwrap();
    let last = engine.requests().pop().unwrap();
    for path in ["transcript", "token_budget", "prompt", SESSION_KEY, "site"] {
        assert!(is_set(Hook::Assemble, &last, path), "{path}");
    }
    assert!(*named.lock().unwrap() >= 4);
}
