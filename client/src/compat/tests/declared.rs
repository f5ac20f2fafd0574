//! HOST-SEMANTICS 4.2: engines that declare which parameters they accept.

use contextwire_engine::Hook;
use contextwire_proto::handshake::EngineDescription;
use tonic::Status;

use super::wire::{Engine, everything, is_set};
use crate::compat::adaptation::Adaptation;
use crate::compat::memory::Learned;
use crate::compat::{Compat, Strip};
use crate::script::description;

const PARAMS: [&str; 5] = [
    "call.session.session_key",
    "call.session.target",
    "prompt",
    "runtime_settings",
    "runtime_context",
];

fn accepting(names: &[&str]) -> EngineDescription {
    let mut engine = description();
    engine.info.accepted_host_params = Some(names.iter().map(|&name| name.to_owned()).collect());
    engine
}

/// The parameters that arrive with a call that has all of them.
async fn arriving(engine: EngineDescription, hook: Hook) -> Vec<&'static str> {
    let far_end = Engine::new(|_, _| Ok(()));
    let stack = far_end.stack(engine, Strip::Never);
    stack.call(everything(hook)).await.unwrap();
    let sent = far_end.requests().pop().unwrap();
    for path in ["call.session.session_id", "call.hook_id"] {
        assert!(is_set(hook, &sent, path), "{path}");
    }
    let params = PARAMS.into_iter();
    params.filter(|path| is_set(hook, &sent, path)).collect()
}

fn cancels(names: &[&str], hook: Hook) -> bool {
    Adaptation::of(hook, &accepting(names), &Learned::default()).sends_cancel()
}

#[tokio::test]
async fn c104_an_engine_sees_the_parameters_that_it_accepts_and_all_others() {
    let engine = accepting(&["prompt", "sessionTarget"]);
    assert_eq!(
        arriving(engine, Hook::Assemble).await,
        ["call.session.target", "prompt"]
    );
}

#[tokio::test]
async fn c105_the_same_holds_for_compact() {
    let engine = accepting(&["prompt", "sessionTarget"]);
    assert_eq!(
        arriving(engine, Hook::Compact).await,
        ["call.session.target"]
    );
}

#[tokio::test]
async fn c106_without_a_declaration_everything_arrives() {
    assert_eq!(arriving(description(), Hook::Assemble).await, PARAMS);
}

#[tokio::test]
async fn an_empty_declaration_drops_all_of_them() {
    for hook in [Hook::Assemble, Hook::Ingest, Hook::Bootstrap] {
        assert_eq!(arriving(accepting(&[]), hook).await, [""; 0], "{hook}");
    }
}

#[tokio::test]
async fn c108_under_a_lease_a_complaint_is_a_failure_and_no_reason_for_another_try() {
    let engine = Engine::new(|_, _| Err(Status::invalid_argument("unknown key 'sessionKey'")));
    let stack = engine.stack(description(), Strip::Never);
    let error = stack.call(everything(Hook::Assemble)).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_REQUEST");
    assert_eq!(engine.attempts(), [1]);
}

#[test]
fn c109_c110_the_signal_to_stop_reaches_compact_always_and_others_where_it_is_accepted() {
    assert!(cancels(&["runtimeSettings"], Hook::Compact));
    assert!(!cancels(&["runtimeSettings"], Hook::Maintain));
    assert!(cancels(&["abortSignal"], Hook::Maintain));
    let undeclared = Adaptation::of(Hook::Maintain, &description(), &Learned::default());
    assert!(undeclared.sends_cancel());
}

#[tokio::test]
async fn c111_an_unknown_name_in_the_declaration_adds_nothing() {
    let engine = accepting(&["prompt", "moonPhase", "call"]);
    assert_eq!(arriving(engine, Hook::Assemble).await, ["prompt"]);
}

#[test]
fn the_layer_can_be_sent_to_another_task() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Compat<crate::script::Script>>();
}
