use contextwire_engine::{CompactResult, CompactionTarget, SessionId, SessionTarget};
use contextwire_proto::Reason;
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;

use super::*;
use crate::hooks::Terms;
use crate::maintenance::TaskState;
use crate::request::{EngineReply, EngineRequest};
use crate::script::{Line, Script, answers, fails, refused};

fn session() -> Session {
    Session {
        key: Some("k".to_owned()),
        ..crate::script::session("old")
    }
}

fn hooks(script: &Script) -> Hooks {
    Hooks::new(BoxCloneSyncService::new(script.clone()), Terms::default())
}

fn manual() -> CompactionRun {
    CompactionRun::new(Trigger::Manual { instructions: None })
}

fn compacted(result: CompactResult) -> EngineReply {
    EngineReply::Compacted(Compacted {
        ok: true,
        compacted: true,
        reason: None,
        result: Some(result),
    })
}

fn maintained() -> Line {
    answers(EngineReply::Maintained(Maintained::default()))
}

async fn run(script: &Script, run: CompactionRun, is_still_owner: bool) -> CompactionEnd {
    let maintenance = Maintenance::default();
    let (hooks, session) = (hooks(script), session());
    compact(&hooks, &maintenance, &session, run, || is_still_owner).await
}

#[tokio::test(start_paused = true)]
async fn c222_c223_a_caller_that_gives_up_is_answered_at_once_or_calls_nobody() {
    let script = Script::new([Line::Hang]);
    let aborted = manual();
    let caller = aborted.cancellation.clone();
    let began = Instant::now();
    let (end, ()) = tokio::join!(run(&script, aborted.clone(), true), async {
        while script.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        caller.cancel();
    });
    assert_eq!(end.answer, Compacted::declined("compaction aborted"));
    assert_eq!(began.elapsed(), Duration::ZERO);
    let end = run(&script, aborted, true).await;
    assert_eq!(end.answer, Compacted::declined("compaction aborted"));
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c220_the_engine_gets_the_configured_time() {
    let script = Script::new([answers(EngineReply::Compacted(Compacted::declined("no")))]);
    let configured = CompactionRun {
        timeout: safety_timeout(Some(45.9)),
        ..manual()
    };
    run(&script, configured, true).await;
    assert_eq!(script.calls()[0].budget, Duration::from_secs(45));
    assert_eq!(manual().timeout, Duration::from_mins(3));
}

#[tokio::test(start_paused = true)]
async fn c225_a_failure_is_an_answer_with_its_text() {
    let script = Script::new([fails(refused(Reason::EngineFailure))]);
    let end = run(&script, manual(), true).await;
    assert!(!end.answer.ok && !end.answer.compacted);
    let failure = end.failure.unwrap();
    assert_eq!(end.answer.reason, Some(failure.to_string()));
    assert_eq!((script.calls().len(), end.maintained), (1, None));
}

#[tokio::test(start_paused = true)]
async fn c226_c229_a_manual_compaction_is_the_engines_with_the_users_words() {
    let script = Script::new([answers(EngineReply::Compacted(Compacted::declined("no")))]);
    let words = CompactionRun::new(Trigger::Manual {
        instructions: Some("keep the ports".to_owned()),
    });
    let end = run(&script, words, true).await;
    assert_eq!(end.by, Some(ServedBy::Engine("scripted".to_owned())));
    let EngineRequest::Compact(request) = script.calls().remove(0).request else {
        panic!("a compaction")
    };
    assert!(request.force && request.target == CompactionTarget::Threshold);
    assert_eq!(
        request.custom_instructions.as_deref(),
        Some("keep the ports")
    );
    let forced = request.runtime_context.unwrap().force_reason;
    assert_eq!(forced.as_deref(), Some("manual"));
}

#[tokio::test(start_paused = true)]
async fn c228_c230_after_a_success_maintenance_runs_once_as_the_successor() {
    let result = CompactResult {
        session_id: Some(SessionId::new("by-id").unwrap()),
        session_target: Some(SessionTarget {
            session_id: Some("by-target".to_owned()),
            ..SessionTarget::default()
        }),
        ..CompactResult::default()
    };
    let script = Script::new([answers(compacted(result)), maintained()]);
    let end = run(&script, manual(), true).await;
    assert_eq!(end.session.id.as_str(), "by-target");
    assert_eq!(end.session.previous_id, Some(session().id));
    assert_eq!(end.maintained, Some(Maintained::default()));
    let [_, maintain] = &*script.calls() else {
        panic!("one compaction and one maintenance")
    };
    assert_eq!(maintain.session, end.session);
    let EngineRequest::Maintain(request) = &maintain.request else {
        panic!("maintenance")
    };
    assert_eq!(
        (request.reason, request.background),
        (MaintainReason::Compaction, false)
    );
}

#[tokio::test(start_paused = true)]
async fn c228_without_a_compaction_there_is_no_maintenance() {
    let nothing = Compacted {
        ok: true,
        ..Compacted::default()
    };
    let script = Script::new([answers(EngineReply::Compacted(nothing))]);
    let end = run(&script, manual(), true).await;
    assert!(end.answer.ok && end.maintained.is_none());
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c240_of_an_engine_that_was_replaced_meanwhile_nothing_is_accepted() {
    let result = CompactResult {
        session_id: Some(SessionId::new("new").unwrap()),
        ..CompactResult::default()
    };
    let script = Script::new([answers(compacted(result))]);
    let end = run(&script, manual(), false).await;
    assert_eq!(end.session, session());
    assert_eq!(script.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_manual_compaction_beside_a_turn_is_refused() {
    let script = Script::new([]);
    let beside = CompactionRun {
        is_run_active: true,
        ..manual()
    };
    let end = run(&script, beside, true).await;
    assert_eq!(end.answer, Compacted::declined("active_run"));
}

fn owning(mode: MaintenanceMode) -> EngineInfo {
    let mut engine = EngineInfo::new("e", "E", "1");
    engine.methods = Hook::ALL.to_vec();
    engine.owns_compaction = true;
    engine.turn_maintenance_mode = mode;
    engine
}

fn over_budget(engine: EngineInfo) -> CompactionRun {
    CompactionRun {
        engine: Some(engine),
        may_be_deferred: true,
        ..CompactionRun::new(Trigger::Budget { force: false })
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_compaction_is_left_to_an_engine_that_maintains_in_the_background() {
    let script = Script::new([maintained()]);
    let (maintenance, hooks, session) = (Maintenance::default(), hooks(&script), session());
    let deferred = over_budget(owning(MaintenanceMode::Background));
    let end = compact(&hooks, &maintenance, &session, deferred, || true).await;
    assert!(end.is_deferred && end.answer.ok && !end.answer.compacted);
    maintenance.settled().await;
    let EngineRequest::Maintain(request) = script.calls().remove(0).request else {
        panic!("maintenance")
    };
    let facts = request.runtime_context.unwrap();
    assert_eq!(facts.allow_deferred_compaction_execution, Some(true));
}

#[tokio::test(start_paused = true)]
async fn what_must_happen_now_is_not_deferred() {
    let foreground = over_budget(owning(MaintenanceMode::Foreground));
    let asked = CompactionRun {
        may_be_deferred: false,
        ..over_budget(owning(MaintenanceMode::Background))
    };
    let preflight = CompactionRun {
        trigger: Trigger::Preflight(Preflight::Tokens),
        ..over_budget(owning(MaintenanceMode::Background))
    };
    for now in [foreground, asked, preflight] {
        let script = Script::new([answers(EngineReply::Compacted(Compacted::declined("no")))]);
        assert!(!run(&script, now, true).await.is_deferred);
    }
}

#[tokio::test(start_paused = true)]
async fn r7_9_a_compaction_ends_background_maintenance_of_its_session() {
    let script = Script::new([
        Line::Hang,
        answers(EngineReply::Compacted(Compacted::declined("no"))),
    ]);
    let (maintenance, hooks, session) = (Maintenance::default(), hooks(&script), session());
    let mode = MaintenanceMode::Background;
    let offer = MaintenanceOffer::new(session.clone(), MaintainReason::Turn, mode);
    maintenance.offer(&hooks, offer).await;
    while script.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    compact(&hooks, &maintenance, &session, manual(), || true).await;
    maintenance.settled().await;
    let task = maintenance.tasks().remove(0);
    assert!(matches!(task.state, TaskState::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn c224_c238_with_delegations_the_window_decides() {
    let window = || Arc::new(SafetyWindow::new(Duration::from_mins(1)));
    let delegating = |window| CompactionRun {
        timeout: Duration::from_mins(1),
        window: Some(window),
        ..manual()
    };
    let late = |seconds| {
        let reply = compacted(CompactResult::default());
        Line::Ends(Duration::from_secs(seconds), Ok(Box::new(reply)))
    };
    let script = Script::new([late(61)]);
    let end = run(&script, delegating(window()), true).await;
    assert_eq!(end.answer, Compacted::declined("Compaction timed out"));
    // A stage of the host's own compaction restarts it.
    let (script, window) = (Script::new([late(90), maintained()]), window());
    let staged = delegating(Arc::clone(&window));
    let (end, ()) = tokio::join!(run(&script, staged, true), async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        window.stage_began();
        tokio::time::sleep(Duration::from_secs(50)).await;
        window.stages_ended();
    });
    assert!(end.answer.compacted);
}
