//! The end of a turn, and the answer before it.

use contextwire_client::lifecycle::{
    Delivered, Finalised, FinishedTurn, TurnDelta, TurnOutcome, finish,
};
use contextwire_client::{Policy, ServedBy};
use contextwire_engine::testing::{RecordingEngine, SeenRequest};
use contextwire_engine::{Hook, MaintenanceMode, PromptAuthority};

use super::{Host, POLICIES};
use crate::harness::{Failing, message, session, transcript, view};

const TELLING: [Hook; 3] = [Hook::AfterTurn, Hook::IngestBatch, Hook::Maintain];

/// A turn of three messages after two.
fn turn() -> FinishedTurn {
    FinishedTurn {
        outcome: TurnOutcome::Completed,
        delta: TurnDelta::new(transcript(5), 2),
    }
}

async fn finished(host: &Host, turn: &FinishedTurn) -> Finalised {
    finish(&host.client, &session("s"), turn).await
}

#[tokio::test(flavor = "multi_thread")]
async fn c140_a_failed_assemble_shows_the_hosts_own_messages_and_the_turn_goes_on() {
    let host = Host::with(&[], Policy::Lease).await;
    host.engine.fail_next(Hook::Assemble);
    let list = transcript(3);
    let assemble = async || {
        let served = host.client.assemble(&session("s"), view(&list)).await;
        served.unwrap()
    };
    let served = assemble().await;
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.as_ref().unwrap().code(), "ENGINE_FAILURE");
    let messages = served.result.messages();
    assert!(
        messages
            .zip(list.iter())
            .all(|(it, own)| it.is_same_object(own))
    );
    let contextwire_engine::AssembleOutcome::Messages(reply) = &served.result.outcome else {
        panic!("messages")
    };
    // In process the authority is `assembled`; ours lets no host skip its own check.
    let checked = Some(PromptAuthority::PreassemblyMayOverflow);
    assert_eq!(reply.prompt_authority, checked);
    assert_eq!(
        assemble().await.by,
        ServedBy::Engine("recording".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn c142_an_engine_with_after_turn_is_told_by_it_alone() {
    for policy in POLICIES {
        let host = Host::with(&TELLING, policy).await;
        let end = finished(&host, &turn()).await;
        assert_eq!(end.delivered, Delivered::AfterTurn);
        assert!(end.is_well());
        assert!(end.is_maintenance_due);
        let seen = host.engine.seen.seen();
        let [seen] = &*seen else { panic!("one call") };
        let SeenRequest::AfterTurn(told) = &seen.request else {
            panic!("the turn")
        };
        assert_eq!(told.pre_prompt_message_count, 2);
        assert_eq!(told.transcript.state(), transcript(5).state());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_without_it_gets_what_is_new_at_once_or_one_by_one() {
    let host = Host::with(&[Hook::IngestBatch], Policy::Guarded).await;
    assert_eq!(
        finished(&host, &turn()).await.delivered,
        Delivered::IngestBatch
    );
    let seen = host.engine.seen.seen();
    let SeenRequest::IngestBatch(batch) = &seen[0].request else {
        panic!("a batch")
    };
    assert_eq!(batch.messages, [message(2), message(3), message(4)]);

    let host = Host::with(&[], Policy::Guarded).await;
    assert_eq!(finished(&host, &turn()).await.delivered, Delivered::Ingest);
    assert_eq!(host.engine.hooks(), [Hook::Ingest; 3]);
    let nothing = FinishedTurn {
        delta: TurnDelta::new(transcript(5), 9),
        ..turn()
    };
    let end = finished(&host, &nothing).await;
    assert_eq!(end.delivered, Delivered::Nothing);
    assert_eq!(host.engine.hooks().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn c144_a_message_that_fails_keeps_no_other_from_being_told() {
    // A guarded engine is barred by the second, so that the third is a failure of its own.
    for (policy, codes, taken) in [
        (Policy::Lease, &["ENGINE_FAILURE"][..], 2),
        (Policy::Guarded, &["ENGINE_FAILURE", "QUARANTINED"], 1),
    ] {
        let host = Host::with(&[Hook::Maintain], policy).await;
        host.engine.fail_after(Hook::Ingest, 1);
        let end = finished(&host, &turn()).await;
        assert_eq!(end.delivered, Delivered::Ingest);
        let failures: Vec<_> = end.failures.iter().map(|error| error.code()).collect();
        assert_eq!(failures, codes);
        assert!(!end.is_well());
        assert!(!end.is_maintenance_due);
        assert_eq!(host.engine.hooks(), vec![Hook::Ingest; taken]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c145_after_a_failed_after_turn_nothing_is_maintained() {
    for policy in POLICIES {
        let host = Host::with(&TELLING, policy).await;
        host.engine.fail_next(Hook::AfterTurn);
        let end = finished(&host, &turn()).await;
        assert_eq!(end.failures[0].code(), "ENGINE_FAILURE");
        assert!(!end.is_maintenance_due);
        assert_eq!(host.engine.hooks(), [], "by no other hook either");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c146_a_turn_that_did_not_complete_is_not_told() {
    for policy in POLICIES {
        let host = Host::with(&TELLING, policy).await;
        for outcome in [
            TurnOutcome::PromptError,
            TurnOutcome::Aborted,
            TurnOutcome::YieldAborted,
        ] {
            let end = finished(&host, &FinishedTurn { outcome, ..turn() }).await;
            assert_eq!(end.delivered, Delivered::Nothing);
            assert!(end.is_well());
            assert!(!end.is_maintenance_due);
        }
        assert_eq!(host.engine.hooks(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c147_a_turn_with_a_recorder_is_told_by_its_outbox_alone() {
    for methods in [&TELLING[..], &[Hook::IngestBatch], &[]] {
        let host = Host::with(methods, Policy::Lease).await;
        let mut recorded = turn();
        recorded.delta.is_recorded = true;
        let end = finished(&host, &recorded).await;
        assert_eq!(end.delivered, Delivered::Nothing);
        assert!(end.is_well());
        assert!(!end.is_maintenance_due);
        assert_eq!(host.engine.hooks(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_035_maintenance_is_offered_as_the_engine_wants_it() {
    let background = RecordingEngine::new()
        .with_methods(TELLING)
        .describing(|info| info.turn_maintenance_mode = MaintenanceMode::Background);
    let host = Host::of(Failing::of(background), Policy::Guarded).await;
    for _ in 0..3 {
        let end = finished(&host, &turn()).await;
        assert!(end.is_maintenance_due);
    }
    let info = host.client.active_info().unwrap();
    assert_eq!(info.turn_maintenance_mode, MaintenanceMode::Background);
    assert_eq!(host.engine.hooks(), [Hook::AfterTurn; 3], "nothing waited");
}
