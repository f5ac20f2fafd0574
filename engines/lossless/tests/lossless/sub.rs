//! What a child sees of its parent.

use contextwire_engine::{
    ContextEngine, ContextMode, HookContext, PrepareSubagentSpawn, ResolveSubagentSpawn,
    SpawnOutcome, Transcript,
};

use super::support::*;

fn child() -> HookContext {
    let mut cx = of("c");
    cx.session.key = Some("child-key".into());
    cx
}

fn spawn(mode: ContextMode) -> PrepareSubagentSpawn {
    PrepareSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        parent_session_key: "parent-key".to_owned(),
        child_session_key: "child-key".to_owned(),
        context_mode: Some(mode),
        parent_session_id: Some("s".to_owned()),
        ..PrepareSubagentSpawn::default()
    }
}

#[tokio::test]
async fn a_fork_sees_the_parent_up_to_the_fork_and_nothing_later() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["a", "b"])).await;
    let prepared = engine
        .prepare_subagent_spawn(&call(), spawn(ContextMode::Fork))
        .await;
    assert!(prepared.unwrap().prepared);
    after_turn(&engine, &call(), list(&["a", "b", "later"])).await;
    let own: Transcript = [said("user", "task").with_entry_id("t")]
        .into_iter()
        .collect();
    for _ in 0..2 {
        let reply = assemble(&engine, &child(), &own, Some(9_000)).await;
        assert_eq!(texts(&reply, &own), ["a", "b", "task"]);
        after_turn(&engine, &child(), own.clone()).await;
    }
    // Another engine on the store sees the same.
    let reply = assemble(&place.open(), &child(), &own, Some(9_000)).await;
    assert_eq!(texts(&reply, &own), ["a", "b", "task"]);
}

#[tokio::test]
async fn an_isolated_child_sees_nothing_of_its_parent() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["a", "b"])).await;
    let prepared = engine
        .prepare_subagent_spawn(&call(), spawn(ContextMode::Isolated))
        .await;
    assert!(prepared.unwrap().prepared);
    let own = list(&["task"]);
    let reply = assemble(&engine, &child(), &own, Some(9_000)).await;
    assert_eq!(texts(&reply, &own), ["task"]);
}

#[tokio::test]
async fn a_rolled_back_fork_leaves_no_trace() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["a", "b"])).await;
    engine
        .prepare_subagent_spawn(&call(), spawn(ContextMode::Fork))
        .await
        .unwrap();
    let back = ResolveSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        outcome: SpawnOutcome::RolledBack,
    };
    engine.resolve_subagent_spawn(&call(), back).await.unwrap();
    let own = list(&["task"]);
    let reply = assemble(&engine, &child(), &own, Some(9_000)).await;
    assert_eq!(texts(&reply, &own), ["task"]);
}

#[tokio::test]
async fn a_child_whose_host_copied_the_parents_messages_sees_them_once() {
    let place = Place::new();
    let engine = place.open();
    after_turn(&engine, &call(), list(&["a", "b"])).await;
    engine
        .prepare_subagent_spawn(&call(), spawn(ContextMode::Fork))
        .await
        .unwrap();
    let own = list(&["a", "b", "task"]);
    let reply = assemble(&engine, &child(), &own, Some(9_000)).await;
    assert_eq!(texts(&reply, &own), ["a", "b", "task"]);
    after_turn(&engine, &child(), own.clone()).await;
    let reply = assemble(&engine, &child(), &own, Some(9_000)).await;
    assert_eq!(texts(&reply, &own), ["a", "b", "task"]);
}

#[tokio::test]
async fn e08_a_child_of_a_long_parent_starts_with_a_part_of_its_own_budget() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &call(), long(400, 100).into_iter().collect()).await;
    engine
        .prepare_subagent_spawn(&call(), spawn(ContextMode::Fork))
        .await
        .unwrap();
    let own = list(&["task"]);
    let reply = assemble(&engine, &child(), &own, Some(8_000)).await;
    assert!(reply.estimated_tokens <= 8_000);
    assert!(reply.messages.len() > 10);
    assert!(payloads(&reply, &own).last().unwrap().contains("task"));
}
