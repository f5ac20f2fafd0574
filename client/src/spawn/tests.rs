#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what only these tests send has no other arms"
)]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use contextwire_engine::{Scope, Session, SpawnOutcome, SpawnPrepared};
use contextwire_proto::Reason;
use tempfile::TempDir;
use tower::util::BoxCloneSyncService;

use super::*;
use crate::hooks::Terms;
use crate::outbox::{OutboxFile, OutboxOptions};
use crate::request::EngineRequest;
use crate::script::{Line, Script, answers, broken, fails, refused};

/// A host's subagents, with a scripted engine and a real outbox.
struct Desk {
    folder: TempDir,
    script: Script,
    subagents: Subagents,
}

impl Desk {
    fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new(lines);
        let subagents = subagents(&folder, &script);
        Self {
            folder,
            script,
            subagents,
        }
    }

    async fn prepare(&self, mode: ContextMode) -> Result<Spawn, SpawnError> {
        self.subagents.prepare(wish(mode)).await
    }

    /// What waits for the engine: the hook and what it says.
    fn rows(&self) -> Vec<String> {
        let file = OutboxFile::open(self.subagents.outbox().path()).unwrap();
        let shown = |row: crate::outbox::Row| match file.call(row.id).unwrap().request {
            EngineRequest::ResolveSubagentSpawn(it) => format!("{:?}", it.outcome),
            EngineRequest::EndSubagent(end) => end.reason,
            other => panic!("{}", other.hook()),
        };
        file.rows().unwrap().into_iter().map(shown).collect()
    }

    async fn journal(&self) -> usize {
        let open = self.subagents.outbox().open_spawns();
        open.await.unwrap().len()
    }
}

fn subagents(folder: &TempDir, script: &Script) -> Subagents {
    let path = folder.path().join("outbox.sqlite3");
    let outbox = Outbox::open(path, OutboxOptions::default()).unwrap();
    let stack = BoxCloneSyncService::new(script.clone());
    let hooks = Hooks::new(stack, Terms::default());
    Subagents::over(hooks, Addressee::new("scripted"), outbox)
}

fn keyed(key: &str) -> Session {
    Session {
        key: Some(key.to_owned()),
        agent_id: Some("main".to_owned()),
        ..crate::script::session(key)
    }
}

fn wish(mode: ContextMode) -> SpawnRequest {
    SpawnRequest {
        mode,
        ..SpawnRequest::new(keyed("parent"), keyed("child"))
    }
}

fn prepared(is: bool) -> Line {
    answers(EngineReply::SpawnPrepared(SpawnPrepared {
        prepared: is,
        system_prompt_addition: Some("you are a child".to_owned()),
    }))
}

fn end(spawn: Option<&Spawn>, reason: EndReason) -> ChildEnd {
    ChildEnd {
        child: keyed("child"),
        spawn_id: spawn.map(|spawn| spawn.spawn_id().to_owned()),
        reason,
        scope: Scope::default(),
    }
}

#[tokio::test]
async fn c294_a_child_that_starts_is_told_and_never_rolled_back() {
    let desk = Desk::new([prepared(true)]);
    let spawn = desk.prepare(ContextMode::Fork).await.unwrap();
    assert!(spawn.is_prepared());
    assert_eq!(spawn.system_prompt_addition(), Some("you are a child"));
    assert_eq!(desk.journal().await, 1);
    spawn.started().await.unwrap();
    spawn.started().await.unwrap();
    assert!(!spawn.roll_back().await);
    drop(spawn);
    assert_eq!(
        (desk.rows(), desk.journal().await),
        (vec!["Started".to_owned()], 0)
    );
    let call = desk.script.calls().remove(0);
    assert_eq!(call.operation.as_deref(), Some("subagent-spawn"));
}

#[tokio::test]
async fn c288_the_hook_sees_both_keys_the_mode_and_the_time() {
    let desk = Desk::new([prepared(true)]);
    let request = SpawnRequest {
        run_timeout: Some(Duration::from_mins(2)),
        ..wish(ContextMode::Fork)
    };
    let spawn = desk.subagents.prepare(request).await.unwrap();
    let EngineRequest::PrepareSubagentSpawn(asked) = desk.script.calls().remove(0).request else {
        panic!("a preparation")
    };
    assert_eq!(asked.spawn_id, spawn.spawn_id());
    assert_eq!(asked.parent_session_key, "parent");
    assert_eq!(asked.child_session_key, "child");
    assert_eq!(asked.context_mode, Some(ContextMode::Fork));
    assert_eq!(asked.ttl, Some(Duration::from_mins(2)));
}

#[tokio::test]
async fn c289_an_engine_that_prepares_nothing_leaves_nothing_to_settle() {
    let desk = Desk::new([prepared(false)]);
    let spawn = desk.prepare(ContextMode::Fork).await.unwrap();
    assert!(!spawn.is_prepared());
    spawn.started().await.unwrap();
    assert_eq!((desk.rows().len(), desk.journal().await), (0, 0));
}

#[tokio::test]
async fn c290_a_failed_preparation_fails_the_spawn_and_is_rolled_back_through_the_outbox() {
    for failure in [refused(Reason::EngineFailure), broken()] {
        let desk = Desk::new([fails(failure)]);
        let error = desk.prepare(ContextMode::Isolated).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("context-engine subagent preparation"),
            "{text}"
        );
        assert_eq!(
            (desk.rows(), desk.journal().await),
            (vec!["RolledBack".to_owned()], 0)
        );
    }
}

#[tokio::test]
async fn c291_c292_a_dispatch_that_fails_is_rolled_back_once_however_often_it_is_said() {
    let desk = Desk::new([prepared(true)]);
    let spawn = desk.prepare(ContextMode::Isolated).await.unwrap();
    let (one, other) = tokio::join!(spawn.roll_back(), spawn.roll_back());
    assert!(one && other);
    let said = spawn.started().await.unwrap_err();
    assert!(matches!(
        said,
        SpawnError::Settled {
            outcome: SpawnOutcome::RolledBack
        }
    ));
    drop(spawn);
    assert_eq!(desk.rows(), ["RolledBack"]);
}

#[tokio::test]
async fn c295_a_fork_across_agents_is_refused_before_anything_is_asked_or_written() {
    let desk = Desk::new([]);
    let mut request = wish(ContextMode::Fork);
    request.child.agent_id = Some("other".to_owned());
    let error = desk.subagents.prepare(request.clone()).await.unwrap_err();
    assert!(matches!(error, SpawnError::ForkAcrossAgents { .. }));
    request.child.key = None;
    let error = desk.subagents.prepare(request).await.unwrap_err();
    assert!(matches!(
        error,
        SpawnError::NoSessionKey { whose: "child's" }
    ));
    assert_eq!(desk.journal().await, 0);
}

#[tokio::test]
async fn c297_a_caller_that_leaves_meanwhile_leaves_no_preparation() {
    let desk = Desk::new([Line::Hang]);
    let mut changes = desk.subagents.outbox().changes();
    {
        let mut asking = pin!(desk.prepare(ContextMode::Isolated));
        // Until the engine is asked: the spawn is in the journal then.
        while desk.script.calls().is_empty() {
            poll_fn(|cx| {
                assert!(asking.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            tokio::task::yield_now().await;
        }
    }
    while desk.rows().is_empty() {
        changes.changed().await.unwrap();
    }
    assert_eq!(
        (desk.rows(), desk.journal().await),
        (vec!["RolledBack".to_owned()], 0)
    );
}

fn open_breaker() -> Line {
    fails(CallError::BreakerOpen {
        retry_in: Duration::from_secs(1),
    })
}

#[tokio::test]
async fn while_the_breaker_is_open_isolated_children_go_on_and_forks_fail_typed() {
    let desk = Desk::new([open_breaker(), open_breaker()]);
    let spawn = desk.prepare(ContextMode::Isolated).await.unwrap();
    assert!(!spawn.is_prepared());
    spawn.started().await.unwrap();
    let error = desk.prepare(ContextMode::Fork).await.unwrap_err();
    assert!(matches!(error, SpawnError::ForkUnavailable(_)), "{error}");
    assert_eq!((desk.rows().len(), desk.journal().await), (0, 0));
}

#[tokio::test]
async fn in_the_place_of_a_barred_engine_nothing_is_prepared() {
    let barred = CallError::Quarantined {
        operation: "assemble".to_owned(),
        reason: "bug".to_owned(),
    };
    let desk = Desk::new([fails(barred)]);
    let spawn = desk.prepare(ContextMode::Fork).await.unwrap();
    assert!(!spawn.is_prepared());
    assert_eq!((desk.rows().len(), desk.journal().await), (0, 0));
}

#[tokio::test]
async fn br_027_of_a_light_isolated_child_no_engine_hears_until_its_end() {
    let desk = Desk::new([]);
    let request = SpawnRequest {
        is_light: true,
        ..wish(ContextMode::Isolated)
    };
    let spawn = desk.subagents.prepare(request).await.unwrap();
    spawn.started().await.unwrap();
    let told = desk
        .subagents
        .end(end(Some(&spawn), EndReason::Completed))
        .await;
    assert_eq!(told.unwrap(), Ended::Noted);
    assert_eq!(desk.rows(), ["completed"]);
}

#[tokio::test]
async fn a_spawn_that_is_dropped_on_the_way_is_rolled_back() {
    let desk = Desk::new([prepared(true)]);
    let mut changes = desk.subagents.outbox().changes();
    drop(desk.prepare(ContextMode::Isolated).await.unwrap());
    while desk.rows().is_empty() {
        changes.changed().await.unwrap();
    }
    assert_eq!(desk.rows(), ["RolledBack"]);
}

#[tokio::test]
async fn r9_3_a_shutdown_with_queued_children_rolls_nothing_back_and_the_next_process_goes_on() {
    let desk = Desk::new([prepared(true), prepared(true), prepared(true)]);
    let queued = desk.prepare(ContextMode::Fork).await.unwrap();
    queued.queued();
    let [queued_id, unknown_id] =
        [queued, desk.prepare(ContextMode::Isolated).await.unwrap()].map(|spawn| {
            let id = spawn.spawn_id().to_owned();
            spawn.queued();
            drop(spawn);
            id
        });
    let Desk {
        folder,
        script,
        subagents: ended,
    } = desk;
    drop(ended);
    script.add([prepared(true)]);
    let desk = Desk {
        subagents: subagents(&folder, &script),
        folder,
        script,
    };
    assert_eq!((desk.rows().len(), desk.journal().await), (0, 2));
    let known = queued_id.clone();
    let knows = move |open: &crate::outbox::OpenSpawn| match &open.request.spawn_id {
        id if *id == known => Found::Queued,
        id => {
            assert_eq!(*id, unknown_id);
            Found::Unknown
        }
    };
    let recovered = desk.subagents.recover(knows).await.unwrap();
    assert_eq!((recovered.rolled_back, recovered.started), (1, 0));
    let [spawn] = &*recovered.queued else {
        panic!("one child is still to be started")
    };
    assert_eq!(spawn.spawn_id(), queued_id);
    assert_eq!(spawn.context_mode(), ContextMode::Fork);
    spawn.started().await.unwrap();
    assert_eq!(desk.rows(), ["RolledBack", "Started"]);
    assert_eq!(desk.journal().await, 0);
    assert!(desk.folder.path().exists());
}

#[tokio::test]
async fn r9_3_what_runs_in_this_process_is_not_recovered() {
    let desk = Desk::new([prepared(true)]);
    let spawn = desk.prepare(ContextMode::Isolated).await.unwrap();
    let recovered = desk.subagents.recover(|_| Found::Unknown).await.unwrap();
    assert_eq!(recovered.rolled_back, 0);
    spawn.started().await.unwrap();
    assert_eq!(desk.rows(), ["Started"]);
}

#[tokio::test]
async fn r9_3_a_child_that_the_next_process_finds_running_is_started() {
    let desk = Desk::new([prepared(true)]);
    let spawn = desk.prepare(ContextMode::Isolated).await.unwrap();
    // As after a crash: nobody says anything.
    spawn.queued();
    drop(spawn);
    let Desk {
        folder,
        script,
        subagents: ended,
    } = desk;
    drop(ended);
    let desk = Desk {
        subagents: subagents(&folder, &script),
        folder,
        script,
    };
    let recovered = desk.subagents.recover(|_| Found::Started).await.unwrap();
    assert_eq!(recovered.started, 1);
    assert_eq!(desk.rows(), ["Started"]);
}

#[tokio::test]
async fn c298_c300_an_end_waits_behind_the_start_and_is_told_once() {
    let desk = Desk::new([prepared(true)]);
    let spawn = desk.prepare(ContextMode::Isolated).await.unwrap();
    let reason = EndReason::of_cleanup(true);
    let told = desk.subagents.end(end(Some(&spawn), reason.clone())).await;
    assert_eq!(told.unwrap(), Ended::Noted);
    let again = desk.subagents.end(end(Some(&spawn), reason)).await;
    assert_eq!(again.unwrap(), Ended::Before);
    // A child that ended had started, also where its host did not say so.
    assert_eq!(desk.rows(), ["Started", "deleted"]);
    let rows = desk.subagents.outbox().rows().unwrap();
    assert!(rows.iter().all(|row| row.lane == "key child"));
    assert_eq!(EndReason::of_cleanup(false).as_str(), "completed");
    assert_eq!(EndReason::Swept.as_str(), "swept");
    assert_eq!(EndReason::Released.as_str(), "released");
}

#[tokio::test]
async fn c301_the_end_of_a_run_that_a_newer_one_replaced_is_not_told() {
    let desk = Desk::new([prepared(true), prepared(true)]);
    let old = desk.prepare(ContextMode::Isolated).await.unwrap();
    let new = desk.prepare(ContextMode::Isolated).await.unwrap();
    let told = desk.subagents.end(end(Some(&old), EndReason::Swept)).await;
    assert_eq!(told.unwrap(), Ended::Superseded);
    let told = desk.subagents.end(end(Some(&new), EndReason::Swept)).await;
    assert_eq!(told.unwrap(), Ended::Noted);
    assert_eq!(desk.rows(), ["Started", "swept"]);
}

#[tokio::test]
async fn an_end_without_a_preparation_is_told() {
    let desk = Desk::new([]);
    let other = EndReason::Other("lost".to_owned());
    let told = desk.subagents.end(end(None, other)).await;
    assert_eq!(told.unwrap(), Ended::Noted);
    assert_eq!(desk.rows(), ["lost"]);
}
