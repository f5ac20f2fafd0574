//! What follows a delivery: sessions whose maintenance is due, and refusals that settle a row.

use contextwire_proto::Reason;

use super::*;
use crate::script::refused;

async fn pass(desk: &Desk, engine: &Engine) {
    desk.outbox.pass("lossless", engine).await.unwrap();
}

#[tokio::test]
async fn r9_2_a_start_that_meets_an_expired_preparation_is_done_and_a_rollback_is_set_aside() {
    let expired = || refused(Reason::PreparationExpired);
    let desk = Desk::new();
    let row = resolve(SpawnOutcome::Started);
    desk.outbox.append(row).await.unwrap();
    pass(&desk, &Engine::failing([expired()])).await;
    assert!(desk.shown().is_empty());
    assert_eq!(desk.told(), ["spawn told"]);

    let desk = Desk::new();
    let row = resolve(SpawnOutcome::RolledBack);
    desk.outbox.append(row).await.unwrap();
    pass(&desk, &Engine::failing([expired()])).await;
    assert_eq!(desk.shown(), ["spawn aside"]);
}

#[tokio::test]
async fn r9_2_any_other_refusal_of_a_start_is_judged_as_ever() {
    let desk = Desk::new();
    let row = resolve(SpawnOutcome::Started);
    desk.outbox.append(row).await.unwrap();
    pass(&desk, &Engine::failing([refused(Reason::InvalidRequest)])).await;
    assert_eq!(desk.shown(), ["spawn aside"]);
}

#[tokio::test]
async fn c171_c172_a_drained_session_is_told_once_with_the_facts_of_its_newest_turn() {
    let desk = Desk::new();
    let mut drained = desk.outbox.drained();
    for (key, model) in [("t1", "old"), ("t2", "new")] {
        let mut turn = turn(key);
        turn.runtime_context = Some(RuntimeContext {
            model_id: Some(model.to_owned()),
            ..RuntimeContext::default()
        });
        let row = NewRow {
            call: OutboxCall::CommitTurn(Box::new(turn)),
            ..commit("s", key)
        };
        desk.outbox.append(row).await.unwrap();
    }
    pass(&desk, &Engine::default()).await;
    let newest = drained.try_recv().unwrap();
    assert_eq!(
        (newest.session.id, &*newest.engine),
        (session("s").id, "lossless")
    );
    let facts = newest.runtime_context.unwrap();
    assert_eq!(facts.model_id.as_deref(), Some("new"));
    assert!(drained.try_recv().is_err());
}

#[tokio::test]
async fn c193_what_failed_and_what_is_drained_before_a_run_offers_no_maintenance() {
    let desk = Desk::new();
    let mut drained = desk.outbox.drained();
    desk.commit("s", "t1").await;
    pass(&desk, &Engine::failing([refused(Reason::InvalidRequest)])).await;
    desk.commit("s", "t2").await;
    let (to, session) = (to(), session("s"));
    let engine = Engine::default();
    let before_a_run = desk.outbox.drain(&to, &session, &engine, 16);
    assert_eq!(before_a_run.await.unwrap().delivered, 1);
    assert!(drained.try_recv().is_err());
}
