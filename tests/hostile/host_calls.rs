//! Engines that ask their host back in ways that the contract does not allow.

use std::sync::Arc;

use contextwire_engine::{Host, HostAnswer, HostCall, HostCalls};
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use contextwire_proto::v1::host_call::Call;
use contextwire_proto::v1::host_call_result::Outcome;

use super::engine::{Talk, after_start, keeping};
use super::{by_engine, in_process, origin};
use crate::harness::Place;

/// Never answers.
struct Mute;

impl HostCalls for Mute {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        Box::pin(std::future::pending())
    }
}

async fn ask(talk: &Talk, call_id: &str) {
    let call = v1::HostCall {
        call_id: call_id.to_owned(),
        timeout_ms: 60_000,
        call: Some(Call::LlmComplete(v1::LlmComplete::default())),
    };
    talk.send(EngineFrame::HostCall(call)).await;
}

/// The next answer to a host call: its id and the reason why it failed.
async fn refused(talk: &mut Talk) -> (String, String) {
    let Some(HostFrame::HostCallResult(result)) = talk.next().await else {
        panic!("the result of a host call")
    };
    let Some(Outcome::Error(error)) = result.outcome else {
        panic!("an error")
    };
    (result.call_id, error.reason)
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_07_each_host_call_is_answered_once_with_an_error_that_says_why() {
    for place in Place::each() {
        let script = |mut talk: Talk| async move {
            for id in ["a", "b", "c", "d", "e", "a"] {
                ask(&talk, id).await;
                let expected = (id.to_owned(), "HOST_CALL_UNAVAILABLE".to_owned());
                assert_eq!(refused(&mut talk).await, expected);
            }
            talk.send(keeping(&[(0, 3)])).await;
        };
        let _engine = after_start(script).serve_at(&place).await;
        assert_eq!(origin(&place.client()).await, by_engine());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_08_a_fifth_open_host_call_is_refused_as_a_value_and_the_hook_goes_on() {
    let place = Place::new();
    let script = |mut talk: Talk| async move {
        for id in ["a", "b", "c", "d", "e", "f"] {
            ask(&talk, id).await;
        }
        for id in ["e", "f"] {
            let expected = (id.to_owned(), "RESOURCE_EXHAUSTED".to_owned());
            assert_eq!(refused(&mut talk).await, expected);
        }
        talk.send(keeping(&[(0, 3)])).await;
    };
    let _engine = after_start(script).serve_at(&place).await;
    let client = place.client().with_host(Host::new(Arc::new(Mute)));
    assert_eq!(origin(&client).await, by_engine());
}

#[tokio::test(flavor = "multi_thread")]
async fn h_frm_08_host_calls_without_end_are_not_queued_without_end() {
    let place = Place::new();
    let script = |talk: Talk| async move {
        while !talk.is_abandoned() {
            ask(&talk, "more").await;
        }
    };
    let _engine = after_start(script).serve_at(&place).await;
    let client = place.client().with_host(Host::new(Arc::new(Mute)));
    assert_eq!(origin(&client).await, in_process("CONTRACT_VIOLATION"));
}
