#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what only these tests send has no other arms"
)]

use std::time::Duration;

use contextwire_proto::Reason;
use tower::util::BoxCloneSyncService;

use super::*;
use crate::hooks::Terms;
use crate::request::{EngineReply, EngineRequest};
use crate::script::{Line, Script, answers, fails, refused};

fn keyed(key: &str) -> Session {
    Session {
        key: Some(key.to_owned()),
        ..crate::script::session(&format!("{key}-1"))
    }
}

fn hooks(script: &Script) -> Hooks {
    Hooks::new(BoxCloneSyncService::new(script.clone()), Terms::default())
}

fn done() -> EngineReply {
    EngineReply::Maintained(Maintained {
        changed: true,
        bytes_freed: 20,
        rewritten_entries: 2,
        reason: None,
    })
}

fn takes(seconds: u64) -> Line {
    Line::Ends(Duration::from_secs(seconds), Ok(Box::new(done())))
}

fn after_turn(key: &str) -> MaintenanceOffer {
    let mode = MaintenanceMode::Background;
    MaintenanceOffer::new(keyed(key), MaintainReason::Turn, mode)
}

/// The same with facts by which it is known again.
fn marked(mark: u64) -> MaintenanceOffer {
    let mut offer = after_turn("k");
    offer.request.runtime_context = Some(RuntimeContext {
        token_budget: Some(mark),
        ..RuntimeContext::default()
    });
    offer
}

fn requests(script: &Script) -> Vec<Maintain> {
    let calls = script.calls().into_iter();
    let request = |call: crate::call::Call| match call.request {
        EngineRequest::Maintain(request) => request,
        other => panic!("{}", other.hook()),
    };
    calls.map(request).collect()
}

fn states(maintenance: &Maintenance) -> Vec<String> {
    let state = |task: &MaintenanceTask| match &task.state {
        TaskState::Done(_) => format!("done {}", task.runs),
        TaskState::Failed(_) => format!("failed {}", task.runs),
        TaskState::Cancelled => format!("cancelled {}", task.runs),
        TaskState::Queued | TaskState::Running => format!("active {}", task.runs),
    };
    maintenance.tasks().iter().map(state).collect()
}

#[tokio::test(start_paused = true)]
async fn c198_in_the_foreground_the_turn_waits_and_nothing_is_deferred() {
    let script = Script::new([takes(3)]);
    let mut offer = marked(1);
    offer.mode = MaintenanceMode::Foreground;
    let began = tokio::time::Instant::now();
    let offered = Maintenance::default().offer(&hooks(&script), offer).await;
    assert!(matches!(offered, Offered::Done(done) if done.rewritten_entries == 2));
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let [request] = &*requests(&script) else {
        panic!("one")
    };
    assert!(!request.background);
    let facts = request.runtime_context.as_ref().unwrap();
    assert_eq!(facts.allow_deferred_compaction_execution, None);
}

#[tokio::test(start_paused = true)]
async fn c199_in_the_background_the_turn_returns_first_and_work_may_be_deferred() {
    let (script, maintenance) = (Script::new([takes(3)]), Maintenance::default());
    let offered = maintenance.offer(&hooks(&script), after_turn("k")).await;
    assert!(matches!(offered, Offered::Scheduled));
    assert_eq!(states(&maintenance), ["active 0"]);
    maintenance.settled().await;
    let request = requests(&script).remove(0);
    assert!(request.background);
    let facts = request.runtime_context.unwrap();
    assert_eq!(facts.allow_deferred_compaction_execution, Some(true));
    assert_eq!(states(&maintenance), ["done 1"]);
}

#[test]
fn c200_c201_only_a_stored_turns_maintenance_is_in_the_background() {
    assert!(after_turn("k").is_background());
    for reason in [MaintainReason::Bootstrap, MaintainReason::Compaction] {
        let mut offer = after_turn("k");
        offer.request.reason = reason;
        assert!(!offer.is_background());
    }
    let in_memory = MaintenanceOffer {
        is_durable: false,
        ..after_turn("k")
    };
    assert!(!in_memory.is_background());
}

#[tokio::test]
async fn c202_without_a_session_key_nothing_is_scheduled() {
    let maintenance = Maintenance::default();
    let mut offer = after_turn("k");
    offer.session.key = None;
    let offered = maintenance.offer(&hooks(&Script::new([])), offer).await;
    assert!(matches!(offered, Offered::Refused(Refusal::NoSessionKey)));
    assert!(maintenance.tasks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn c204_three_requests_meanwhile_are_one_more_run_with_the_newest_parameters() {
    let script = Script::new([takes(5), takes(5)]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    assert!(matches!(
        maintenance.offer(&hooks, marked(0)).await,
        Offered::Scheduled
    ));
    for mark in 1..=3 {
        let offered = maintenance.offer(&hooks, marked(mark)).await;
        assert!(matches!(offered, Offered::Coalesced));
    }
    maintenance.settled().await;
    let marks = requests(&script).into_iter().map(|request| {
        let facts = request.runtime_context.unwrap();
        facts.token_budget.unwrap()
    });
    assert_eq!(marks.collect::<Vec<_>>(), [0, 3]);
    assert_eq!(states(&maintenance), ["done 2"]);
}

#[tokio::test(start_paused = true)]
async fn r7_9_one_in_the_foreground_meanwhile_comes_to_the_next_run_and_other_sessions_run_beside()
{
    let script = Script::new([takes(5), takes(5), takes(1)]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    let first = maintenance.offer(&hooks, after_turn("k")).await;
    let other = maintenance.offer(&hooks, after_turn("other")).await;
    let mut foreground = after_turn("k");
    foreground.request.reason = MaintainReason::Bootstrap;
    let coalesced = maintenance.offer(&hooks, foreground).await;
    assert!(matches!(
        (first, other, coalesced),
        (Offered::Scheduled, Offered::Scheduled, Offered::Coalesced)
    ));
    maintenance.settled().await;
    let rerun = requests(&script).pop().unwrap();
    assert_eq!(
        (rerun.reason, rerun.background),
        (MaintainReason::Bootstrap, true)
    );
}

#[tokio::test(start_paused = true)]
async fn c205_a_failure_is_its_tasks_and_the_next_offer_runs() {
    let script = Script::new([fails(refused(Reason::EngineFailure)), takes(1)]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.settled().await;
    assert_eq!(states(&maintenance), ["failed 1"]);
    let task = maintenance.tasks().remove(0);
    assert!(task.is_shown() && task.summary().unwrap().contains("failed"));
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.settled().await;
    assert_eq!(states(&maintenance), ["done 1"]);
}

#[tokio::test(start_paused = true)]
async fn c206_c208_a_close_cancels_drops_the_rerun_and_ends_when_the_worker_has() {
    let script = Script::new([Line::Hang]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.offer(&hooks, after_turn("k")).await;
    while requests(&script).is_empty() {
        tokio::task::yield_now().await;
    }
    maintenance.close().await;
    assert_eq!(states(&maintenance), ["cancelled 1"]);
    assert_eq!(requests(&script).len(), 1);
    let offered = maintenance.offer(&hooks, after_turn("k")).await;
    assert!(matches!(offered, Offered::Refused(Refusal::Closing)));
}

#[tokio::test(start_paused = true)]
async fn c208_who_waits_for_the_end_waits_for_the_rerun_too() {
    let script = Script::new([takes(5), takes(5)]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    let began = tokio::time::Instant::now();
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.settled().await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn no_run_outlives_the_last_clone() {
    let script = Script::new([Line::Hang]);
    let maintenance = Maintenance::default();
    maintenance.offer(&hooks(&script), after_turn("k")).await;
    while requests(&script).is_empty() {
        tokio::task::yield_now().await;
    }
    let mut active = maintenance.workers.active();
    drop(maintenance);
    active.wait_for(|count| *count == 0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c207_a_run_shows_itself_after_ten_seconds_and_a_short_one_never() {
    let script = Script::new([takes(9), takes(12)]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    maintenance.offer(&hooks, after_turn("k")).await;
    maintenance.settled().await;
    let task = maintenance.tasks().remove(0);
    assert!(!task.is_shown());
    let said = "context maintenance rewrote 2 entries and freed 20 bytes";
    assert_eq!(task.summary().as_deref(), Some(said));
    maintenance.offer(&hooks, after_turn("k")).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let task = maintenance.tasks().remove(0);
    assert!(task.is_shown() && matches!(task.state, TaskState::Running));
}

#[tokio::test(start_paused = true)]
async fn r7_9_what_supersedes_a_run_ends_it_and_its_rerun_without_a_failure() {
    for by in [
        SupersededBy::Compaction,
        SupersededBy::Rewrite,
        SupersededBy::SessionEnd,
    ] {
        let script = Script::new([Line::Hang, takes(1)]);
        let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
        maintenance.offer(&hooks, after_turn("k")).await;
        maintenance.offer(&hooks, after_turn("k")).await;
        while requests(&script).is_empty() {
            tokio::task::yield_now().await;
        }
        maintenance.supersede(&keyed("other"), by);
        assert_eq!(states(&maintenance), ["active 1"]);
        maintenance.supersede(&keyed("k"), by);
        maintenance.settled().await;
        assert_eq!(states(&maintenance), ["cancelled 1"]);
        // What comes after it is a run of its own.
        let offered = maintenance.offer(&hooks, after_turn("k")).await;
        assert!(matches!(offered, Offered::Scheduled));
        maintenance.settled().await;
        assert_eq!(states(&maintenance), ["done 1"]);
    }
}

#[tokio::test]
async fn after_a_drain_each_session_is_offered_maintenance_once_with_its_newest_facts() {
    let script = Script::new([answers(done()), answers(done())]);
    let (maintenance, hooks) = (Maintenance::default(), hooks(&script));
    let facts = |budget| {
        Some(RuntimeContext {
            token_budget: Some(budget),
            ..RuntimeContext::default()
        })
    };
    let acknowledged = [
        (keyed("a"), facts(1)),
        (keyed("b"), facts(2)),
        (keyed("a"), facts(3)),
    ];
    let mode = MaintenanceMode::Foreground;
    let offered = maintenance
        .offer_after_drain(&hooks, mode, acknowledged)
        .await;
    assert_eq!(offered.len(), 2);
    let budgets = requests(&script).into_iter().map(|request| {
        assert_eq!(request.reason, MaintainReason::Turn);
        request.runtime_context.unwrap().token_budget.unwrap()
    });
    assert_eq!(budgets.collect::<Vec<_>>(), [2, 3]);
}
