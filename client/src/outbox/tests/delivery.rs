//! Rows on their way to an engine (HOST-SEMANTICS 9.2 to 9.4, R7.11).

use contextwire_proto::Reason;

use super::*;
use crate::outbox::verdict::WEEK_MS;
use crate::script::{broken, refused};
use crate::store::{TurnRange, UnreadableTurn};

async fn pass(desk: &Desk, engine: &Engine) -> Passed {
    desk.outbox.pass("lossless", engine).await.unwrap()
}

async fn drain(desk: &Desk, engine: &Engine, id: &str, limit: usize) -> Drained {
    let (to, session) = (to(), session(id));
    let drained = desk.outbox.drain(&to, &session, engine, limit);
    drained.await.unwrap()
}

#[tokio::test]
async fn c171_a_committed_turn_is_deleted_and_its_maintenance_offered() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let engine = Engine::default();
    assert_eq!(pass(&desk, &engine).await.delivered, 1);
    assert!(desk.shown().is_empty());
    assert_eq!(desk.told(), ["t1 Committed"]);
}

#[tokio::test]
async fn c172_c195_a_crash_after_the_commit_sends_the_same_again_and_duplicate_ends_it() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    // The answer is lost: the engine has the turn, and the host does not know.
    let engine = Engine::failing([broken()]);
    assert_eq!(pass(&desk, &engine).await.delivered, 0);
    assert_eq!(desk.shown(), ["t1 ready"]);
    desk.pass_time(60_000);
    pass(&desk, &engine).await;
    assert_eq!(desk.told(), ["t1 Duplicate"]);
    let seen = engine.seen.lock().unwrap();
    let sent: Vec<_> = seen
        .iter()
        .map(|call| match &call.request {
            EngineRequest::CommitTurn(turn) => (call.hook_id, turn.clone()),
            other => panic!("{}", other.hook()),
        })
        .collect();
    assert_eq!(sent[0], sent[1]);
    assert_eq!(sent[0].1.messages, messages("t1"));
}

#[tokio::test]
async fn c174_a_failed_commit_keeps_its_row_and_counts_the_try() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let engine = Engine::failing([refused(Reason::EngineFailure)]);
    let passed = pass(&desk, &engine).await;
    let row = &desk.outbox.rows().unwrap()[0];
    assert_eq!((row.attempts, row.last_attempt_ms), (1, Some(1_000_000)));
    let error = row.last_error.as_deref().unwrap();
    assert!(error.starts_with("ENGINE_FAILURE: "), "{error}");
    assert_eq!(passed.next_due_ms, Some(row.due_ms));
    assert_eq!(engine.keys().len(), 1);
    // Its time has not come.
    pass(&desk, &engine).await;
    assert_eq!(engine.keys().len(), 1);
}

#[tokio::test]
async fn c175_a_row_that_cannot_be_read_is_never_delivered_and_its_session_waits() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    desk.commit("s", "t2").await;
    desk.commit("other", "t3").await;
    let spoil = "UPDATE outbox SET payload = x'7b7d' WHERE key = 't1'";
    desk.outbox
        .write(move |db| Ok(db.execute(spoil, ()).map(drop)?))
        .await
        .unwrap();
    let engine = Engine::default();
    pass(&desk, &engine).await;
    assert_eq!(engine.keys(), ["t3"]);
    assert!(drain(&desk, &engine, "s", 16).await.pending);
    let spoil = "UPDATE outbox SET state = 'later' WHERE key = 't1'";
    desk.outbox
        .write(move |db| Ok(db.execute(spoil, ()).map(drop)?))
        .await
        .unwrap();
    assert!(drain(&desk, &engine, "s", 16).await.pending);
    pass(&desk, &engine).await;
    assert_eq!(engine.keys(), ["t3"]);
    assert_eq!(desk.outbox.status("lossless").unwrap().pending, 2);
}

#[tokio::test]
async fn c182_before_a_run_a_row_is_tried_whether_or_not_its_time_has_come() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let engine = Engine::failing([broken()]);
    assert!(drain(&desk, &engine, "s", 16).await.pending);
    let drained = drain(&desk, &engine, "s", 16).await;
    assert_eq!((drained.delivered, drained.pending), (1, false));
}

#[tokio::test]
async fn c183_a_failed_row_holds_its_own_session_back_and_no_other() {
    let desk = Desk::new();
    desk.commit("a", "a1").await;
    desk.commit("a", "a2").await;
    let engine = Engine::failing([broken()]);
    assert!(drain(&desk, &engine, "a", 16).await.pending);
    desk.commit("b", "b1").await;
    pass(&desk, &engine).await;
    assert_eq!(engine.keys(), ["a1", "b1"]);
    assert_eq!(desk.shown(), ["a1 ready", "a2 ready"]);
}

#[tokio::test]
async fn c184_rows_go_in_the_order_of_writing_and_no_more_than_the_limit() {
    let desk = Desk::new();
    for key in ["z-first", "a-second", "third"] {
        desk.commit("s", key).await;
        desk.now_ms.fetch_sub(10, Ordering::SeqCst);
    }
    let engine = Engine::default();
    let drained = drain(&desk, &engine, "s", 2).await;
    assert_eq!((drained.delivered, drained.pending), (2, true));
    assert_eq!(engine.keys(), ["z-first", "a-second"]);
}

#[tokio::test]
async fn c194_an_observer_that_fails_brings_no_row_back() {
    let desk = Desk::with(|options| {
        options.observer = Some(OutboxObserver::new(|_| panic!("an observer's own fault")));
    });
    desk.commit("s", "t1").await;
    pass(&desk, &Engine::default()).await;
    assert!(desk.shown().is_empty());
}

#[tokio::test]
async fn br_030_what_can_never_be_delivered_is_kept_and_not_pending() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    for key in ["t2", "t3", "t4"] {
        desk.commit("s", key).await;
    }
    let engine = Engine::failing([refused(Reason::InvalidRequest)]);
    let drained = drain(&desk, &engine, "s", 16).await;
    assert_eq!((drained.delivered, drained.pending), (3, false));
    assert_eq!(engine.keys(), ["t1", "t2", "t3", "t4"]);
    assert_eq!(desk.shown(), ["t1 aside"]);
    assert_eq!(desk.told()[0], "t1 aside");
    let status = desk.outbox.status("lossless").unwrap();
    assert_eq!((status.pending, status.set_aside), (0, 1));
}

#[tokio::test]
async fn br_031_stuck_rows_of_other_sessions_use_up_no_budget() {
    let desk = Desk::with(|options| options.source = Some(StoredTurns::new().into()));
    for n in 0..40 {
        let (session, turn) = (
            session(&format!("gone-{n}")),
            accepted(&format!("stuck-{n}")),
        );
        desk.outbox.accept(to(), session, turn).await.unwrap();
    }
    desk.commit("s", "good").await;
    let engine = Engine::default();
    pass(&desk, &engine).await;
    assert_eq!(engine.keys(), ["good"]);
    desk.pass_time(WEEK_MS + 60_000);
    pass(&desk, &engine).await;
    let status = desk.outbox.status("lossless").unwrap();
    assert_eq!((status.pending, status.set_aside), (0, 40));
}

#[tokio::test]
async fn r7_11_after_a_week_without_its_engine_a_row_is_set_aside_and_one_day_less_it_is_not() {
    const DAY_MS: u64 = 24 * 3_600 * 1_000;
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let away = Engine::failing((0..20).map(|_| broken()));
    for _ in 0..7 {
        pass(&desk, &away).await;
        assert_eq!(desk.shown(), ["t1 ready"]);
        desk.pass_time(DAY_MS);
    }
    desk.commit("s", "t2").await;
    desk.pass_time(1);
    pass(&desk, &away).await;
    assert_eq!(desk.shown(), ["t1 aside", "t2 ready"]);
    // The engine is back: what is left goes, and what an operator puts back as well.
    let back = Engine::default();
    desk.pass_time(DAY_MS);
    pass(&desk, &back).await;
    let file = OutboxFile::open(desk.outbox.path()).unwrap();
    let aside = desk.outbox.rows().unwrap()[0].id;
    file.retry(aside).unwrap();
    pass(&desk, &back).await;
    assert_eq!(back.keys(), ["t2", "t1"]);
}

#[tokio::test]
async fn r7_11_rows_of_another_engine_are_skipped_and_go_first_and_in_order_when_it_is_back() {
    let desk = Desk::new();
    for key in ["t1", "t2"] {
        desk.commit("s", key).await;
    }
    let other = Engine::default();
    let passed = desk.outbox.pass("other", &other).await.unwrap();
    assert_eq!((passed.delivered, passed.next_due_ms), (0, None));
    let status = desk.outbox.status("other").unwrap();
    assert_eq!((status.pending, status.deselected), (0, 2));
    let drained = desk
        .outbox
        .drain(&Addressee::new("other"), &session("s"), &other, 16)
        .await
        .unwrap();
    assert_eq!(drained, Drained::default());

    let engine = Engine::default();
    drain(&desk, &engine, "s", 16).await;
    assert_eq!(engine.keys(), ["t1", "t2"]);
}

#[tokio::test]
async fn r7_11_seven_days_in_no_slot_set_a_row_aside_and_a_slot_on_the_way_does_not() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let (engine, other) = (Engine::failing([broken()]), Engine::default());
    pass(&desk, &engine).await;
    desk.pass_time(WEEK_MS);
    desk.outbox.pass("other", &other).await.unwrap();
    assert_eq!(desk.shown(), ["t1 ready"]);
    desk.pass_time(1);
    desk.outbox.pass("other", &other).await.unwrap();
    assert_eq!(desk.shown(), ["t1 aside"]);
    assert_eq!(desk.told(), ["t1 aside"]);

    // Selected meanwhile by some host, it starts anew.
    desk.commit("s", "t2").await;
    desk.pass_time(WEEK_MS);
    pass(&desk, &Engine::failing([broken()])).await;
    desk.pass_time(3);
    desk.outbox.pass("other", &other).await.unwrap();
    assert_eq!(desk.shown(), ["t1 aside", "t2 ready"]);
}

#[tokio::test]
async fn one_success_hurries_what_waited_for_the_engine_to_come_back() {
    let desk = Desk::new();
    desk.commit("a", "a1").await;
    let engine = Engine::failing([broken()]);
    pass(&desk, &engine).await;
    desk.commit("b", "b1").await;
    let passed = pass(&desk, &engine).await;
    assert_eq!(passed.next_due_ms, Some(0));
    pass(&desk, &engine).await;
    assert_eq!(engine.keys(), ["a1", "b1", "a1"]);
}

/// Reads what it is told to.
struct Scripted(Mutex<VecDeque<TurnRange>>);

impl TurnSource for Scripted {
    fn read<'a>(
        &'a self,
        _: &'a Session,
        _: &'a TurnAdmission,
        _: &'a EntryAnchor,
    ) -> ReadingTurn<'a> {
        let next = self.0.lock().unwrap().pop_front();
        Box::pin(async move { next.expect("no further read") })
    }
}

fn reading(ranges: impl IntoIterator<Item = TurnRange>) -> Desk {
    let source = Scripted(Mutex::new(ranges.into_iter().collect()));
    Desk::with(|options| options.source = Some(source.into()))
}

#[tokio::test]
async fn c177_an_accepted_turn_is_read_and_delivered_with_its_own_messages_and_heartbeat() {
    let desk = reading([TurnRange::Messages(messages("t1"))]);
    let turn = AcceptedTurn {
        is_heartbeat: true,
        ..accepted("t1")
    };
    desk.outbox.accept(to(), session("s"), turn).await.unwrap();
    let engine = Engine::default();
    assert!(!drain(&desk, &engine, "s", 16).await.pending);
    let seen = engine.seen.lock().unwrap();
    let EngineRequest::CommitTurn(sent) = &seen[0].request else {
        panic!("a turn")
    };
    assert_eq!((&sent.messages, sent.is_heartbeat), (&messages("t1"), true));
}

#[tokio::test]
async fn c180_a_turn_that_cannot_be_read_now_stays_accepted() {
    let unavailable = TurnRange::Unavailable("projection-unavailable".to_owned());
    let desk = reading([unavailable, TurnRange::Messages(messages("t1"))]);
    desk.outbox
        .accept(to(), session("s"), accepted("t1"))
        .await
        .unwrap();
    let engine = Engine::default();
    assert!(drain(&desk, &engine, "s", 16).await.pending);
    assert_eq!(desk.shown(), ["t1 accepted"]);
    assert!(engine.keys().is_empty());
    assert!(!drain(&desk, &engine, "s", 16).await.pending);
    assert_eq!(engine.keys(), ["t1"]);
}

#[tokio::test]
async fn c187_c188_a_turn_that_can_never_be_read_is_a_record_and_holds_nothing_back() {
    for why in [
        UnreadableTurn::Stale,
        UnreadableTurn::NonDescendant,
        UnreadableTurn::TooLarge,
        UnreadableTurn::SessionRebound,
    ] {
        let desk = reading([TurnRange::Never(why)]);
        let outbox = &desk.outbox;
        outbox
            .accept(to(), session("s"), accepted("t1"))
            .await
            .unwrap();
        desk.commit("s", "t2").await;
        let engine = Engine::default();
        assert!(!drain(&desk, &engine, "s", 16).await.pending);
        assert_eq!(engine.keys(), ["t2"]);
        assert_eq!(desk.shown(), ["t1 blocked"]);
        let row = &outbox.rows().unwrap()[0];
        assert_eq!(row.last_error, Some(why.to_string()));
        let status = outbox.status("lossless").unwrap();
        assert_eq!((status.pending, status.blocked), (0, 1));
    }
}
