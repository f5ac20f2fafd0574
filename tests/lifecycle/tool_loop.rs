//! Between the tool rounds of a turn.

use contextwire_client::lifecycle::{
    Delivered, FinishedTurn, LoopView, ToolLoop, TurnDelta, finish,
};
use contextwire_client::{Policy, ServedBy};
use contextwire_engine::testing::{RecordingEngine, Seen, SeenRequest};
use contextwire_engine::{Assemble, Hook, Site};

use super::{Host, POLICIES};
use crate::harness::{Failing, message, session, transcript, view};

/// An engine that owns compaction, with these methods.
fn owning(methods: &[Hook]) -> Failing {
    let engine = RecordingEngine::new().with_methods(methods.iter().copied());
    Failing::of(engine.describing(|info| info.owns_compaction = true))
}

/// What the model sees when the log has so many messages.
async fn round(host: &Host, turn: &mut ToolLoop, len: usize) -> LoopView {
    let log = transcript(len);
    let request = Assemble {
        prompt: Some("go on".to_owned()),
        available_tools: Some([String::from("ls")].into()),
        ..view(&log)
    };
    let round = TurnDelta::new(log, 0);
    turn.round(&host.client, &session("s"), round, request)
        .await
}

/// From where the engine was told each time.
fn told(seen: &[Seen]) -> Vec<u64> {
    let told = seen.iter().filter_map(|seen| {
        if let SeenRequest::AfterTurn(turn) = &seen.request {
            Some(turn.pre_prompt_message_count)
        } else {
            None
        }
    });
    told.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn c150_the_first_round_begins_before_the_prompt_and_each_later_one_where_the_last_ended() {
    for policy in POLICIES {
        let host = Host::of(owning(&[Hook::AfterTurn]), policy).await;
        let mut turn = ToolLoop::new(&transcript(2), 2, true);
        for len in [3, 5, 8] {
            let seen = round(&host, &mut turn, len).await;
            assert!(matches!(seen, LoopView::Assembled(_)), "{seen:?}");
            assert_eq!(turn.told(), len);
        }
        let seen = host.engine.seen.seen();
        assert_eq!(told(&seen), [2, 3, 5]);
        for seen in &seen {
            if let SeenRequest::Assemble(request) = &seen.request {
                assert_eq!(request.site, Site::ToolLoop);
                assert_eq!((&request.prompt, &request.available_tools), (&None, &None));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c150_an_engine_that_does_not_own_compaction_is_not_asked() {
    let host = Host::with(&[Hook::AfterTurn], Policy::Guarded).await;
    let mut turn = ToolLoop::new(&transcript(2), 2, false);
    assert!(matches!(round(&host, &mut turn, 4).await, LoopView::Own));
    assert_eq!(host.engine.hooks(), []);
    assert_eq!(turn.told(), 2, "the end of the turn tells it all");
}

#[tokio::test(flavor = "multi_thread")]
async fn c151_the_end_of_the_turn_tells_the_rest_only() {
    for policy in POLICIES {
        let host = Host::of(owning(&[Hook::IngestBatch]), policy).await;
        let mut turn = ToolLoop::new(&transcript(2), 2, true);
        round(&host, &mut turn, 5).await;
        let end = FinishedTurn {
            delta: TurnDelta::new(transcript(6), turn.told()),
            ..FinishedTurn::default()
        };
        let end = finish(&host.client, &session("s"), &end).await;
        assert_eq!(end.delivered, Delivered::IngestBatch);
        let seen = host.engine.seen.seen();
        let mut batches = Vec::new();
        for seen in &seen {
            if let SeenRequest::IngestBatch(batch) = &seen.request {
                batches.push(batch.messages.clone());
            }
        }
        let first = vec![message(2), message(3), message(4)];
        assert_eq!(batches, [first, vec![message(5)]]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c152_without_anything_new_the_engine_is_not_asked_and_its_view_stays() {
    for policy in POLICIES {
        let host = Host::of(owning(&[Hook::AfterTurn]), policy).await;
        let mut turn = ToolLoop::new(&transcript(2), 2, true);
        assert!(matches!(round(&host, &mut turn, 2).await, LoopView::Own));
        let LoopView::Assembled(first) = round(&host, &mut turn, 4).await else {
            panic!("a view")
        };
        let calls = host.engine.hooks().len();
        let LoopView::Unchanged(again) = round(&host, &mut turn, 4).await else {
            panic!("the same view")
        };
        assert_eq!(again.outcome, first.outcome);
        assert_eq!(host.engine.hooks().len(), calls);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c153_after_a_failed_round_the_model_sees_the_hosts_list_and_the_round_is_told_again() {
    for failing in [Hook::AfterTurn, Hook::Assemble] {
        let host = Host::of(owning(&[Hook::AfterTurn]), Policy::Lease).await;
        let mut turn = ToolLoop::new(&transcript(2), 2, true);
        host.engine.fail_next(failing);
        let LoopView::Failed(error) = round(&host, &mut turn, 4).await else {
            panic!("the host's own")
        };
        assert_eq!(error.code(), "ENGINE_FAILURE");
        assert_eq!(turn.told(), 2);
        // A failed Assemble may cost the engine the rest of its turn (R7.4).
        let prompt = view(&transcript(2));
        let next = host.client.assemble(&session("s"), prompt).await.unwrap();
        assert_eq!(next.by, ServedBy::Engine("recording".to_owned()));
        let seen = round(&host, &mut turn, 5).await;
        assert!(matches!(seen, LoopView::Assembled(_)), "{seen:?}");
        let told = told(&host.engine.seen.seen());
        assert!(told.iter().all(|from| *from == 2), "{told:?}");
        assert_eq!(turn.told(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c154_a_history_that_became_shorter_or_another_begins_the_turn_anew() {
    for policy in POLICIES {
        let host = Host::of(owning(&[Hook::AfterTurn]), policy).await;
        let mut turn = ToolLoop::new(&transcript(2), 2, true);
        round(&host, &mut turn, 6).await;
        let seen = round(&host, &mut turn, 4).await;
        assert!(matches!(seen, LoopView::Assembled(_)), "{seen:?}");
        assert_eq!(
            (turn.told(), told(&host.engine.seen.seen())),
            (4, vec![2, 2])
        );
        // As long as before, and another one: the same holds.
        let mut other = transcript(3);
        other.push(message(9));
        let request = view(&other);
        let delta = TurnDelta::new(other, 0);
        let seen = turn
            .round(&host.client, &session("s"), delta, request)
            .await;
        assert!(matches!(seen, LoopView::Assembled(_)), "{seen:?}");
        assert_eq!(told(&host.engine.seen.seen()), [2, 2, 2]);
    }
}
