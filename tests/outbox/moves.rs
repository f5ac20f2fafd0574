//! A session that goes on in another one takes what waits of it along (HOST-SEMANTICS 10.5).

use contextwire_engine::{Session, SessionId};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn c10_5_what_waits_of_a_session_goes_before_the_turns_of_the_one_that_it_goes_on_in() {
    let desk = Desk::new();
    let host = desk.host(Policy::Guarded);
    // Nobody is there to take it.
    assert!(is_queued(&told(&host, "s", "t1").await));
    let next = Session {
        previous_id: Some(SessionId::new("s").unwrap()),
        ..session("s-2")
    };
    let admission = Admission::Recorded(admission("t2"));
    let turn = host.turn(&next, admission).await.unwrap();
    let recorded = turn.record(TurnOutcome::Completed, end("t2")).await;
    assert!(is_queued(&recorded));
    let rows = host.outbox().unwrap().rows().unwrap();
    let lanes = rows.iter().map(|row| (&*row.key, &*row.lane));
    assert_eq!(
        lanes.collect::<Vec<_>>(),
        [("t1", "id s-2"), ("t2", "id s-2")]
    );
    let engine = durable();
    let _running = desk.place.serve(engine.clone()).await;
    emptied(host.outbox().unwrap()).await;
    assert_eq!(committed(&engine), ["t1", "t2"]);
}
