use std::time::Duration;

use contextwire_engine::{AfterTurn, Assemble, CommitTurn};
use contextwire_proto::Reason;
use tower::{Layer, ServiceExt};

use super::*;
use crate::request::EngineReply;
use crate::script::{Line, Script, answers, broken, call, fails, ingest, refused, well};

/// A session and its engine.
struct Place {
    settle: Settle,
    script: Script,
}

impl Place {
    fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            settle: Settle::new(),
            script: Script::new(lines),
        }
    }

    async fn send(&self, call: Call) -> Outcome {
        let service = self.settle.layer(self.script.clone());
        service.oneshot(call).await
    }

    /// The hooks that arrived.
    fn seen(&self) -> Vec<Hook> {
        self.script.calls().iter().map(Call::hook).collect()
    }
}

fn commit(key: &str) -> Call {
    call(CommitTurn {
        advancement_key: key.to_owned(),
        ..CommitTurn::default()
    })
}

fn noted() -> Line {
    answers(EngineReply::TurnNoted(()))
}

#[tokio::test(start_paused = true)]
async fn r7_8_the_same_key_is_tried_once_before_the_next_hook_that_changes_the_session() {
    let place = Place::new([fails(broken()), noted(), well(), noted(), well()]);
    let lost = commit("turn-1");
    assert!(place.send(lost.clone()).await.is_err());
    // A read does not wait for it.
    assert!(place.send(call(Assemble::default())).await.is_ok());
    assert!(place.send(call(AfterTurn::default())).await.is_ok());
    assert!(place.send(ingest()).await.is_ok());
    let names: Vec<_> = place.seen().into_iter().map(Hook::name).collect();
    let expected = [
        "CommitTurn",
        "Assemble",
        "CommitTurn",
        "AfterTurn",
        "Ingest",
    ];
    assert_eq!(names, expected);
    let again = &place.script.calls()[2];
    assert_eq!(again.hook_id, lost.hook_id);
    assert_eq!(again.order, lost.order);
}

#[tokio::test(start_paused = true)]
async fn r7_8_it_is_tried_once_whatever_comes_of_it() {
    let place = Place::new([fails(broken()), fails(broken()), noted(), well()]);
    assert!(place.send(commit("turn-1")).await.is_err());
    assert!(place.send(call(AfterTurn::default())).await.is_ok());
    assert!(place.send(ingest()).await.is_ok());
    assert_eq!(place.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn r7_8_a_call_that_was_dropped_or_timed_out_is_asked_for_and_an_answered_one_is_not() {
    let known = refused(Reason::InvalidRequest);
    let place = Place::new([fails(known), noted(), Line::Hang, well(), noted()]);
    assert!(place.send(ingest()).await.is_err());
    assert!(place.send(call(AfterTurn::default())).await.is_ok());
    let left = tokio::time::timeout(Duration::from_secs(1), place.send(ingest()));
    assert!(left.await.is_err());
    assert!(place.send(call(AfterTurn::default())).await.is_ok());
    let (ingest, after_turn) = (Hook::Ingest, Hook::AfterTurn);
    let expected = [ingest, after_turn, ingest, ingest, after_turn];
    assert_eq!(place.seen(), expected);
}

#[tokio::test(start_paused = true)]
async fn r7_8_the_question_takes_half_of_the_share_at_most() {
    let place = Place::new([fails(broken()), Line::Hang, noted()]);
    assert!(place.send(ingest()).await.is_err());
    let next = call(AfterTurn::default());
    let half = next.share() / 2;
    let started = Instant::now();
    assert!(place.send(next).await.is_ok());
    assert_eq!(started.elapsed(), half);
}

#[tokio::test(start_paused = true)]
async fn r7_8_who_sends_the_key_again_himself_is_not_helped() {
    let place = Place::new([fails(broken()), noted(), noted()]);
    assert!(place.send(commit("turn-1")).await.is_err());
    assert!(place.send(commit("turn-1")).await.is_ok());
    assert!(place.send(commit("turn-2")).await.is_ok());
    assert_eq!(place.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn r7_2_a_hook_that_is_fenced_is_never_asked_again() {
    let place = Place::new([fails(broken()), well()]);
    assert!(place.send(call(AfterTurn::default())).await.is_err());
    assert!(place.send(ingest()).await.is_ok());
    assert_eq!(place.seen(), [Hook::AfterTurn, Hook::Ingest]);
}
