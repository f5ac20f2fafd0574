//! A session that goes on in another one: what both ends know of the old one is known of the new one.

use contextwire_client::ServedBy;
use contextwire_engine::Session;

use crate::harness::{PATIENT, Place, TestEngine, session, transcript, view};

/// What a call costs beside its messages.
const NO_INSERT: u64 = 400;

#[tokio::test(flavor = "multi_thread")]
async fn a_successor_costs_what_is_new_and_no_question() {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve(engine.clone()).await;
    let client = place.direct();
    let old = session("old");
    let first = client.assemble_within(&old, view(&transcript(200)), PATIENT);
    let whole = first.await.unwrap().traffic.bytes_sent();
    let new = Session {
        previous_id: Some(old.id.clone()),
        ..session("new")
    };
    let list = transcript(201);
    let served = client.assemble_within(&new, view(&list), PATIENT);
    let served = served.await.unwrap();
    assert_eq!(served.by, ServedBy::Engine("test".to_owned()));
    assert_eq!(engine.seen().last(), Some(&list));
    let sent = served.traffic.bytes_sent();
    assert!(sent < NO_INSERT && sent * 10 < whole, "{sent} of {whole}");
    // It is a session of its own from now on, with or without the word of whom it succeeded.
    let list = transcript(202);
    let new = session("new");
    let served = client.assemble_within(&new, view(&list), PATIENT);
    assert!(served.await.unwrap().traffic.bytes_sent() < NO_INSERT);
    assert_eq!(engine.seen().last(), Some(&list));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_succeeds_nobody_starts_anew() {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve(engine.clone()).await;
    let client = place.direct();
    let list = transcript(200);
    let mut sent = Vec::new();
    for id in ["old", "other"] {
        let whose = session(id);
        let served = client.assemble_within(&whose, view(&list), PATIENT);
        sent.push(served.await.unwrap().traffic.bytes_sent());
        assert_eq!(engine.seen().last(), Some(&list));
    }
    assert!(sent[1] > 10 * NO_INSERT, "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_that_goes_on_is_asked_for_its_list_and_served() {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve(engine.clone()).await;
    let client = place.direct();
    let new = Session {
        previous_id: Some(session("old").id),
        ..session("new")
    };
    for (whose, len) in [(session("old"), 9), (new, 10), (session("old"), 11)] {
        let list = transcript(len);
        let served = client.assemble_within(&whose, view(&list), PATIENT);
        assert_eq!(
            served.await.unwrap().by,
            ServedBy::Engine("test".to_owned())
        );
        assert_eq!(engine.seen().last(), Some(&list));
    }
}
